"""Each key by one worker at a time, and no key is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from dovetail.controllers.workqueue import QueueSettings, WorkQueue
from dovetail.model.backoff import Backoff
from dovetail.testing.virtual_time import VirtualTime

Handler = Callable[[str], Awaitable[float | None]]
SECOND = timedelta(seconds=1)


class Seen:
    """Which keys were seen to, when, and what went wrong."""

    def __init__(self, time: VirtualTime) -> None:
        self.time = time
        self.keys: list[str] = []
        self.moments: list[float] = []
        self.errors: list[Exception] = []

    def note(self, key: str) -> None:
        """This key is being seen to now."""
        self.keys.append(key)
        self.moments.append(self.time.elapsed_seconds())

    def failed(self, key: str, error: Exception) -> None:  # noqa: ARG002  the queue names it
        """This went wrong."""
        self.errors.append(error)


@asynccontextmanager
async def working(
    handle: Handler, seen: Seen, *, n_workers: int = 10
) -> AsyncIterator[WorkQueue[str]]:
    """A queue at work."""
    queue_settings = QueueSettings(seen.time, lambda: 1.0, Backoff(1.0, 8.0), n_workers)
    queue = WorkQueue(handle, failed=seen.failed, queue_settings=queue_settings)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(queue.run())
        yield queue
        task.cancel()


async def test_a_key_that_is_added_twice_is_seen_to_once() -> None:
    """It waits once."""
    time = VirtualTime()
    seen = Seen(time)

    async def handle(key: str) -> None:
        seen.note(key)

    async with working(handle, seen) as queue:
        queue.add("a")
        queue.add("a")
        await time.advance()
    assert seen.keys == ["a"]


async def test_a_key_is_never_in_two_hands_and_comes_again_if_added_meanwhile() -> None:
    """What happened meanwhile is not lost."""
    time = VirtualTime()
    seen = Seen(time)
    active: set[str] = set()

    async def handle(key: str) -> None:
        assert key not in active
        active.add(key)
        seen.note(key)
        await time.sleep(5)
        active.discard(key)

    async with working(handle, seen) as queue:
        queue.add("a")
        await time.advance(SECOND)
        queue.add("a")
        await time.advance(SECOND)
        assert seen.moments == [0.0]
        await time.advance(10 * SECOND)
    assert seen.moments == [0.0, 5.0]
    assert not seen.errors


async def test_a_handler_gets_its_key_again_when_it_asked_for_it() -> None:
    """And not once more after that."""
    time = VirtualTime()
    seen = Seen(time)

    async def handle(key: str) -> float | None:
        seen.note(key)
        return 30.0 if len(seen.keys) == 1 else None

    async with working(handle, seen) as queue:
        queue.add("a")
        await time.advance(100 * SECOND)
    assert seen.moments == [0.0, 30.0]


async def test_what_is_added_sooner_does_not_come_once_more_later() -> None:
    """The soonest moment counts."""
    time = VirtualTime()
    seen = Seen(time)

    async def handle(key: str) -> None:
        seen.note(key)

    async with working(handle, seen) as queue:
        queue.add_after("a", 20.0)
        queue.add_after("a", 10.0)
        queue.add_after("a", 15.0)
        await time.advance(12 * SECOND)
        queue.add_after("b", 20.0)
        queue.add("b")
        await time.advance(100 * SECOND)
    assert list(zip(seen.keys, seen.moments, strict=True)) == [("a", 10.0), ("b", 12.0)]


async def test_a_key_that_fails_comes_back_after_waits_that_double() -> None:
    """Until it works."""
    time = VirtualTime()
    seen = Seen(time)

    async def handle(key: str) -> None:
        seen.note(key)
        if len(seen.keys) < 4:
            raise OSError(key)

    async with working(handle, seen) as queue:
        queue.add("a")
        await time.advance(100 * SECOND)
    assert seen.moments == [0.0, 1.0, 3.0, 7.0]
    assert len(seen.errors) == 3


async def test_no_more_keys_are_in_hand_than_there_are_workers() -> None:
    """The others wait in order."""
    time = VirtualTime()
    seen = Seen(time)

    async def handle(key: str) -> None:
        seen.note(key)
        await time.sleep(10)

    async with working(handle, seen, n_workers=2) as queue:
        for key in "abcde":
            queue.add(key)
        await time.advance(SECOND)
        assert seen.keys == ["a", "b"]
        await time.advance(100 * SECOND)
    assert seen.moments == [0.0, 0.0, 10.0, 10.0, 20.0]


async def test_finishing_waits_for_what_was_begun_and_begins_nothing_new() -> None:
    """A shutdown tears nothing off in the middle."""
    time = VirtualTime()
    seen = Seen(time)
    ended: list[str] = []

    async def handle(key: str) -> None:
        seen.note(key)
        await time.sleep(10)
        ended.append(key)

    async with working(handle, seen, n_workers=1) as queue, asyncio.TaskGroup() as group:
        queue.add("a")
        queue.add("b")
        await time.advance(SECOND)
        finishing = group.create_task(queue.finish())
        await time.advance(SECOND)
        assert not finishing.done()
        await time.advance(100 * SECOND)
        assert finishing.done()
    assert (seen.keys, ended) == (["a"], ["a"])


async def test_a_queue_that_is_started_again_takes_up_what_was_cut_short() -> None:
    """What was under way, what had just been given to a worker, and what was still waiting."""
    time = VirtualTime()
    seen = Seen(time)
    lasting = asyncio.Event()

    async def handle(key: str) -> None:
        seen.note(key)
        await lasting.wait()

    queue_settings = QueueSettings(time, lambda: 1.0, Backoff(1.0, 8.0), 2)
    queue = WorkQueue(handle, failed=seen.failed, queue_settings=queue_settings)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(queue.run())
        queue.add("a")
        await time.advance()
        queue.add("b")
        queue.add("c")
        await asyncio.sleep(0)  # the queue has heard of them, and no worker has begun
        first.cancel()
        await time.advance()
        lasting.set()
        seen.keys.clear()
        second = group.create_task(queue.run())
        await time.advance()
        assert sorted(seen.keys) == ["a", "b", "c"]
        second.cancel()
