"""Joins calls that come at the same time: equal ones into one, alike ones into a batch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

import msgspec

from dovetail.clock import Timer
from dovetail.cloud.errors import CloudError

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
R = TypeVar("R")


class BrokenOffError(CloudError):
    """Whoever made the call for several was cancelled; the others may make it again."""

    def __init__(self) -> None:
        super().__init__("the call was cancelled before it was answered")


class SingleFlight(Generic[K, R]):
    """Lets one call at a time be made for a key; who asks meanwhile gets its result."""

    def __init__(self) -> None:
        self._under_way: dict[K, asyncio.Future[R]] = {}

    async def run(self, key: K, work: Callable[[], Awaitable[R]]) -> R:
        """The result of the call that is under way, or of a new one."""
        waiting = self._under_way.get(key)
        if waiting is not None:
            return await asyncio.shield(waiting)
        place = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            result = await work()
        except BaseException as error:
            fail(place, error)
            raise
        finally:
            del self._under_way[key]
        settle(place, result)
        return result


def _is_idle() -> bool:
    return False


class BatchWindow(msgspec.Struct, frozen=True, gc=False):
    """How long a batch stays open: until nothing came for a while, or it is old or full."""

    idle_seconds: float
    max_seconds: float
    max_items: int


class _Batch(Generic[T, R]):
    """Items that came together, each with a place for its result."""

    def __init__(self) -> None:
        self.items: list[T] = []
        self.results: list[asyncio.Future[R]] = []

    def add(self, item: T) -> asyncio.Future[R]:
        self.items.append(item)
        self.results.append(asyncio.get_running_loop().create_future())
        return self.results[-1]


class Batcher(Generic[K, T, R]):
    """Collects items by key and works on each batch once; `work` gives one result for each item.

    Whoever opens a batch waits for it to fill and works for all. If that one is cancelled, the
    others get BrokenOffError. While `is_expecting` says that items are on their way, a batch stays
    open until it is old or full, however slow they are. `n_batches` counts.
    """

    def __init__(
        self,
        work: Callable[[K, Sequence[T]], Awaitable[Sequence[R | CloudError]]],
        *,
        window: BatchWindow,
        timer: Timer,
        is_expecting: Callable[[], bool] = _is_idle,
    ) -> None:
        self._work = work
        self._is_expecting = is_expecting
        self._window = window
        self._timer = timer
        self._open: dict[K, _Batch[T, R]] = {}
        self.n_batches = 0

    async def add(self, key: K, item: T) -> R:
        """The item's result. Raises what the work raised, or the item's own error."""
        batch = self._open.get(key)
        if batch is None:
            batch = self._open[key] = _Batch()
            place = batch.add(item)
            await self._work_on(key, batch)
            return place.result()
        place = batch.add(item)
        if len(batch.items) >= self._window.max_items:
            del self._open[key]
        return await asyncio.shield(place)

    async def _work_on(self, key: K, batch: _Batch[T, R]) -> None:
        try:
            await self._fill(key, batch)
            self.n_batches += 1
            for place, result in zip(
                batch.results, await self._work(key, tuple(batch.items)), strict=True
            ):
                if isinstance(result, CloudError):
                    fail(place, result)
                else:
                    settle(place, result)
        except BaseException as error:
            self._close(key, batch)
            for place in batch.results:
                fail(place, error)
            raise

    async def _fill(self, key: K, batch: _Batch[T, R]) -> None:
        opened_at = self._timer.elapsed_seconds()
        n_seen = 0
        while (
            self._open.get(key) is batch
            and (len(batch.items) > n_seen or self._is_expecting())
            and self._timer.elapsed_seconds() - opened_at < self._window.max_seconds
        ):
            n_seen = len(batch.items)
            await self._timer.sleep(self._window.idle_seconds)
        self._close(key, batch)

    def _close(self, key: K, batch: _Batch[T, R]) -> None:
        if self._open.get(key) is batch:
            del self._open[key]


def settle(place: asyncio.Future[R], result: R) -> None:
    """Give the result to whoever waits, if anybody does."""
    if not place.done():
        place.set_result(result)


def fail(place: asyncio.Future[R], error: BaseException) -> None:
    """Give the error to whoever waits; a cancellation is not theirs."""
    if place.done():
        return
    place.set_exception(error if isinstance(error, Exception) else BrokenOffError())
    place.exception()  # seen, also if nobody waits
