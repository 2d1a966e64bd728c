"""One line a minute for each fault."""

from __future__ import annotations

from datetime import timedelta

from dovetail.cloud.repeated_faults import RepeatedFaults
from dovetail.testing.virtual_time import VirtualTime

SECOND = timedelta(seconds=1)


async def test_a_fault_is_reported_once_a_minute_with_how_often_it_happened() -> None:
    """The first time at once."""
    time = VirtualTime()
    faults = RepeatedFaults(time)
    got = []
    for _ in range(130):
        got.append(faults.n_to_report("throttled"))
        await time.advance(SECOND)
    want = {0: 1, 60: 60, 120: 60}
    assert {second: n_times for second, n_times in enumerate(got) if n_times} == want


def test_each_fault_is_counted_by_itself() -> None:
    """One does not hide another."""
    faults = RepeatedFaults(VirtualTime())
    assert [faults.n_to_report(fault) for fault in ("a", "b", "a")] == [1, 1, 0]


async def test_a_fault_of_long_ago_begins_anew() -> None:
    """What was not reported then is not news."""
    time = VirtualTime()
    faults = RepeatedFaults(time)
    assert [faults.n_to_report("a") for _ in range(3)] == [1, 0, 0]
    await time.advance(timedelta(hours=1))
    assert faults.n_to_report("b") == 1
    assert faults.n_to_report("a") == 1


def test_a_clock_that_is_set_back_does_not_silence_a_fault() -> None:
    """A fault of the future was reported at another time."""
    time = VirtualTime()
    faults = RepeatedFaults(time)
    assert faults.n_to_report("a") == 1
    time.set_clock(-timedelta(hours=1))
    assert faults.n_to_report("a") == 1
