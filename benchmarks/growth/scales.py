"""Where on a logarithmic axis does a value stand, and which values get a line and a label?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

_STEPS: Final = (1, 2, 5)
_SPARSE_FROM: Final = 2.5  # decades; from there on only powers of ten are marked


class Scale(NamedTuple):
    """Values from `low` to `high`, laid out from `start` to `end` (which may be the smaller)."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value stands."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def marks(self) -> tuple[float, ...]:
        """Round values within it: powers of ten, and twice and five times these if it is short."""
        is_sparse = math.log10(self.high / self.low) > _SPARSE_FROM
        steps = _STEPS[:1] if is_sparse else _STEPS
        return tuple(
            value
            for power in range(
                math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1
            )
            for step in steps
            if self.low <= (value := _round(step, power)) <= self.high
        )


def around(values: Iterable[float], room: float) -> tuple[float, float]:
    """The least and the greatest value, and beyond each as much again as this share of decades."""
    held = list(values)
    low, high = min(held), max(held)
    factor = max((high / low) ** room, 1.05)
    return low / factor, high * factor


def label(value: float) -> str:
    """A mark as people write it: 0.05, 2, 10,000."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _round(step: int, power: int) -> float:
    return step * 10.0**power if power >= 0 else step / 10.0**-power
