"""Lets time pass at a chosen speed, or not at all.

A clock and a timer in one, whose seconds are shorter than real ones. Everybody who sleeps is woken
in time, also if the tempo changes meanwhile.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

FASTEST = 2000.0


class Tempo:
    """Time that begins at `start` and passes at `rate` times the real speed."""

    def __init__(self, start: datetime, rate: float) -> None:
        self._start = start
        self._rate = rate
        self._passed = 0.0  # until the tempo changed last
        self._changed_at = asyncio.get_running_loop().time()
        self._sleepers: set[_Sleeper] = set()

    @property
    def rate(self) -> float:
        """How many of its seconds pass in a real one; 0 when it stands still."""
        return self._rate

    def change(self, rate: float) -> None:
        """Go on at another tempo."""
        self._passed = self.elapsed_seconds()
        self._changed_at = asyncio.get_running_loop().time()
        self._rate = min(max(rate, 0.0), FASTEST)
        for sleeper in self._sleepers:
            self._arm(sleeper)

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return self._start + timedelta(seconds=self.elapsed_seconds())

    def elapsed_seconds(self) -> float:
        """Seconds since the beginning."""
        since = asyncio.get_running_loop().time() - self._changed_at
        return self._passed + since * self._rate

    async def sleep(self, seconds: float) -> None:
        """Return when that much time has passed; others run meanwhile."""
        loop = asyncio.get_running_loop()
        sleeper = _Sleeper(self.elapsed_seconds() + seconds, loop.create_future())
        self._sleepers.add(sleeper)
        try:
            self._arm(sleeper)
            await sleeper.woken
        finally:
            self._sleepers.discard(sleeper)
            sleeper.disarm()

    def _arm(self, sleeper: _Sleeper) -> None:
        sleeper.disarm()
        left = max(sleeper.until - self.elapsed_seconds(), 0.0)
        if self._rate > 0:
            loop = asyncio.get_running_loop()
            sleeper.alarm = loop.call_later(left / self._rate, sleeper.wake)


class _Sleeper:
    """Somebody who waits for a moment."""

    def __init__(self, until: float, woken: asyncio.Future[None]) -> None:
        self.until = until
        self.woken = woken
        self.alarm: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)

    def disarm(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None
