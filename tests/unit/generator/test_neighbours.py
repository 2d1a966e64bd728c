"""Which other NodePools serve the same pods, and who is used first."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.generator.neighbours import launchable_names, overlaps
from dovetail.testing import instance_type, node_pool, snapshot

SMALL = instance_type("small", cpu=4, memory="16Gi", price=0.20, spot=0.08)
LARGE = instance_type("large", cpu=16, memory="64Gi", price=0.72, spot=0.30)
TYPES = (SMALL, LARGE)
OURS = ["dedicated=payments:NoSchedule"]
CASES = [
    pytest.param({}, {}, "takes the same pods: with equal weights", id="no taints"),
    pytest.param({"weight": 5}, {}, "this pool is used first (weight 5, that one 0)", id="ours"),
    pytest.param({}, {"weight": 5}, "that one is used first (weight 5", id="theirs first"),
    pytest.param({"taints": OURS}, {"taints": OURS}, "takes the same pods", id="equal taints"),
    pytest.param(
        {"taints": OURS},
        {},
        "is not tainted dedicated=payments:NoSchedule, so pods that tolerate this pool's taints",
        id="only ours is tainted",
    ),
    pytest.param(
        {"taints": OURS, "labels": {"team": "payments"}},
        {},
        "a nodeSelector team: payments keeps them here",
        id="a label keeps pods here",
    ),
    pytest.param({"taints": OURS}, {}, "add a label to this pool", id="there is no label"),
    pytest.param(
        {},
        {"taints": ["gpu:NoSchedule"]},
        "is tainted gpu:NoSchedule, and this pool is not",
        id="only theirs is tainted",
    ),
    pytest.param(
        {"taints": ["a:PreferNoSchedule"]}, {}, "takes the same pods", id="soft taints do not count"
    ),
]
APART = [
    pytest.param({"taints": OURS}, {"taints": ["gpu:NoSchedule"]}, id="different taints"),
    pytest.param({}, {"replicas": 2}, id="static pools launch nothing for pods"),
    pytest.param(
        {"requirements": ["kubernetes.io/arch In arm64"]},
        {"requirements": ["kubernetes.io/arch In amd64"]},
        id="different architectures",
    ),
]


def sentences(ours: dict[str, Any], theirs: dict[str, Any], name: str = "general") -> list[str]:
    """What is said of two pools that may launch both types."""
    others = snapshot(node_pools=[node_pool(name, **theirs)], types=TYPES)
    return list(overlaps(node_pool("payments", **ours), TYPES, others))


@pytest.mark.parametrize(("ours", "theirs", "want"), CASES)
def test_a_pool_for_the_same_pods_is_named_with_a_remedy(
    ours: dict[str, Any], theirs: dict[str, Any], want: str
) -> None:
    """And with the instance types that both can launch."""
    [got] = sentences(ours, theirs)
    assert got.startswith("NodePool general ")
    assert want in got
    assert got.endswith("Both can launch small, large.")


@pytest.mark.parametrize(("ours", "theirs"), APART)
def test_pools_for_other_pods_are_not_named(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """No pod can choose between them."""
    assert sentences(ours, theirs) == []


def test_a_pool_of_the_same_name_is_the_pool_itself() -> None:
    """As it was before the request changed."""
    assert sentences({}, {}, name="payments") == []


def test_pools_without_a_common_type_may_serve_the_same_pods_too() -> None:
    """Which is said."""
    [got] = sentences(
        {"requirements": ["node.kubernetes.io/instance-type In small"]},
        {"requirements": ["node.kubernetes.io/instance-type In large"]},
    )
    assert got.endswith("They have no instance type in common.")


def test_only_types_that_a_pool_can_launch_count() -> None:
    """By its requirements, and by what is offered."""
    spot = node_pool("a", requirements=["karpenter.sh/capacity-type In spot"])
    never = instance_type("never", cpu=4, memory="16Gi", price=0.20)
    assert launchable_names(spot, (*TYPES, never)) == ("small", "large")
