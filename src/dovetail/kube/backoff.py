"""How long to wait before trying again? Longer each time, and never all callers at once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

Chance = Callable[[], float]  # from 0 up to 1, as random.Random.random gives it


class Backoff(msgspec.Struct, frozen=True, gc=False):
    """Waits that double from `first_seconds` up to `longest_seconds`."""

    first_seconds: float = 0.25
    longest_seconds: float = 30.0

    def seconds(self, n_failed: int, chance: Chance) -> float:
        """The wait after so many failures in a row, between half of its span and all of it."""
        doublings = min(max(n_failed, 1) - 1, 30)
        span: float = min(self.longest_seconds, self.first_seconds * 2**doublings)
        return span * (0.5 + 0.5 * chance())
