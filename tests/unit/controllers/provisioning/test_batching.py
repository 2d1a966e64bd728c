"""A window closes when nothing more comes, and after a while in any case."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from dovetail.controllers.provisioning.loop import Batch, Window
from dovetail.testing.virtual_time import VirtualTime

SECOND = timedelta(seconds=1)


async def closing_at(batch: Batch, time: VirtualTime, within: float | None = None) -> list[float]:
    """Notes when each window closes, for as long as it runs."""
    moments: list[float] = []
    while True:
        await batch.complete(within)
        moments.append(time.elapsed_seconds())
        if len(moments) == 2:
            return moments


async def test_a_window_closes_once_nothing_has_come_for_a_moment() -> None:
    """Each newcomer prolongs it."""
    time = VirtualTime()
    batch = Batch(Window(SECOND, 10 * SECOND), time)
    async with asyncio.TaskGroup() as group:
        closing = group.create_task(closing_at(batch, time))
        for _ in range(4):
            batch.add(prolongs=True)
            await time.advance(SECOND / 2)
        await time.advance(3 * SECOND)
        batch.add(prolongs=True)
        await time.advance(3 * SECOND)
    assert closing.result() == [2.5, 6.0]


async def test_a_window_closes_after_a_while_however_many_come() -> None:
    """The first must not wait for the last for ever."""
    time = VirtualTime()
    batch = Batch(Window(SECOND, 10 * SECOND), time)
    async with asyncio.TaskGroup() as group:
        closing = group.create_task(closing_at(batch, time))
        for _ in range(60):
            batch.add(prolongs=True)
            await time.advance(SECOND / 2)
    assert closing.result() == [10.0, 20.0]


async def test_what_brings_no_pods_opens_a_window_but_does_not_prolong_it() -> None:
    """Nodes report all the time."""
    time = VirtualTime()
    batch = Batch(Window(SECOND, 10 * SECOND), time)
    async with asyncio.TaskGroup() as group:
        closing = group.create_task(closing_at(batch, time))
        for _ in range(8):
            batch.add(prolongs=False)
            await time.advance(SECOND / 2)
    assert closing.result() == [1.0, 2.0]


async def test_without_any_window_it_is_time_when_time_is_up() -> None:
    """A plan says when time alone could change the answer."""
    time = VirtualTime()
    batch = Batch(Window(SECOND, 10 * SECOND), time)
    async with asyncio.TaskGroup() as group:
        closing = group.create_task(closing_at(batch, time, within=7.0))
        await time.advance(20 * SECOND)
    assert closing.result() == [7.0, 14.0]


async def test_after_a_hard_decision_only_new_pods_are_not_kept_waiting() -> None:
    """What happens on nodes waits for the end of the rest, or for the longest window."""
    time = VirtualTime()
    batch = Batch(Window(SECOND, 10 * SECOND), time)
    async with asyncio.TaskGroup() as group:
        closing = group.create_task(closing_at(batch, time))
        batch.rest(4.0)
        batch.add(prolongs=False)
        await time.advance(5 * SECOND)
        batch.rest(60.0)
        batch.add(prolongs=False)
        await time.advance(SECOND * 5 / 2)
        batch.add(prolongs=True)
        await time.advance(2 * SECOND)
    assert closing.result() == [4.0, 8.5]


async def test_a_rest_does_not_outlast_the_longest_window() -> None:
    """Whatever a decision took."""
    time = VirtualTime()
    batch = Batch(Window(SECOND, 10 * SECOND), time)
    async with asyncio.TaskGroup() as group:
        closing = group.create_task(closing_at(batch, time))
        batch.rest(600.0)
        batch.add(prolongs=False)
        await time.advance(11 * SECOND)
        batch.add(prolongs=False)
        await time.advance(11 * SECOND)
    assert closing.result() == [10.0, 21.0]
