"""Tells the time, measures spans and waits, by a clock and a timer that are handed in.

The clock is asked once per decision, at the edge. The timer measures and waits; it does not jump
when the machine's clock is set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Protocol, TypeVar

WorkT = TypeVar("WorkT")


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)  # noqa: TID251  the one place that reads the machine's clock


class Timer(Protocol):
    """Measures spans and lets them pass."""

    def elapsed_seconds(self) -> float:
        """Seconds since some moment, which stays the same and never lies ahead."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return when that much time has passed; others run meanwhile."""
        ...


class LoopTimer:
    """The time of the event loop that runs."""

    def elapsed_seconds(self) -> float:
        """Seconds since some moment, which stays the same and never lies ahead."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Return when that much time has passed; others run meanwhile."""
        await asyncio.sleep(seconds)


async def happens_within(event: asyncio.Event, seconds: float | None, timer: Timer) -> bool:
    """Wait until the event is set or the time is up; whether it is set. None waits for ever."""
    if event.is_set() or seconds is None:
        await event.wait()
        return True
    await ends_within(event.wait(), max(seconds, 0.0), timer)
    return event.is_set()


async def ends_within(
    work: Coroutine[object, object, WorkT], seconds: float, timer: Timer
) -> WorkT | None:
    """What the work returns; None if it was cancelled because the time was up."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work)
        alarm = group.create_task(timer.sleep(seconds))
        await asyncio.wait({working, alarm}, return_when=asyncio.FIRST_COMPLETED)
        working.cancel()
        alarm.cancel()
    return None if working.cancelled() else working.result()
