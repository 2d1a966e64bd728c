"""Conditions of node classes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dovetail import api
from dovetail.providers.aws.status.conditions import (
    ClassCondition,
    Observation,
    condition_of,
    fails,
    holds,
    next_conditions,
    unknown,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUBNETS, AMIS = ClassCondition.SUBNETS, ClassCondition.AMIS
TWO = (AMIS, SUBNETS)


def at(moment: datetime = NOW, generation: int = 1) -> Observation:
    """A look at a class with two conditions."""
    return Observation(generation, moment, TWO)


def ready(conditions: tuple[api.Condition, ...]) -> tuple[str, str, str]:
    """Status, reason and message of the root."""
    root = conditions[-1]
    assert root.type == "Ready"
    return root.status, root.reason, root.message


def test_ready_holds_when_everything_else_does() -> None:
    """In the order of evaluation, with the root last."""
    got = next_conditions((), [holds(AMIS), holds(SUBNETS)], at())
    assert [one.type for one in got] == ["AMIsReady", "SubnetsReady", "Ready"]
    assert ready(got) == ("True", "Ready", "")


def test_ready_fails_with_whatever_fails_and_names_it() -> None:
    """What fails outweighs what is not known."""
    got = next_conditions((), [fails(AMIS, "AMINotFound", "no AMI")], at())
    assert ready(got) == ("False", "UnhealthyDependents", "AMIsReady=False, SubnetsReady=Unknown")


def test_ready_is_unknown_while_something_is() -> None:
    """Before anything was evaluated, for example."""
    got = next_conditions((), [holds(AMIS)], at())
    assert ready(got) == ("Unknown", "ReconcilingDependents", "SubnetsReady=Unknown")
    subnets = condition_of(got, SUBNETS)
    assert subnets is not None
    assert (subnets.status, subnets.reason) == ("Unknown", "AwaitingReconciliation")


def test_the_time_of_a_transition_is_that_of_the_status_alone() -> None:
    """Another reason or message is no transition."""
    later = NOW + timedelta(minutes=1)
    first = next_conditions((), [fails(AMIS, "AMINotFound", "a"), holds(SUBNETS)], at())
    second = next_conditions(
        first, [unknown(AMIS, "Throttled", "b"), holds(SUBNETS, "c")], at(later)
    )
    assert [one.last_transition_time for one in second] == [later, NOW, later]


def test_a_condition_that_was_not_evaluated_still_speaks_of_its_own_generation() -> None:
    """What held before an edit need not hold after it."""
    first = next_conditions((), [holds(AMIS), holds(SUBNETS)], at())
    second = next_conditions(first, [holds(AMIS)], at(generation=2))
    assert [one.observed_generation for one in second] == [2, 1, 2]
