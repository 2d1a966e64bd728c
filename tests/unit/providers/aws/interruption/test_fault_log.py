"""Trouble is reported once a minute, however often it is met."""

from __future__ import annotations

from datetime import timedelta

from dovetail.providers.aws.interruption.fault_log import FaultLog
from dovetail.testing.virtual_time import VirtualTime
from tests.ec2.status.bench import Lines


async def test_each_sort_of_trouble_is_reported_once_a_minute() -> None:
    """With how often it was met since."""
    time, lines = VirtualTime(), Lines()
    faults = FaultLog(lines, time)
    for _ in range(3):
        faults.warn("cannot read", error="x")
    faults.warn("cannot write")
    assert lines.lines == ["cannot read {'error': 'x'}", "cannot write {}"]
    await time.advance(timedelta(minutes=1))
    faults.warn("cannot read", error="y")
    assert lines.lines[2:] == ["cannot read {'error': 'y', 'more_since': 2}"]
