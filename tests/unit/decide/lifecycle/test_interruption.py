"""Claims of instances that will be gone are deleted, whatever protects their nodes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.lifecycle import interruption
from dovetail.decide.lifecycle.claim import ClaimContext, claim_step
from dovetail.decide.lifecycle.conditions import rfc3339
from dovetail.decide.lifecycle.step import DeleteClaim, Step
from dovetail.model.claim import ClaimView
from dovetail.model.ending import InstanceEnding, KnownEnding
from tests.unit.decide.lifecycle import claims
from tests.unit.decide.lifecycle.claims import NOW

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
AT = NOW + 2 * MINUTE
ENDING = InstanceEnding("cloud://one", "SpotInterrupted", "taken back in two minutes", at=AT)


def view(**changes: Any) -> ClaimView:
    """A claim with its Node."""
    claim = msgspec.structs.replace(claims.initialized(), **changes)
    return claims.view(claim, claims.node())


def known(*, is_planned: bool = True, **changes: Any) -> KnownEnding:
    """The ending, announced now."""
    return KnownEnding(msgspec.structs.replace(ENDING, **changes), NOW, is_planned)


def deadline(step: Step) -> str | None:
    """By when the node must be empty, as the step writes it on the claim."""
    (patch,) = step.claims
    return patch.annotations.get(labels.TERMINATION_TIMESTAMP)


def test_the_claim_is_deleted_and_its_events_say_why() -> None:
    """Of the claim and of its Node; the metric counts it under its own reason."""
    step = interruption.step(view(), known(), NOW)
    (action,) = step.actions
    assert isinstance(action, DeleteClaim)
    assert action.reason == "SpotInterrupted"
    assert [(one.kind, one.reason) for one in step.events] == [
        ("NodeClaim", "SpotInterrupted"),
        ("Node", "SpotInterrupted"),
        ("NodeClaim", "TerminatingOnInterruption"),
        ("Node", "TerminatingOnInterruption"),
    ]
    assert step.events[0].message == "taken back in two minutes"


def test_its_node_must_be_empty_when_the_instance_goes() -> None:
    """Until then PodDisruptionBudgets hold."""
    assert deadline(interruption.step(view(), known(), NOW)) == rfc3339(AT)


def test_a_shorter_grace_period_of_the_claim_still_counts() -> None:
    """Also one that was written down before."""
    short = view(termination_grace_period=MINUTE)
    assert deadline(interruption.step(short, known(), NOW)) == rfc3339(NOW + MINUTE)
    stated = {labels.TERMINATION_TIMESTAMP: rfc3339(NOW + 10 * SECOND)}
    step = interruption.step(view(annotations=stated, deleting_at=NOW), known(), NOW)
    assert step.claims == ()


def test_an_end_at_an_unknown_instant_sets_no_deadline() -> None:
    """The node is drained like any other."""
    step = interruption.step(view(), known(at=None), NOW)
    assert step.claims == ()
    assert len(step.actions) == 1


def test_the_drain_waits_for_a_plan_but_not_for_long() -> None:
    """What replaces the node is under way when its pods have to leave."""
    unplanned = known(is_planned=False)
    step = interruption.step(view(), unplanned, NOW)
    assert step.actions == ()
    assert step.look_again_at == NOW + 15 * SECOND
    assert len(step.events) == 2
    assert len(interruption.step(view(), unplanned, NOW + 15 * SECOND).actions) == 1


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"at": None}, id="nobody knows when"),
        pytest.param({"at": NOW + 59 * SECOND}, id="in less than a minute"),
        pytest.param({"at": NOW - MINUTE}, id="the message was late"),
        pytest.param({"is_forced": True}, id="the machine does not answer"),
    ],
)
def test_without_time_the_drain_waits_for_no_plan(changes: dict[str, Any]) -> None:
    """It begins at once."""
    assert len(interruption.step(view(), known(is_planned=False, **changes), NOW).actions) == 1


@pytest.mark.parametrize(
    ("drains_for", "want"),
    [
        pytest.param(timedelta(minutes=10), 50, id="ten minutes unless said"),
        pytest.param(timedelta(minutes=40), 20, id="as the provider says"),
    ],
)
def test_an_end_that_is_far_away_is_not_acted_on_yet(drains_for: timedelta, want: int) -> None:
    """The claim stands until its node has to be drained; what is known is told at once."""
    far = known(at=NOW + 60 * MINUTE, drains_for=drains_for)
    step = interruption.step(view(), far, NOW)
    assert (step.actions, step.look_again_at) == ((), NOW + want * MINUTE)
    assert len(step.events) == 2
    assert interruption.step(view(), far, NOW + want * MINUTE - SECOND).actions == ()
    assert len(interruption.step(view(), far, NOW + want * MINUTE).actions) == 1


def test_the_metric_may_have_another_reason() -> None:
    """Where the provider gives one."""
    (action,) = interruption.step(view(), known(metric_reason="scheduled_change"), NOW).actions
    assert isinstance(action, DeleteClaim)
    assert action.reason == "scheduled_change"


def test_a_claim_that_is_deleted_already_is_only_told_and_dated() -> None:
    """Nothing is deleted twice."""
    step = interruption.step(view(deleting_at=NOW), known(), NOW)
    assert step.actions == ()
    assert len(step.events) == 2
    assert deadline(step) == rfc3339(AT)


@pytest.mark.parametrize("deleting_at", [None, NOW], ids=["standing", "deleted already"])
def test_a_forced_end_leaves_no_time_to_drain(deleting_at: object) -> None:
    """The machine does not answer."""
    step = interruption.step(view(deleting_at=deleting_at), known(is_forced=True), NOW)
    assert deadline(step) == rfc3339(NOW)


def test_it_is_a_law_of_every_claim_and_comes_before_all_others() -> None:
    """Also of one that is protected from disruption."""
    kept = view(annotations={labels.DO_NOT_DISRUPT: "true"})
    step = claim_step(kept, ClaimContext(ending=known()), NOW)
    assert [type(one).__name__ for one in step.actions] == ["DeleteClaim"]
    assert claim_step(kept, ClaimContext(), NOW).actions == ()
