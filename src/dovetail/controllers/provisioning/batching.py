"""Says when a batch of changes is complete, and it is time to decide (spec/core.md 3.1).

The first change opens a window. It closes once no new pod has come for a moment, and after a while
in any case. Changes that bring no new pods open a window but do not prolong it; they can be made to
wait after a decision that took long and changed nothing.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

import msgspec

from dovetail.clock import Timer, happens_within

IDLE: Final = timedelta(seconds=1)
LONGEST: Final = timedelta(seconds=10)
_SHORTEST_NAP_SECONDS: Final = 0.1


class Window(msgspec.Struct, frozen=True, gc=False):
    """How long to wait for more."""

    idle: timedelta = IDLE
    longest: timedelta = LONGEST


class Batch:
    """Collects what happens between two decisions."""

    def __init__(self, window: Window, timer: Timer) -> None:
        self._window = window
        self._timer = timer
        self._is_open = asyncio.Event()
        self._opened_at = 0.0
        self._last_at = 0.0
        self._rests_until = 0.0
        self._has_news = False  # whether new pods have come

    def rest(self, seconds: float) -> None:
        """Let nothing but new pods close a window for so long, within what is longest."""
        self._rests_until = self._timer.elapsed_seconds() + seconds

    def add(self, *, prolongs: bool) -> None:
        """Something has happened."""
        now = self._timer.elapsed_seconds()
        self._has_news = self._has_news or prolongs
        if not self._is_open.is_set():
            self._opened_at = self._last_at = now
            self._is_open.set()
        elif prolongs:
            self._last_at = now

    async def complete(self, within_seconds: float | None) -> None:
        """Return when a window has closed, or when so much time has passed without any."""
        if not await happens_within(self._is_open, within_seconds, self._timer):
            return
        nap = max(self._window.idle.total_seconds(), _SHORTEST_NAP_SECONDS)
        while (left := self._left()) > 0:
            await self._timer.sleep(min(left, nap))  # news may come meanwhile
        self._is_open.clear()
        self._has_news = False

    def _left(self) -> float:
        quiet_at = self._last_at + self._window.idle.total_seconds()
        if not self._has_news:
            quiet_at = max(quiet_at, self._rests_until)
        closes_at = min(quiet_at, self._opened_at + self._window.longest.total_seconds())
        return closes_at - self._timer.elapsed_seconds()
