"""Says how long to wait before trying again: longer after each failure, up to a limit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import msgspec

Chance = Callable[[], float]  # from 0 up to 1, as random.Random.random gives it
_MOST_DOUBLINGS: Final = 30  # beyond any limit, and short of an overflow


class Backoff(msgspec.Struct, frozen=True, gc=False):
    """Waits that double from `first_seconds` up to `longest_seconds`."""

    first_seconds: float = 0.25
    longest_seconds: float = 30.0

    @property
    def first(self) -> timedelta:
        """The wait after the first failure."""
        return timedelta(seconds=self.first_seconds)

    @property
    def longest(self) -> timedelta:
        """The longest wait."""
        return timedelta(seconds=self.longest_seconds)

    def after(self, n_failures: int) -> timedelta:
        """The wait after so many failures in a row."""
        return timedelta(seconds=self._span_seconds(n_failures))

    def again_at(self, now: datetime, n_failures: int) -> datetime:
        """When to try again."""
        return now + self.after(n_failures)

    def seconds(self, n_failures: int, chance: Chance) -> float:
        """The wait with jitter, so that callers do not all come back at once: between half of its
        span and all of it.
        """
        return self._span_seconds(n_failures) * (0.5 + 0.5 * chance())

    def _span_seconds(self, n_failures: int) -> float:
        doublings = min(max(n_failures, 1) - 1, _MOST_DOUBLINGS)
        span: float = min(self.longest_seconds, self.first_seconds * 2**doublings)
        return span
