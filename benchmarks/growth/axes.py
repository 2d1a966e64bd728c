"""Along which axes is growth measured, and at which sizes?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from benchmarks.growth.laws import PowerLaw, fitted
from benchmarks.results import Result
from benchmarks.rows import PEAK_MB, SECONDS
from benchmarks.runs import Trials, measured

IDLE_MB: Final = "idle MB"  # of a process that has loaded everything and made nothing
GROWN_MB: Final = "MB above idle"
FITTED: Final = (SECONDS, GROWN_MB)
_PROGRAM: Final = "benchmarks.growth.measure"


class Axis(NamedTuple):
    """What grows, what else the cluster is made of, and the sizes; `quick` are for a first look."""

    name: str
    grows: str
    beside: str
    sizes: tuple[int, ...]
    quick: tuple[int, ...]


AXES: Final = (
    Axis(
        "pods",
        "pods",
        "all pending, no nodes, 1,222 instance types",
        (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
        (1_000, 3_000, 10_000),
    ),
    Axis(
        "nodes",
        "nodes",
        "8 pods on each, 2,000 more pending, 1,222 instance types",
        (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000),
        (10, 60, 400),
    ),
    Axis(
        "types",
        "instance types",
        "5,000 pending pods, no nodes",
        (100, 200, 500, 1_000, 2_000, 5_000),
        (100, 300, 1_000),
    ),
)


class Grown(msgspec.Struct, frozen=True):
    """What was measured along an axis: the figures of each size, and what went wrong."""

    axis: Axis
    figures: Mapping[int, Mapping[str, float]]
    failures: tuple[str, ...] = ()

    def values(self, figure: str) -> dict[int, float]:
        """One figure by size, where it was measured."""
        return {size: held[figure] for size, held in self.figures.items() if figure in held}

    def law(self, figure: str) -> PowerLaw | None:
        """The power law that fits a figure; None if it was not measured at two sizes at least."""
        return fitted(self.values(figure))

    def late_law(self, figure: str) -> PowerLaw | None:
        """The same of the upper half of the sizes: where what is constant matters least."""
        values = self.values(figure)
        return fitted(dict(sorted(values.items())[len(values) // 2 :]))


def measured_at(axis: Axis, size: int, trials: Trials) -> Result:
    """One point, measured in a process of its own."""
    return measured((axis.name, str(size)), trials, program=_PROGRAM)


def grown(axis: Axis, results: Mapping[int, Result]) -> Grown:
    """All points of an axis together."""
    return Grown(
        axis,
        {size: result.figures for size, result in results.items()},
        tuple(_failures(axis, results)),
    )


def _failures(axis: Axis, results: Mapping[int, Result]) -> Iterator[str]:
    for size, result in results.items():
        yield from (f"{size:,} {axis.name}: {miss}" for miss in result.misses)


def mb_above_idle(figures: Mapping[str, float]) -> float:
    """The memory that the size accounts for, never nothing: a logarithm is taken of it."""
    return max(0.1, figures[PEAK_MB] - figures[IDLE_MB])
