"""The time of the EC2 for tests: it stands still until a test moves it, or follows the real one."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Virtual time."""

    def __init__(self) -> None:
        self._offset = timedelta()
        self._is_real = False

    def now(self) -> datetime:
        """The current instant."""
        base = datetime.fromtimestamp(time.time(), UTC) if self._is_real else EPOCH
        return base + self._offset

    def advance(self, seconds: float) -> None:
        """Move on by a span."""
        self._offset += timedelta(seconds=seconds)

    def set(self, now: datetime) -> None:
        """Take over the time of whoever calls."""
        self._is_real, self._offset = False, now - EPOCH

    def follow_real_time(self) -> None:
        """From now on time passes by itself, beginning at the real instant."""
        self._is_real, self._offset = True, timedelta()
