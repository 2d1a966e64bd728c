"""Provides a queue of keys, each handled by one worker at a time.

A key that is added while it waits is not added twice; one that is added while it is handled comes
again afterwards. A handler says when it wants the key again; one that fails comes back after a wait
that doubles.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

import msgspec

from dovetail.clock import Timer, happens_within
from dovetail.model.backoff import Backoff, Chance
from dovetail.observe.logs import Log

KeyT = TypeVar("KeyT", bound=Hashable)

# Moments are told by a clock that may be set, waits are not: nobody sleeps longer than this.
LONGEST_WAIT_SECONDS: Final = 600.0
_SPARE: Final = 1000  # so many entries may stand in vain before the schedule is swept


def failure_log(log: Log, message: str, field: str) -> Callable[[object, Exception], None]:
    """Logs what a handler raised, with its key in this field."""
    return lambda key, error: log.error(message, **{field: key, "error": str(error)})


class QueueSettings(msgspec.Struct, frozen=True):
    """How a queue is worked off."""

    timer: Timer
    chance: Chance
    backoff: Backoff = Backoff(1.0, 60.0)
    n_workers: int = 100


class WorkQueue(Generic[KeyT]):
    """Keys that want to be seen to. `handle` returns after how many seconds it wants the key again,
    None for not until it is added; `failed` hears of what it raised.
    """

    def __init__(
        self,
        handle: Callable[[KeyT], Awaitable[float | None]],
        *,
        failed: Callable[[KeyT, Exception], None],
        queue_settings: QueueSettings,
    ) -> None:
        self._handle = handle
        self._failed = failed
        self._settings = queue_settings
        self._ready: dict[KeyT, None] = {}  # in order of arrival
        self._active: set[KeyT] = set()
        self._again: set[KeyT] = set()  # added while active
        self._due_by_key: dict[KeyT, float] = {}
        self._schedule: list[tuple[float, int, KeyT]] = []
        self._n_scheduled = 0
        self._n_failed: dict[KeyT, int] = {}
        self._has_ready = asyncio.Event()
        self._is_sooner = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._is_closing = False

    def __len__(self) -> int:
        """How many keys wait or are being seen to, not counting those of a later time."""
        return len(self._ready) + len(self._active)

    def add(self, key: KeyT) -> None:
        """See to this key as soon as a worker is free."""
        self._due_by_key.pop(key, None)
        if key in self._active:
            self._again.add(key)
            return
        self._ready[key] = None
        self._is_idle.clear()
        self._has_ready.set()

    def add_after(self, key: KeyT, seconds: float) -> None:
        """See to this key in a while, unless it is added sooner."""
        if key in self._ready or key in self._again:
            return
        due = self._settings.timer.elapsed_seconds() + min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)
        if self._due_by_key.get(key, due + 1.0) <= due:
            return
        self._due_by_key[key] = due
        self._n_scheduled += 1
        heapq.heappush(self._schedule, (due, self._n_scheduled, key))
        if self._schedule[0][2] == key:
            self._is_sooner.set()

    def forget(self, key: KeyT) -> None:
        """This key needs no more seeing to, until it is added again."""
        self._ready.pop(key, None)
        self._again.discard(key)
        self._due_by_key.pop(key, None)
        self._n_failed.pop(key, None)

    async def run(self) -> None:
        """Work until cancelled. Started again, it takes up what was cut short."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_time())
                while True:
                    await self._has_ready.wait()
                    self._start(group)
        finally:
            for key in tuple(self._active):  # given to workers that never began
                self._active.discard(key)
                self.add(key)
            self._is_idle.set()

    async def finish(self) -> None:
        """Begin nothing new and return when what was begun is done."""
        self._is_closing = True
        self._is_idle.clear()
        if not self._active:
            return
        await self._is_idle.wait()

    def _start(self, group: asyncio.TaskGroup) -> None:
        while self._ready and len(self._active) < self._settings.n_workers and not self._is_closing:
            key = next(iter(self._ready))
            del self._ready[key]
            self._active.add(key)
            group.create_task(self._see_to(key))
        self._has_ready.clear()

    async def _see_to(self, key: KeyT) -> None:
        again: float | None = None
        try:
            again = await self._handle(key)
            self._n_failed.pop(key, None)
        except Exception as error:  # noqa: BLE001  one key that fails must not stop the others
            n_failed = self._n_failed[key] = self._n_failed.get(key, 0) + 1
            again = self._settings.backoff.seconds(n_failed, self._settings.chance)
            self._failed(key, error)
        except BaseException:
            self._again.add(key)
            raise
        finally:
            self._active.discard(key)
            self._settle(key, again)

    def _settle(self, key: KeyT, again: float | None) -> None:
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        elif again is not None:
            self.add_after(key, again)
        if self._ready and not self._is_closing:
            self._has_ready.set()
        elif not self._active:
            self._is_idle.set()

    async def _keep_time(self) -> None:
        while True:
            self._is_sooner.clear()
            now = self._settings.timer.elapsed_seconds()
            while self._schedule and self._schedule[0][0] <= now:
                due, _, key = heapq.heappop(self._schedule)
                if self._due_by_key.get(key) == due:
                    self.add(key)
            self._sweep()
            wait = self._schedule[0][0] - now if self._schedule else None
            await happens_within(self._is_sooner, wait, self._settings.timer)

    def _sweep(self) -> None:
        """Drop entries whose key was seen to sooner, once they are many."""
        if len(self._schedule) > 2 * len(self._due_by_key) + _SPARE:
            kept = [entry for entry in self._schedule if self._due_by_key.get(entry[2]) == entry[0]]
            heapq.heapify(kept)
            self._schedule = kept
