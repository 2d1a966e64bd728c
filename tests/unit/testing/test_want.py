"""Each matcher of `want` can fail, and says what it missed."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.model.plan import Cost, Launch, Nominate, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import PoolReason, Reason, Unschedulable
from dovetail.testing import Want, deployment, node, pod, snapshot

CLUSTER: Snapshot = snapshot(
    [
        pod("old", node="n1"),
        *deployment(2, "web"),
        pod("cache"),
        pod("lost"),
    ],
    nodes=[node("n1", zone="a", pool="default")],
)
PLAN = Plan(
    launches=(
        Launch(
            name="new-1",
            node_pool="default",
            instance_type="small",
            zone="b",
            capacity_type="spot",
            price_nanousd=50_000_000,
            instance_types=("small", "large"),
            requests={},
            pods=("default/web-0", "default/web-1"),
        ),
    ),
    nominations=(Nominate("n1", ("default/cache",)),),
    unschedulable=(
        Unschedulable(
            "default/lost",
            "It asks for too much.",
            (PoolReason("default", Reason.RESOURCES, "needs 9 cpu"),),
            fix="ask for less",
        ),
    ),
    cost=Cost(new_nanousd=50_000_000),
)
RIGHT: dict[str, object] = {"unschedulable": {"lost": "InsufficientResources"}}


def differences(words: dict[str, object]) -> list[str]:
    """What differs between the plan above and these words."""
    return msgspec.convert({**RIGHT, **words}, Want).differences(CLUSTER, PLAN)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({"nodes": 1}, id="nodes"),
        pytest.param({"price": 0.05}, id="price"),
        pytest.param({"price_at_most": 0.06}, id="price at most"),
        pytest.param({"pools": {"default": 1, "other": 0}}, id="pools"),
        pytest.param({"placed_on": {"cache": "n1"}}, id="placed on"),
        pytest.param({"placed_on": {"cache": ["n0", "n1"]}}, id="placed on one of several"),
        pytest.param({"together": [["web-*"], ["old", "cache"]]}, id="together"),
        pytest.param({"apart": [["web-0", "cache"]]}, id="apart"),
        pytest.param(
            {"counts": [{"pods": ["web-*", "cache"], "by_domain": {"a": 1, "b": 2}}]}, id="counts"
        ),
        pytest.param({"counts": [{"pods": ["web-*", "cache"], "sizes": [2, 1]}]}, id="sizes"),
        pytest.param({"counts": [{"pods": ["web-*", "cache"], "max_skew": 1}]}, id="skew"),
        pytest.param({"counts": [{"pods": ["web-*"], "among": ["b", "c"]}]}, id="among"),
        pytest.param(
            {
                "launches": [
                    {
                        "type": "small",
                        "pool": "default",
                        "zone": "b",
                        "capacity_type": "spot",
                        "price": 0.05,
                        "n_pods": 2,
                        "pods": ["web-*"],
                        "types": ["small", "large"],
                        "among_types": ["large"],
                        "at_least_types": 2,
                        "labels": {"zone": "b"},
                        "is_min_values_relaxed": False,
                    }
                ]
            },
            id="launches",
        ),
        pytest.param(
            {
                "unschedulable": {
                    "lost": {"reason": "InsufficientResources", "says": "9 cpu", "fix": "less"}
                }
            },
            id="reason, words and remedy",
        ),
        pytest.param(
            {"unschedulable": {"*": {"reason": "InsufficientResources", "n_pods": 1}}},
            id="how many wait",
        ),
    ],
)
def test_what_the_plan_holds_is_no_difference(words: dict[str, object]) -> None:
    """True statements pass."""
    assert differences(words) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param({"nodes": 2}, "wanted 2 new nodes", id="nodes"),
        pytest.param({"price": 0.06}, "got $0.05", id="price"),
        pytest.param({"price_at_most": 0.04}, "at most $0.04", id="price at most"),
        pytest.param({"pools": {"other": 1}}, "of pool other, got 0", id="pools"),
        pytest.param({"placed_on": {"web-0": "n1"}}, "got new-1", id="placed on"),
        pytest.param({"placed_on": {"lost": "n1"}}, "got no node", id="placed nowhere"),
        pytest.param({"together": [["web-0", "cache"]]}, "together", id="together"),
        pytest.param({"together": [["web-0", "lost"]]}, "no node", id="together with nobody"),
        pytest.param({"apart": [["web-*"]]}, "apart", id="apart"),
        pytest.param(
            {"counts": [{"pods": ["web-*"], "by_domain": {"a": 2}}]}, "'b': 2", id="counts"
        ),
        pytest.param({"counts": [{"pods": ["web-*"], "sizes": [1, 1]}]}, "groups of", id="sizes"),
        pytest.param(
            {"counts": [{"pods": ["web-*", "cache"], "max_skew": 0}]}, "further apart", id="skew"
        ),
        pytest.param({"counts": [{"pods": ["web-*"], "among": ["a"]}]}, "only among", id="among"),
        pytest.param({"counts": [{"pods": ["lost"]}]}, "stand nowhere", id="counts of nobody"),
        pytest.param({"launches": []}, "wanted the new nodes []", id="no launches"),
        pytest.param({"launches": [{"zone": "a"}]}, "small spot in b", id="zone of a launch"),
        pytest.param({"launches": [{"pods": ["web-0"]}]}, "web-1", id="pods of a launch"),
        pytest.param({"launches": [{"n_pods": 3}]}, "web-1", id="number of pods"),
        pytest.param({"launches": [{"types": ["small"]}]}, "small", id="types of a launch"),
        pytest.param({"launches": [{"among_types": ["huge"]}]}, "small", id="type not listed"),
        pytest.param({"launches": [{"at_least_types": 3}]}, "small", id="too few types"),
        pytest.param({"launches": [{"labels": {"team": "x"}}]}, "small", id="label of a launch"),
        pytest.param({"unschedulable": {}}, "was to be placed", id="somebody waits"),
        pytest.param(
            {"unschedulable": {"lost": "LimitsExceeded"}}, "for LimitsExceeded", id="reason"
        ),
        pytest.param(
            {"unschedulable": {"lost": {"reason": "InsufficientResources", "says": "gpu"}}},
            "'gpu' to be said",
            id="words",
        ),
        pytest.param(
            {"unschedulable": {"lost": {"reason": "InsufficientResources", "fix": "more"}}},
            "remedy 'more'",
            id="remedy",
        ),
        pytest.param(
            {"unschedulable": {"*": {"reason": "InsufficientResources", "n_pods": 2}}},
            "wanted 2 of *",
            id="how many wait",
        ),
        pytest.param(
            {"unschedulable": {"lost": "InsufficientResources", "cache": "LimitsExceeded"}},
            "wanted 1 of cache",
            id="nobody waits",
        ),
        pytest.param({"placed_on": {"wbe-*": "n1"}}, "no pod called wbe-*", id="a slip of the pen"),
    ],
)
def test_what_the_plan_does_not_hold_is_a_difference(words: dict[str, object], said: str) -> None:
    """False statements fail and say what there was instead."""
    assert said in " / ".join(differences(words))


def test_a_pod_that_the_plan_forgot_is_a_difference() -> None:
    """A waiting pod is placed or explained, whatever else is wanted."""
    got = Want(nodes=0).differences(CLUSTER, Plan())
    assert "default/lost was neither placed nor explained" in got


def test_each_wanted_node_needs_a_launch_of_its_own() -> None:
    """One launch cannot stand for two wanted nodes."""
    assert differences({"launches": [{"type": "small"}, {"zone": "b"}]}) != []
