"""What is said of an instance becomes an end that the controller acts upon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dovetail import labels
from dovetail.model.ending import ReclaimedOffering
from dovetail.providers.aws.interruption.claims import InstanceClaim
from dovetail.providers.aws.interruption.endings import (
    REASONS,
    ending_of,
    from_text,
    is_far_away,
    to_text,
)
from dovetail.providers.aws.interruption.messages import Interruption, InterruptionKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CLAIM = InstanceClaim(
    "c",
    "u",
    "aws:///us-west-2a/i-1",
    "n",
    labels={
        labels.INSTANCE_TYPE: "m5.large",
        labels.ZONE: "us-west-2a",
        labels.CAPACITY_TYPE: labels.SPOT,
    },
)


@pytest.mark.parametrize("kind", list(REASONS))
def test_metrics_and_events_have_the_reasons_of_the_reference(kind: InterruptionKind) -> None:
    """The disruption metric counts by kind, the event names a reason."""
    ending = ending_of(Interruption(kind, ("i-1",)), CLAIM, NOW)
    assert (ending.metric_reason, ending.reason) == (kind.value, REASONS[kind])
    assert ending.provider_id == CLAIM.provider_id
    assert ending.message


def test_a_spot_instance_takes_its_offering_along() -> None:
    """And has two minutes where nobody says when it goes."""
    ending = ending_of(Interruption(InterruptionKind.SPOT, ("i-1",)), CLAIM, NOW)
    assert ending.reclaimed == ReclaimedOffering("m5.large", "us-west-2a", "spot")
    assert ending.at == NOW + 2 * MINUTE
    assert not is_far_away(ending, NOW)


@pytest.mark.parametrize(
    "kind", [InterruptionKind.INSTANCE_STATUS, InterruptionKind.SYSTEM_STATUS], ids=str
)
def test_an_instance_that_does_not_answer_is_not_drained(kind: InterruptionKind) -> None:
    """Its pods could not be told."""
    assert ending_of(Interruption(kind, ("i-1",)), CLAIM, NOW).is_forced


@pytest.mark.parametrize(
    ("at", "want_at", "is_far"),
    [
        pytest.param(NOW + timedelta(days=14), NOW + timedelta(days=14), True, id="in two weeks"),
        pytest.param(NOW + 61 * MINUTE, NOW + 61 * MINUTE, True, id="in more than an hour"),
        pytest.param(NOW + 60 * MINUTE, NOW + 60 * MINUTE, False, id="in an hour"),
        pytest.param(NOW - MINUTE, None, False, id="it has begun: when it ends is not known"),
        pytest.param(None, None, False, id="nobody knows when"),
    ],
)
def test_a_scheduled_change_is_drained_for_an_hour(
    at: datetime | None, want_at: datetime | None, is_far: object
) -> None:
    """Until that begins it is kept on the claim."""
    ending = ending_of(Interruption(InterruptionKind.SCHEDULED_CHANGE, ("i-1",), at=at), CLAIM, NOW)
    assert (ending.at, is_far_away(ending, NOW)) == (want_at, is_far)
    assert ending.drains_for == 60 * MINUTE


def test_what_a_claim_keeps_is_recalled_as_it_was_said() -> None:
    """Whatever else stands there says nothing."""
    said = Interruption(
        InterruptionKind.SCHEDULED_CHANGE, ("i-1",), NOW, NOW + timedelta(days=1), "RETIREMENT"
    )
    again = from_text(to_text(said))
    assert again is not None
    assert ending_of(again, CLAIM, NOW) == ending_of(said, CLAIM, NOW)
    assert [from_text(text) for text in ("", "{}", "x", '{"kind":"spot","at":"soon"}')] == [
        None
    ] * 4
