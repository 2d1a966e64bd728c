"""Claims of instances that will be gone are deleted, whatever protects their nodes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.lifecycle import interruption
from dovetail.decide.lifecycle.claim import ClaimContext, claim_step
from dovetail.decide.lifecycle.conditions import rfc3339
from dovetail.decide.lifecycle.step import DeleteClaim
from dovetail.model.claim import ClaimView
from dovetail.model.ending import InstanceEnding
from tests.unit.decide.lifecycle import claims
from tests.unit.decide.lifecycle.claims import NOW

ENDING = InstanceEnding("cloud://one", "SpotInterrupted", "taken back in two minutes", at=NOW)


def view(**changes: Any) -> ClaimView:
    """A claim with its Node."""
    claim = msgspec.structs.replace(claims.initialized(), **changes)
    return claims.view(claim, claims.node())


def test_the_claim_is_deleted_and_its_events_say_why() -> None:
    """Of the claim and of its Node; the metric counts it under its own reason."""
    step = interruption.step(view(), ENDING, NOW)
    (action,) = step.actions
    assert isinstance(action, DeleteClaim)
    assert action.reason == "SpotInterrupted"
    assert [(one.kind, one.reason, one.message) for one in step.events] == [
        ("NodeClaim", "SpotInterrupted", "taken back in two minutes"),
        ("Node", "SpotInterrupted", "taken back in two minutes"),
    ]
    assert step.claims == ()


def test_the_metric_may_have_another_reason() -> None:
    """Where the provider gives one."""
    ending = msgspec.structs.replace(ENDING, metric_reason="scheduled_change")
    (action,) = interruption.step(view(), ending, NOW).actions
    assert isinstance(action, DeleteClaim)
    assert action.reason == "scheduled_change"


def test_a_claim_that_is_deleted_already_is_only_told() -> None:
    """Nothing is deleted twice."""
    step = interruption.step(view(deleting_at=NOW), ENDING, NOW)
    assert step.actions == ()
    assert len(step.events) == 2


@pytest.mark.parametrize("deleting_at", [None, NOW], ids=["standing", "deleted already"])
def test_a_forced_end_leaves_no_time_to_drain(deleting_at: object) -> None:
    """The machine does not answer."""
    ending = msgspec.structs.replace(ENDING, is_forced=True)
    step = interruption.step(view(deleting_at=deleting_at), ending, NOW)
    (patch,) = step.claims
    assert patch.annotations == {labels.TERMINATION_TIMESTAMP: rfc3339(NOW)}


def test_it_is_a_law_of_every_claim_and_comes_before_all_others() -> None:
    """Also of one that is protected from disruption."""
    kept = view(annotations={labels.DO_NOT_DISRUPT: "true"})
    step = claim_step(kept, ClaimContext(ending=ENDING), NOW)
    assert [type(one).__name__ for one in step.actions] == ["DeleteClaim"]
    assert claim_step(kept, ClaimContext(), NOW).actions == ()
