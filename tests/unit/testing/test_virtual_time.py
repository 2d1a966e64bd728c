"""Time that moves when a test says so."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from dovetail.testing.virtual_time import START, VirtualTime


async def test_sleepers_wake_in_the_order_of_their_time() -> None:
    """Each finds the clock at its own moment, also when it falls asleep again."""
    time = VirtualTime()
    woken: list[tuple[str, float]] = []

    async def doze(name: str, *naps: float) -> None:
        for seconds in naps:
            await time.sleep(seconds)
            woken.append((name, time.elapsed_seconds()))

    async with asyncio.TaskGroup() as group:
        group.create_task(doze("late", 30))
        group.create_task(doze("early", 10, 5))
        await time.advance(timedelta(seconds=20))
        assert woken == [("early", 10), ("early", 15)]
        assert time.now() == START + timedelta(seconds=20)
        await time.advance(timedelta(seconds=10))
    assert woken[2:] == [("late", 30)]


async def test_a_sleeper_that_was_cancelled_is_not_woken() -> None:
    """Time passes over it."""
    time = VirtualTime()
    async with asyncio.TaskGroup() as group:
        sleeping = group.create_task(time.sleep(1))
        await time.advance()
        sleeping.cancel()
        await time.advance(timedelta(seconds=2))
    assert sleeping.cancelled()


async def test_a_clock_that_is_set_leaves_sleepers_asleep() -> None:
    """The timer goes on as if nothing had happened."""
    time = VirtualTime()
    async with asyncio.TaskGroup() as group:
        sleeping = group.create_task(time.sleep(10))
        await time.advance()
        time.set_clock(timedelta(hours=1))
        await time.advance(timedelta(seconds=9))
        assert not sleeping.done()
        assert time.now() == START + timedelta(hours=1, seconds=9)
        assert time.elapsed_seconds() == 9
        await time.advance(timedelta(seconds=1))
        assert sleeping.done()
