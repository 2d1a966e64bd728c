"""Every node that stays says why, and a single one all that is in its way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.decide.disrupt.blockers import FIXES, SENTENCES
from dovetail.decide.disrupt.why import obstacles, staying_nodes
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocker
from dovetail.testing import load, parse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROOT = Path(__file__).parents[4] / "scenarios" / "disruption"
QUIET = {"pool": "default", "type": "small", "is_consolidatable": True}


def cluster(**given: object) -> Snapshot:
    """A cluster in the words of scenarios."""
    policy = {"disrupts_for": ["Empty", "Drifted", "Underutilized"], "confirm_after": "0s"}
    tree = {"because": "a test", "given": {"policy": policy, **given}, "want": {"nodes": 0}}
    return parse(tree, "test").snapshot


def kept(snapshot: Snapshot, name: str = "n1") -> list[Blocker]:
    """Everything in the way of a node."""
    [node] = [one for one in snapshot.nodes if one.name == name]
    return [one.reason for one in obstacles(node, snapshot, decide(snapshot, NOW), NOW)]


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_node_goes_or_says_why_it_stays(path: Path) -> None:
    """Each once."""
    scenario = load(path)
    plan = decide(scenario.snapshot, scenario.now)
    going = [name for one in plan.disruptions for name in one.nodes]
    told = [one.node for one in staying_nodes(scenario.snapshot, plan, scenario.now)]
    assert sorted([*going, *told]) == [node.name for node in scenario.snapshot.nodes]


def test_every_blocker_says_what_would_help_or_that_nothing_would() -> None:
    """Whoever adds one says both."""
    assert set(FIXES) == set(SENTENCES) == set(Blocker)


def test_all_that_is_in_the_way_is_told_not_only_the_first() -> None:
    """Who removes one obstacle should know of the next."""
    precious = {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}
    snapshot = cluster(
        pools={"default": {"budgets": [{"nodes": "0"}], "consolidation_policy": "WhenEmpty"}},
        nodes=[
            {
                **QUIET,
                "name": "n1",
                "is_consolidatable": False,
                "pods": [{"name": "a", **precious}, {"name": "b", **precious}, {"name": "c"}],
            }
        ],
        disruption_budgets=[{"name": "c", "selector": {"app": "c"}}],
    )
    assert kept(snapshot) == [
        Blocker.WHEN_EMPTY,
        Blocker.NOT_QUIET,
        Blocker.POD_PROTECTED,
        Blocker.POD_PROTECTED,
        Blocker.POD_DISRUPTION_BUDGET,
        Blocker.NODE_POOL_BUDGET,
    ]


def test_a_budget_that_the_plan_uses_up_is_told_once() -> None:
    """In the plan's own words."""
    snapshot = cluster(
        pools={"default": {"budgets": [{"nodes": "1"}]}},
        nodes=[{**QUIET, "name": "n1", "type": "large"}, {**QUIET, "name": "n2"}],
    )
    assert kept(snapshot, "n2") == [Blocker.NODE_POOL_BUDGET]


def test_pods_do_not_keep_a_drifted_node_that_drains_in_bounded_time() -> None:
    """Then only the budget does."""
    snapshot = cluster(
        pools={"default": {"budgets": [{"nodes": "0"}]}},
        nodes=[
            {
                **QUIET,
                "name": "n1",
                "drifted_at": "2025-12-31T00:00:00Z",
                "termination_grace_period": "1h",
                "pods": [{"name": "a", "annotations": {"karpenter.sh/do-not-disrupt": "true"}}],
            }
        ],
    )
    assert kept(snapshot) == [Blocker.NODE_POOL_BUDGET]


@pytest.mark.parametrize(
    ("minutes", "until"),
    [
        pytest.param(2, NOW + timedelta(minutes=3), id="still to come"),
        pytest.param(5, None, id="over, though nobody has marked it yet"),
        pytest.param(None, None, id="nobody knows"),
    ],
)
def test_a_busy_node_says_until_when_if_that_is_known(
    minutes: int | None, until: datetime | None
) -> None:
    """So long after the last pod came or went."""
    snapshot = cluster(
        pools={"default": {"consolidate_after": "5m"}},
        nodes=[{**QUIET, "name": "n1", "is_consolidatable": False, "pods": [{"name": "a"}]}],
    )
    seen_at = None if minutes is None else NOW - timedelta(minutes=minutes)
    [node] = snapshot.nodes
    busy = msgspec.structs.replace(node, last_pod_event_at=seen_at)
    [one] = staying_nodes(msgspec.structs.replace(snapshot, nodes=(busy,)), Plan(), NOW)
    assert (one.reason, one.until) == (Blocker.NOT_QUIET, until)


def test_a_node_that_the_plan_does_not_speak_of_has_its_turn() -> None:
    """It was quiet, and nothing is in its way."""
    snapshot = cluster(nodes=[{**QUIET, "name": "n1"}])
    [one] = staying_nodes(snapshot, Plan(), NOW)
    assert one.reason == Blocker.NOT_LOOKED_AT
    [node] = snapshot.nodes
    assert [one.reason for one in obstacles(node, snapshot, Plan(), NOW)] == [one.reason]


def test_a_node_that_is_protected_itself_says_what_its_pods_say_too() -> None:
    """Who takes the annotation off should know."""
    snapshot = cluster(
        pools={"default": {"budgets": [{"nodes": "100%"}]}},
        nodes=[
            {
                **QUIET,
                "name": "n1",
                "annotations": {"karpenter.sh/do-not-disrupt": "true"},
                "pods": [{"name": "a", "cpu": 1}],
            }
        ],
        disruption_budgets=[{"name": "a", "selector": {"app": "a"}}],
    )
    assert kept(snapshot) == [Blocker.NODE_PROTECTED, Blocker.POD_DISRUPTION_BUDGET]
