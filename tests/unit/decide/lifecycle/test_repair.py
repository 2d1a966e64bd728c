"""A broken node goes once it was put up with for long enough, unless too many are broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import labels
from dovetail.decide.lifecycle import repair
from dovetail.decide.lifecycle.finalization import termination_deadline
from dovetail.decide.lifecycle.repair import RepairScope, UnhealthyCondition, UnhealthyNode
from dovetail.decide.lifecycle.step import DeleteClaim, EventType, Step, claim_after
from dovetail.model.claim import NodeObject
from dovetail.model.node import Condition, RepairPolicy
from tests.unit.decide.lifecycle.claims import BORN, HOUR, MINUTE, SECOND, claim

POLICIES = (
    RepairPolicy("Ready", "False", 10 * MINUTE),
    RepairPolicy("Ready", "Unknown", 30 * MINUTE),
    RepairPolicy("DiskBroken", "True", 2 * MINUTE),
)
DUE = BORN + 10 * MINUTE
FEW, MANY = RepairScope(10, 2, "default", "pool-1"), RepairScope(10, 3, "default", "pool-1")


def node(*said: Condition) -> NodeObject:
    """A Node that says this."""
    return NodeObject("n1", uid="node-1", conditions=said, created_at=BORN)


def ill(scope: RepairScope | None = FEW) -> UnhealthyNode:
    """A Node that has not been ready since it was born."""
    return UnhealthyNode(
        node(Condition("Ready", "False", changed_at=BORN)),
        UnhealthyCondition("Ready", "False", DUE),
        scope,
    )


def test_what_was_put_up_with_first_counts() -> None:
    """Each policy has a time of its own, which begins when the condition changed."""
    sick = node(
        Condition("Ready", "False", changed_at=BORN),
        Condition("DiskBroken", "True", changed_at=BORN + 7 * MINUTE),
    )
    assert repair.unhealthy_condition(sick, POLICIES) == UnhealthyCondition(
        "DiskBroken", "True", BORN + 9 * MINUTE
    )
    slow = node(Condition("Ready", "Unknown", changed_at=BORN))
    assert repair.unhealthy_condition(slow, POLICIES) == UnhealthyCondition(
        "Ready", "Unknown", BORN + 30 * MINUTE
    )


def test_a_condition_that_says_no_time_has_been_there_from_the_start() -> None:
    """A Node without any time is never due."""
    assert repair.unhealthy_condition(
        node(Condition("Ready", "False")), POLICIES
    ) == UnhealthyCondition("Ready", "False", DUE)
    ageless = NodeObject("n1", conditions=(Condition("Ready", "False"),))
    assert repair.unhealthy_condition(ageless, POLICIES) is None


@pytest.mark.parametrize(
    "said",
    [
        pytest.param((), id="nothing is said"),
        pytest.param((Condition("Ready", "True", changed_at=BORN),), id="it is ready"),
        pytest.param((Condition("Other", "False", changed_at=BORN),), id="nobody minds that"),
    ],
)
def test_a_node_is_well_unless_a_policy_says_otherwise(said: tuple[Condition, ...]) -> None:
    """Whatever else it says of itself."""
    assert repair.unhealthy_condition(node(*said), POLICIES) is None
    assert not repair.is_unhealthy([(one.type, one.status) for one in said], POLICIES)


def test_before_its_time_has_come_it_is_looked_at_again_then() -> None:
    """Nothing happens a second earlier, and nobody need have counted the others."""
    assert repair.step(claim(), ill(None), DUE - SECOND) == Step(look_again_at=DUE)


def test_a_broken_node_goes_with_no_time_to_drain() -> None:
    """Its claim is deleted, its deadline is now, whatever its grace period."""
    one = claim(termination_grace_period=HOUR)
    step = repair.step(one, ill(), DUE)
    assert step.actions == (DeleteClaim("one", "uid-1", "unhealthy", condition="Ready"),)
    assert termination_deadline(claim_after(one, step.claims)) == DUE
    assert not step.events


def test_a_deadline_that_has_passed_is_left_as_it_is() -> None:
    """One that is still to come is brought forward."""
    passed = claim(annotations={labels.TERMINATION_TIMESTAMP: "2026-01-01T00:01:00Z"})
    assert repair.step(passed, ill(), DUE).claims == ()
    later = claim(annotations={labels.TERMINATION_TIMESTAMP: "2026-01-01T09:00:00Z"})
    step = repair.step(later, ill(), DUE)
    assert termination_deadline(claim_after(later, step.claims)) == DUE


def test_a_broken_node_that_is_going_already_only_goes_faster() -> None:
    """It is deleted once, and counted once."""
    going = claim(deleting_at=BORN, termination_grace_period=HOUR)
    step = repair.step(going, ill(), DUE)
    assert step.actions == ()
    assert termination_deadline(claim_after(going, step.claims)) == DUE


def test_nothing_is_repaired_while_too_many_are_unwell() -> None:
    """That is told of the Node, a quarter of an hour apart, and tried again after five minutes."""
    step = repair.step(claim(), ill(MANY), DUE)
    assert not step.actions
    assert not step.claims
    assert step.look_again_at == DUE + 5 * MINUTE
    (event,) = step.events
    assert (event.kind, event.name, event.reason) == ("Node", "n1", "NodeRepairBlocked")
    assert (event.type, event.dedupe_for) == (EventType.WARNING, 15 * MINUTE)
    assert event.dedupe == ("uid-1", "pool-1")
    assert "3 of 10 nodes of NodePool default" in event.message


@pytest.mark.parametrize(
    ("n_nodes", "n_tolerated"),
    [(1, 1), (2, 1), (5, 1), (6, 2), (10, 2), (11, 3), (1000, 200), (1001, 201)],
)
def test_a_fifth_of_the_nodes_may_be_unwell_rounded_up(n_nodes: int, n_tolerated: int) -> None:
    """One more, and nothing is repaired."""
    assert not RepairScope(n_nodes, n_tolerated).is_blocked
    assert RepairScope(n_nodes, n_tolerated + 1).is_blocked


@given(n_nodes=st.integers(1, 300), n_broken=st.integers(0, 300))
def test_never_do_more_than_a_fifth_of_the_nodes_go_at_once(n_nodes: int, n_broken: int) -> None:
    """However many are broken when everybody is looked at, none of them gone yet."""
    n_broken = min(n_broken, n_nodes)
    scope = RepairScope(n_nodes, n_broken)
    gone = [one for one in range(n_broken) if repair.step(claim(), ill(scope), DUE).actions]
    assert len(gone) * 5 < n_nodes + 5
    assert len(gone) in (0, n_broken)
