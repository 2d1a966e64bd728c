"""The checker finds what is wrong with static pools: each plan here is right but for one thing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.model.plan import Disrupt, DisruptionReason, Launch, Plan
from dovetail.model.policy import Policy
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Snapshot
from dovetail.testing import deployment, node, node_pool, snapshot
from tests.oracle.check import check

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BUDGETS = [{"nodes": "1"}]


def cluster() -> Snapshot:
    """A pool that lacks a node, one that has too many, and one whose nodes have drifted."""
    pools = [
        node_pool("few", replicas=2, requirements=["team In a, b"]),
        node_pool("many", replicas=1),
        node_pool("old", replicas=2, budgets=BUDGETS),
        node_pool("dynamic"),
    ]
    nodes = [
        node("few-1", pool="few", type="small"),
        node("many-1", pool="many", type="small"),
        node("many-2", pool="many", type="small"),
        node("old-1", pool="old", type="small", drifted_at="2025-12-31T00:00:00Z"),
        node("old-2", pool="old", type="small", drifted_at="2025-12-30T00:00:00Z"),
    ]
    pods = deployment(1, "busy", node="many-1")
    found = snapshot(pods, nodes=nodes, node_pools=pools)
    policy = Policy(keeps_replicas=True, disrupts_for=(DisruptionReason.DRIFTED,))
    return msgspec.structs.replace(found, policy=policy)


def launched(**changed: object) -> Callable[[Plan], Plan]:
    """The launch changed."""
    return lambda plan: msgspec.structs.replace(
        plan, launches=(msgspec.structs.replace(plan.launches[0], **changed),)
    )


def removed(at: int, **changed: object) -> Callable[[Plan], Plan]:
    """One of the disruptions changed: of the surplus, or of what drifted."""

    def change(plan: Plan) -> Plan:
        held = list(plan.disruptions)
        held[at] = msgspec.structs.replace(held[at], **changed)
        return msgspec.structs.replace(plan, disruptions=tuple(held))

    return change


def twice(plan: Plan) -> Plan:
    """One launch too many."""
    (one,) = plan.launches
    return msgspec.structs.replace(plan, launches=(one, msgspec.structs.replace(one, name="more")))


def both(plan: Plan) -> Plan:
    """Two drifted nodes go at once."""
    gone = plan.disruptions[1]
    other = Disrupt("Drifted", ("old-1",), gone.replacements, saving_nanousd=gone.saving_nanousd)
    return msgspec.structs.replace(plan, disruptions=(*plan.disruptions, other))


def dear(plan: Plan) -> Launch:
    """A launch that costs more than need be."""
    return msgspec.structs.replace(
        plan.launches[0], instance_type="large", price_nanousd=400_000_000
    )


def test_a_right_plan_is_right() -> None:
    """A node comes, one goes, and one is replaced."""
    plan = decide(cluster(), NOW)
    assert [one.node_pool for one in plan.launches] == ["few"]
    assert [(one.reason, one.nodes) for one in plan.disruptions] == [
        ("Overprovisioned", ("many-2",)),
        ("Drifted", ("old-2",)),
    ]
    assert check(cluster(), NOW, plan) == []


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(twice, "launches 2, not 1", id="too many come"),
        pytest.param(
            lambda plan: msgspec.structs.replace(plan, launches=()), "launches 0", id="none comes"
        ),
        pytest.param(
            launched(requirements=(requirement("x", "Exists"),)), "more than the", id="not bare"
        ),
        pytest.param(launched(labels={}), "label team=None", id="a label is missing"),
        pytest.param(launched(zone="nowhere"), "not sold so", id="nobody sells it"),
        pytest.param(
            lambda plan: msgspec.structs.replace(plan, launches=(dear(plan),)),
            "not the cheapest",
            id="it is dear",
        ),
        pytest.param(removed(0, nodes=("many-1",)), "before others", id="a busy node goes"),
        pytest.param(removed(0, nodes=("few-1",)), "gives up", id="of the wrong pool"),
        pytest.param(removed(0, nodes=()), "gives up []", id="nothing goes"),
        pytest.param(removed(1, replacements=()), "by 0", id="nothing comes instead"),
        pytest.param(removed(1, nodes=("few-1",)), "has not drifted", id="it has not drifted"),
        pytest.param(removed(1, pods=("default/busy-0",)), "moves", id="a stranger moves"),
        pytest.param(both, "replaces 2 nodes, 1 at most", id="over budget"),
    ],
)
def test_a_wrong_plan_is_found_out(change: Callable[[Plan], Plan], want: str) -> None:
    """By the law that it breaks."""
    plan = change(decide(cluster(), NOW))
    assert any(want in line for line in check(cluster(), NOW, plan)), check(cluster(), NOW, plan)


def test_nothing_may_happen_unless_the_operator_wants_it() -> None:
    """The very same plan is wrong then."""
    found = cluster()
    plan = decide(found, NOW)
    unwanted = msgspec.structs.replace(
        found, policy=msgspec.structs.replace(found.policy, keeps_replicas=False)
    )
    assert any("it does anything" in line for line in check(unwanted, NOW, plan))
