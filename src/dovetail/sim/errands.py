"""What is there to do, and what failed and must be tried again? Errands, told apart by their key.

A key is worked on by one worker at a time. Added while it waits, it is done once; added while it
is worked on, it is done again afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import msgspec

from dovetail.clock import Timer
from dovetail.kube.backoff import Backoff, Chance
from dovetail.kube.errors import ApiError

KeyT = TypeVar("KeyT", bound=Hashable)


class Diligence(msgspec.Struct, frozen=True):
    """Time and chance for errands, how many are run at once, and how soon again after a failure."""

    timer: Timer
    chance: Chance
    n_at_once: int = 32
    backoff: Backoff = Backoff(0.1, 10.0)


class Errands(Generic[KeyT]):
    """Runs `do` for every key that is added, again later where the API refused."""

    def __init__(self, do: Callable[[KeyT], Awaitable[None]], diligence: Diligence) -> None:
        self._do = do
        self._diligence = diligence
        self._ready: asyncio.Queue[KeyT] = asyncio.Queue()
        self._later: asyncio.Queue[tuple[KeyT, float]] = asyncio.Queue()
        self._queued: set[KeyT] = set()
        self._busy: set[KeyT] = set()
        self._again: set[KeyT] = set()
        self._n_failed: dict[KeyT, int] = {}

    def add(self, key: KeyT, *, after_seconds: float = 0.0) -> None:
        """Have it done, now or after a while. Never waits."""
        if after_seconds > 0:
            self._later.put_nowait((key, after_seconds))
        elif key in self._busy:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.put_nowait(key)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._diligence.n_at_once):
                group.create_task(self._work())
            while True:
                key, seconds = await self._later.get()
                group.create_task(self._remind(key, seconds))

    async def _remind(self, key: KeyT, seconds: float) -> None:
        await self._diligence.timer.sleep(seconds)
        self.add(key)

    async def _work(self) -> None:
        while True:
            key = await self._ready.get()
            self._queued.discard(key)
            self._busy.add(key)
            try:
                await self._attempt(key)
            finally:
                self._busy.discard(key)
            if key in self._again:
                self._again.discard(key)
                self.add(key)

    async def _attempt(self, key: KeyT) -> None:
        try:
            await self._do(key)
        except ApiError:
            n_failed = self._n_failed[key] = self._n_failed.get(key, 0) + 1
            wait = self._diligence.backoff.seconds(n_failed, self._diligence.chance)
            self.add(key, after_seconds=wait)
        else:
            self._n_failed.pop(key, None)
