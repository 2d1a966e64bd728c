"""What EC2 says of the status of an instance, and what follows from it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dovetail.providers.aws.interruption.instance_status import interruptions_of
from dovetail.providers.aws.interruption.messages import InterruptionKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


def summary(since: datetime | None, status: str = "impaired") -> Any:
    """One check of an instance."""
    detail = {"ImpairedSince": since} if since else {}
    return {"Status": status, "Details": [{"Name": "reachability", **detail}]}


def kinds(**status: Any) -> list[InterruptionKind]:
    """What follows now."""
    described: Any = {"InstanceId": "i-1", **status}
    got = list(interruptions_of(described, NOW))
    assert all(one.instance_ids == ("i-1",) for one in got)
    return [one.kind for one in got]


@pytest.mark.parametrize(
    ("since", "is_told"),
    [
        pytest.param(NOW - 120 * SECOND, True, id="for two minutes"),
        pytest.param(NOW - 119 * SECOND, False, id="not for long enough"),
        pytest.param(None, False, id="nobody knows since when"),
    ],
)
def test_a_failed_check_counts_after_two_minutes(since: datetime | None, is_told: object) -> None:
    """That of the instance, and that of its host; not that of its volumes."""
    assert bool(kinds(InstanceStatus=summary(since))) == is_told
    assert kinds(AttachedEbsStatus=summary(since)) == []
    both = kinds(InstanceStatus=summary(since), SystemStatus=summary(since))
    want = [InterruptionKind.INSTANCE_STATUS, InterruptionKind.SYSTEM_STATUS]
    assert both == (want if is_told else [])
    passed = summary(since, status="ok")
    assert kinds(InstanceStatus=passed, SystemStatus=passed) == []


def test_the_first_scheduled_event_counts() -> None:
    """Those that are over, or of a kind that nobody knows, do not."""
    events = [
        {"Code": "instance-reboot", "NotBefore": NOW + 2 * DAY, "Description": "a reboot"},
        {"Code": "instance-retirement", "NotBefore": NOW + DAY, "Description": "broken"},
        {"Code": "instance-stop", "NotBefore": NOW, "Description": "[Completed] stopped"},
        {"Code": "instance-stop", "NotBefore": NOW, "Description": "[Canceled] stopped"},
        {"Code": "instance-party", "NotBefore": NOW, "Description": "a party"},
    ]
    (one,) = interruptions_of({"InstanceId": "i-1", "Events": events}, NOW)  # type: ignore[typeddict-item]  # one is none of EC2's
    assert (one.kind, one.at) == (InterruptionKind.SCHEDULED_EVENT, NOW + DAY)
    assert one.detail == "instance-retirement"
    assert kinds(Events=events[2:]) == []
