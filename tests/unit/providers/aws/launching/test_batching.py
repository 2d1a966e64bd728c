"""Tests of calls that are joined."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from dovetail.cloud.errors import CloudError, InsufficientCapacityError
from dovetail.providers.aws.launching.batching import (
    Batcher,
    BatchWindow,
    BrokenOffError,
    SingleFlight,
)
from dovetail.testing.virtual_time import VirtualTime

WINDOW = BatchWindow(idle_seconds=0.035, max_seconds=1.0, max_items=3)


class Work:
    """Notes the batches; an item below zero fails by itself, zero spoils the batch."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, tuple[int, ...]]] = []

    async def __call__(self, key: str, items: Sequence[int]) -> Sequence[int | CloudError]:
        """Twice each item."""
        self.batches.append((key, tuple(items)))
        if 0 in items:
            msg = "spoiled"
            raise CloudError(msg)
        return [2 * one if one > 0 else InsufficientCapacityError(str(one)) for one in items]


def batcher(time: VirtualTime, work: Work) -> Batcher[str, int, int]:
    """With the window above."""
    return Batcher(work, window=WINDOW, timer=time)


async def test_items_that_come_together_make_one_batch_for_each_key() -> None:
    """And each gets its own result."""
    time, work = VirtualTime(), Work()
    batches = batcher(time, work)
    async with asyncio.TaskGroup() as group:
        results = [
            group.create_task(batches.add(key, item))
            for key, item in (("a", 1), ("b", 2), ("a", 3))
        ]
        await time.advance(timedelta(seconds=1))
    assert [one.result() for one in results] == [2, 4, 6]
    assert sorted(work.batches) == [("a", (1, 3)), ("b", (2,))]


async def test_a_batch_waits_until_nothing_came_for_a_while() -> None:
    """35 ms after the last item."""
    time, work = VirtualTime(), Work()
    batches = batcher(time, work)
    async with asyncio.TaskGroup() as group:
        group.create_task(batches.add("a", 1))
        await time.advance(timedelta(milliseconds=30))
        group.create_task(batches.add("a", 2))
        await time.advance(timedelta(milliseconds=30))
        assert work.batches == []
        await time.advance(timedelta(milliseconds=40))
    assert work.batches == [("a", (1, 2))]


async def test_a_batch_is_closed_after_a_second_however_many_come() -> None:
    """Nobody waits longer."""
    time, work = VirtualTime(), Work()
    batches = Batcher[str, int, int](
        work, window=BatchWindow(idle_seconds=0.3, max_seconds=1.0, max_items=99), timer=time
    )
    async with asyncio.TaskGroup() as group:
        for number in range(1, 8):
            group.create_task(batches.add("a", number))
            await time.advance(timedelta(milliseconds=250))
        await time.advance(timedelta(seconds=1))
    assert [items for _, items in work.batches] == [(1, 2, 3, 4, 5), (6, 7)]


async def test_a_full_batch_takes_no_more() -> None:
    """The next item opens another one."""
    time, work = VirtualTime(), Work()
    batches = batcher(time, work)
    async with asyncio.TaskGroup() as group:
        for number in range(1, 5):
            group.create_task(batches.add("a", number))
        await time.advance(timedelta(seconds=1))
    assert sorted(items for _, items in work.batches) == [(1, 2, 3), (4,)]


async def test_an_item_that_fails_fails_alone() -> None:
    """The others have their results."""
    time, work = VirtualTime(), Work()
    batches = batcher(time, work)
    results = asyncio.gather(
        batches.add("a", 1), batches.add("a", -1), batches.add("a", 2), return_exceptions=True
    )
    await time.advance(timedelta(seconds=1))
    first, failed, last = await results
    assert (first, last) == (2, 4)
    assert isinstance(failed, InsufficientCapacityError)


async def test_a_batch_that_fails_fails_for_all() -> None:
    """Whoever opened it or joined it."""
    time, work = VirtualTime(), Work()
    batches = batcher(time, work)
    results = asyncio.gather(batches.add("a", 1), batches.add("a", 0), return_exceptions=True)
    await time.advance(timedelta(seconds=1))
    assert [str(one) for one in await results] == ["spoiled", "spoiled"]


async def test_others_are_told_when_the_one_who_works_for_them_is_cancelled() -> None:
    """They can ask again."""
    time, work = VirtualTime(), Work()
    batches = batcher(time, work)
    async with asyncio.TaskGroup() as group:
        opener = group.create_task(batches.add("a", 1))
        await time.advance()
        joined = asyncio.gather(batches.add("a", 2), return_exceptions=True)
        await time.advance()
        opener.cancel()
        (outcome,) = await joined
    assert isinstance(outcome, BrokenOffError)
    again = asyncio.gather(batches.add("a", 2))
    await time.advance(timedelta(seconds=1))
    assert list(await again) == [4]


async def test_one_call_at_a_time_is_made_for_a_key() -> None:
    """All who ask meanwhile get its result, or its error."""
    n_calls = 0
    flights: SingleFlight[str, int] = SingleFlight()

    async def work() -> int:
        nonlocal n_calls
        n_calls += 1
        await asyncio.sleep(0)
        if n_calls > 1:
            msg = "the second fails"
            raise CloudError(msg)
        return n_calls

    assert await asyncio.gather(*(flights.run("a", work) for _ in range(3))) == [1, 1, 1]
    outcomes = await asyncio.gather(
        *(flights.run("a", work) for _ in range(2)), return_exceptions=True
    )
    assert [str(one) for one in outcomes] == ["the second fails"] * 2
    with pytest.raises(CloudError):
        await flights.run("a", work)


async def test_a_batch_stays_open_while_more_is_on_its_way() -> None:
    """However slow it is; not longer than a second."""
    time, work = VirtualTime(), Work()
    is_coming = True
    batches: Batcher[str, int, int] = Batcher(
        work, window=WINDOW, timer=time, is_expecting=lambda: is_coming
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(batches.add("a", 1))
        await time.advance(timedelta(milliseconds=500))
        assert work.batches == []
        group.create_task(batches.add("a", 2))
        await time.advance(timedelta(milliseconds=100))
        assert work.batches == []
        is_coming = False
        await time.advance(timedelta(milliseconds=35))
        assert work.batches == [("a", (1, 2))]
        is_coming = True
        group.create_task(batches.add("a", 3))
        await time.advance(timedelta(seconds=2))
    assert work.batches == [("a", (1, 2)), ("a", (3,))]
