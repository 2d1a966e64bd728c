"""Messages of the interruption queue are read, unless they say nothing of an instance."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.providers.aws.interruption.messages import (
    Interruption,
    InterruptionKind,
    MalformedMessageError,
    read_message,
)
from tests.unit.providers.aws.interruption import texts
from tests.unit.providers.aws.interruption.texts import SENT_AT

IN_TWO_MINUTES = SENT_AT + timedelta(minutes=2)
LATER = datetime(2026, 1, 27, 6, 2, 51, tzinfo=UTC)
RETIREMENT = "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"


@pytest.mark.parametrize(
    ("body", "want"),
    [
        pytest.param(
            texts.spot("i-1"),
            Interruption(InterruptionKind.SPOT, ("i-1",), SENT_AT, IN_TWO_MINUTES),
            id="a spot instance has two minutes from when the message was sent",
        ),
        pytest.param(
            texts.rebalance("i-1"),
            Interruption(InterruptionKind.REBALANCE, ("i-1",), SENT_AT),
            id="a rebalance recommendation has no instant",
        ),
        *(
            pytest.param(
                texts.state_change("i-1", state),
                Interruption(kind, ("i-1",), SENT_AT, detail=state),
                id=f"an instance is {state}",
            )
            for state, kind in (
                ("stopping", InterruptionKind.STOPPED),
                ("stopped", InterruptionKind.STOPPED),
                ("shutting-down", InterruptionKind.TERMINATED),
                ("terminated", InterruptionKind.TERMINATED),
                ("running", InterruptionKind.NOTHING),
            )
        ),
        pytest.param(
            texts.reservation("i-1", "2026-01-27T06:02:51Z"),
            Interruption(InterruptionKind.RESERVATION, ("i-1",), SENT_AT, LATER),
            id="an instance of a reservation ends at the instant that is stated",
        ),
        pytest.param(
            texts.reservation("i-1"),
            Interruption(InterruptionKind.RESERVATION, ("i-1",), SENT_AT, IN_TWO_MINUTES),
            id="an instance of a reservation ends in two minutes",
        ),
        *(
            pytest.param(
                texts.health("i-1", "i-2", "i-1", starts_at=text),
                Interruption(
                    InterruptionKind.SCHEDULED_CHANGE, ("i-1", "i-2"), SENT_AT, at, RETIREMENT
                ),
                id=f"a scheduled change at {text!r}",
            )
            for text, at in (
                ("Tue, 27 Jan 2026 06:02:51 GMT", LATER),
                ("2026-01-27T06:02:51Z", LATER),
                ("soon", None),
                ("", None),
            )
        ),
    ],
)
def test_what_is_said_of_instances_is_read(body: str, want: Interruption) -> None:
    """Of which kind it is, of which instances, and when they will be gone."""
    assert read_message(body) == want


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="an empty message"),
        pytest.param("  \n", id="white space"),
        pytest.param("{}", id="no source"),
        pytest.param(
            texts.message(texts.SPOT, {"instance-id": "i-1"}, version="1"), id="a later version"
        ),
        pytest.param(
            texts.message(texts.SPOT, {"instance-id": "i-1"}, source="a.shop"),
            id="somebody else's message of that name",
        ),
        pytest.param(texts.message("EC2 Fleet Error", {}), id="a kind that is none of ours"),
        pytest.param(texts.health("i-1", service="RDS"), id="another service"),
        pytest.param(texts.health("i-1", eventTypeCategory="issue"), id="no scheduled change"),
        pytest.param(texts.health("i-1", statusCode="closed"), id="a change that is over"),
    ],
)
def test_what_says_nothing_of_an_instance_is_no_mistake(body: str) -> None:
    """It is deleted, and nothing else."""
    assert read_message(body).kind is InterruptionKind.NOTHING


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("no json", id="no JSON"),
        pytest.param("[1]", id="a list"),
        pytest.param('{"version": 0}', id="a number for a version"),
        pytest.param(texts.message(texts.SPOT, {}), id="no instance"),
        pytest.param(texts.message(texts.SPOT, {"instance-id": 5}), id="a number for an instance"),
        pytest.param(texts.health("i-1")[:-3], id="half a message"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_a_reason(body: str) -> None:
    """Never a crash."""
    with pytest.raises(MalformedMessageError, match="not a message of EventBridge: "):
        read_message(body)


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(repr))
def test_any_text_is_read_or_malformed(body: str) -> None:
    """A queue may hold anything."""
    try:
        assert read_message(body).kind is InterruptionKind.NOTHING
    except MalformedMessageError as error:
        assert str(error)  # noqa: PT017  either may happen
