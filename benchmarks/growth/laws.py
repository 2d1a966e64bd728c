"""Which power law fits what was measured? value = factor * size ** exponent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.runs import exponent


class PowerLaw(NamedTuple):
    """A straight line where both axes are logarithmic."""

    factor: float
    exponent: float

    def at(self, size: float) -> float:
        """What it says for a size."""
        return self.factor * math.pow(size, self.exponent)


def fitted(values_by_size: Mapping[int, float]) -> PowerLaw | None:
    """The law of least squares in logarithms; None for fewer than two sizes."""
    if len(values_by_size) < 2:
        return None
    power = exponent(values_by_size)
    logs = [math.log(value) - power * math.log(size) for size, value in values_by_size.items()]
    return PowerLaw(math.exp(sum(logs) / len(logs)), power)
