"""Provides a clock and timer for tests that move when told to."""

from __future__ import annotations

import asyncio
import heapq
import selectors
from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:  # a name that only type checkers know
    from _typeshed import FileDescriptorLike

_T = TypeVar("_T")


class _Selector(selectors.BaseSelector):
    """Waits for the outside, unless somebody waits for nothing else to be left to do."""

    def __init__(self) -> None:
        self._within = selectors.DefaultSelector()
        self.resting: list[asyncio.Future[None]] = []

    def register(
        self, fileobj: FileDescriptorLike, events: int, data: object = None
    ) -> selectors.SelectorKey:
        """As any selector."""
        return self._within.register(fileobj, events, data)

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        """As any selector."""
        return self._within.unregister(fileobj)

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        """As any selector."""
        return self._within.get_map()

    def close(self) -> None:
        """As any selector."""
        self._within.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What has come from the outside; a loop with nothing to do asks with time to spare."""
        is_idle = timeout is None or timeout > 0
        if not is_idle or not self.resting:
            return self._within.select(timeout)
        resting, self.resting = self.resting, []
        for item in resting:
            if not item.done():
                item.set_result(None)
        return []


class IdleLoop(asyncio.SelectorEventLoop):
    """An event loop that one can wait in until all others wait."""

    def __init__(self) -> None:
        self._told = _Selector()
        super().__init__(self._told)

    async def idle(self) -> None:
        """Return when nobody has anything to do but wait; whoever waits for the outside, waits."""
        resting = self.create_future()
        self._told.resting.append(resting)
        await resting


def run(main: Coroutine[None, None, _T]) -> _T:
    """Like asyncio.run, in such a loop."""
    with asyncio.Runner(loop_factory=IdleLoop) as runner:
        return runner.run(main)


START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TURNS: Final = 100  # of the event loop, in which whoever was woken does what there is to do


class VirtualTime:
    """A clock and a timer. Sleepers wake in the order of their time, then of their falling asleep.

    Others get the event loop to themselves for a hundred turns after each waking; that suffices
    wherever nobody waits for the outside. In an `IdleLoop` they get as many turns as they need.
    """

    def __init__(self, start: datetime = START) -> None:
        self._start = self._now = start  # by the timer
        self._set_by = timedelta(0)
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._n_sleepers = 0

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return self._now + self._set_by

    def set_clock(self, by: timedelta) -> None:
        """Set the clock ahead or back. The timer does not notice."""
        self._set_by += by

    def elapsed_seconds(self) -> float:
        """Seconds since the start."""
        return (self._now - self._start).total_seconds()

    async def sleep(self, seconds: float) -> None:
        """Return when that much time has passed; a moment that is too short to tell is a tick."""
        waking = asyncio.get_running_loop().create_future()
        span = timedelta(seconds=max(seconds, 0))
        wakes_at = self._now + (timedelta.resolution if seconds > 0 and not span else span)
        self._n_sleepers += 1
        heapq.heappush(self._sleepers, (wakes_at, self._n_sleepers, waking))
        await waking

    async def advance(self, span: timedelta = timedelta(0)) -> None:
        """Let so much time pass; with nothing given, only let others do what they can now."""
        until = self._now + span
        await self._run_ready()
        while self._sleepers and self._sleepers[0][0] <= until:
            wakes_at, _, waking = heapq.heappop(self._sleepers)
            if waking.done():  # whoever slept was woken otherwise
                continue
            self._now = max(self._now, wakes_at)
            waking.set_result(None)
            await self._run_ready()
        self._now = until

    async def _run_ready(self) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, IdleLoop):
            await loop.idle()
            return
        for _ in range(_TURNS):
            await asyncio.sleep(0)
