"""Defines the bounds of every histogram, as the reference's dashboards expect them."""

from __future__ import annotations

from typing import Final

_MINUTE: Final = 60.0
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def doubling(first: float, n_bounds: int) -> tuple[float, ...]:
    """So many bounds, each twice the one before."""
    return tuple(first * 2**power for power in range(n_bounds))


_BELOW_A_SECOND: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
_SECONDS: Final = (
    0.6,
    0.7,
    0.8,
    0.9,
    1,
    1.25,
    1.5,
    1.75,
    2,
    2.5,
    3,
    3.5,
    4,
    4.5,
    5,
    6,
    7,
    8,
    9,
    10,
)
_MINUTES: Final = (15, 20, 25, 30, 40, 50, 60, 120, 150, 300, 450, 600)

DURATIONS: Final[tuple[float, ...]] = (*_BELOW_A_SECOND, *_SECONDS, *_MINUTES)
# What a Prometheus client takes when nothing is said, and what the reference did not say.
DEFAULT: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
REQUESTS: Final = tuple(0.001 * 1.5**power for power in range(20))
INSTANCE_TERMINATION: Final = doubling(1, 11)
CLAIM_TERMINATION: Final = doubling(1, 12)
CONDITIONS: Final = doubling(0.5, 15)
SCORES: Final = (0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10)
LIFETIMES: Final = (
    *(n * _MINUTE for n in (15, 30, 45)),
    *(n * _HOUR for n in (1, 2, 4, 6, 8, 10, 12, 16, 20)),
    *(n * _DAY for n in (1, 2, 3, 5, 10, 15, 20, 25, 30)),
)
