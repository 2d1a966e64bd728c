"""Time and chance for tests: both do only what a test tells them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta


class VirtualTimer:
    """A timer whose sleepers wait for no one: each sleep takes the time with it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def elapsed_seconds(self) -> float:
        """How far time has come."""
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        """Time moves on at once; whoever else is ready runs first."""
        self.slept.append(seconds)
        ends_at = self.seconds + seconds
        await asyncio.sleep(0)
        self.seconds = max(self.seconds, ends_at)


class VirtualClock:
    """A clock that stands still until it is set."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = now

    def now(self) -> datetime:
        """What it was set to."""
        return self._now

    def advance(self, span: timedelta) -> None:
        """Let time pass."""
        self._now += span


def no_chance() -> float:
    """Always the least."""
    return 0.0
