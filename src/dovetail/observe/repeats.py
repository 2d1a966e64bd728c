"""Was this said lately, or too much of it? A memory with a bound, and a bucket of tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dovetail.clock import Timer

_MOST: Final = 50_000

Key = tuple[str, ...]


class Repeats:
    """What was said, until when it need not be said again. Past its bound it forgets the oldest."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._until_by_key: dict[Key, datetime] = {}

    def __len__(self) -> int:
        return len(self._until_by_key)

    def is_recent(self, key: Key, now: datetime) -> bool:
        """Whether it was said lately."""
        until = self._until_by_key.get(key)
        return until is not None and now < until

    def note(self, key: Key, *, until: datetime, now: datetime) -> None:
        """It is said now."""
        self._until_by_key.pop(key, None)  # so that the order is that of saying
        if len(self._until_by_key) >= self._most:
            self._make_room(now)
        self._until_by_key[key] = until

    def _make_room(self, now: datetime) -> None:
        current = [(key, until) for key, until in self._until_by_key.items() if now < until]
        # A tenth at least goes, so that this is not done again for each one that follows.
        self._until_by_key = dict(current[-(self._most * 9 // 10) :])


class TokenBucket:
    """Lets so many pass each second, and as many as `burst` at once."""

    def __init__(self, timer: Timer, *, per_second: float, burst: int) -> None:
        self._timer = timer
        self._per_second = per_second
        self._burst = float(burst)
        self._n_tokens = float(burst)
        self._filled_at = 0.0

    def take(self) -> bool:
        """Whether one more may pass now."""
        seconds = self._timer.elapsed_seconds()
        gained = max(seconds - self._filled_at, 0.0) * self._per_second
        self._n_tokens = min(self._burst, self._n_tokens + gained)
        self._filled_at = seconds
        if self._n_tokens < 1:
            return False
        self._n_tokens -= 1
        return True
