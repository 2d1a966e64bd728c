"""Groups outcomes that differ by seed only, and compares two groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from statistics import fmean
from typing import Final

import msgspec

from dovetail.sim.fast.figures import Report
from dovetail.sim.scenario.case import Decider, Outcome


class Unit(StrEnum):
    """What a figure is counted in."""

    DOLLARS = "$"
    COUNT = ""
    MINUTES = "min"
    SHARE = "%"


class Figure(msgspec.Struct, frozen=True):
    """One thing that is measured. `key` is its name as data."""

    key: str
    title: str
    unit: Unit
    value: Callable[[Report], float]

    def to_text(self, value: float) -> str:
        """The value for people."""
        match self.unit:
            case Unit.DOLLARS:
                return f"${value:,.2f}"
            case Unit.MINUTES:
                return f"{value:,.1f} min"
            case Unit.SHARE:
                return f"{100 * value:.1f} %"
            case Unit.COUNT:
                return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"

    def shown_change(self, change: float) -> str:
        """A difference for people, with its sign."""
        sign = "-" if change < 0 else "+"
        if self.unit is Unit.SHARE:
            return f"{sign}{abs(100 * change):.1f} points"
        return f"{sign}{self.to_text(abs(change))}"


FIGURES: Final = (
    Figure("cost", "cost", Unit.DOLLARS, lambda r: r.price),
    Figure("evictions", "evictions", Unit.COUNT, lambda report: float(report.n_evictions)),
    Figure(
        "pendingMinutesMedian", "pending, median", Unit.MINUTES, lambda item: item.waiting_median
    ),
    Figure("pendingMinutes99th", "pending, 99th", Unit.MINUTES, lambda report: report.waiting_99th),
    Figure(
        "pendingMinutesTotal", "pending, all pods", Unit.MINUTES, lambda item: item.waiting_total
    ),
    Figure(
        "podsUnbound", "pods pending at the end", Unit.COUNT, lambda report: float(report.n_unbound)
    ),
    Figure("cpuUtilisation", "cpu utilisation", Unit.SHARE, lambda report: report.cpu_utilisation),
    Figure(
        "memoryUtilisation", "memory utilisation", Unit.SHARE, lambda item: item.memory_utilisation
    ),
    Figure("nodesLaunched", "nodes launched", Unit.COUNT, lambda report: float(report.n_launched)),
    Figure("nodesRemoved", "nodes removed", Unit.COUNT, lambda report: float(report.n_removed)),
    Figure("launchesFailed", "launches failed", Unit.COUNT, lambda report: float(report.n_failed)),
    Figure(
        "interrupted", "instances interrupted", Unit.COUNT, lambda item: float(item.n_interrupted)
    ),
    Figure("podsBound", "pods bound", Unit.COUNT, lambda report: float(report.n_bound)),
    Figure("decisions", "decisions", Unit.COUNT, lambda report: float(report.n_decisions)),
)


class Side(msgspec.Struct, frozen=True):
    """Outcomes that differ in nothing but their seed."""

    outcomes: tuple[Outcome, ...]

    @property
    def first(self) -> Outcome:
        """The one that stands for all where only one can be shown."""
        return self.outcomes[0]

    @property
    def decider(self) -> Decider:
        """Who decides."""
        return self.first.decider

    @property
    def reports(self) -> tuple[Report, ...]:
        """The reports of all seeds."""
        return tuple(outcome.report for outcome in self.outcomes)

    def mean(self, figure: Figure) -> float:
        """The mean over all seeds."""
        return fmean(figure.value(report) for report in self.reports)

    def least(self, figure: Figure) -> float:
        """The smallest over all seeds."""
        return min(figure.value(report) for report in self.reports)

    def most(self, figure: Figure) -> float:
        """The largest over all seeds."""
        return max(figure.value(report) for report in self.reports)

    def evictions(self) -> dict[str, float]:
        """The mean over all seeds, by reason."""
        reasons = sorted({reason for report in self.reports for reason in report.evictions})
        return {
            reason: fmean(report.evictions.get(reason, 0) for report in self.reports)
            for reason in reasons
        }


def sides(outcomes: Iterable[Outcome]) -> tuple[Side, ...]:
    """Outcomes by what they have in common, in their order."""
    by_side: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[Outcome]] = {}
    for outcome in outcomes:
        by_side.setdefault((outcome.file, outcome.decider, outcome.settings), []).append(outcome)
    return tuple(Side(tuple(outcomes)) for outcomes in by_side.values())


def labels(sides: Sequence[Side]) -> tuple[str, ...]:
    """A name for each side: what tells it from the others, and its policy anyway."""
    has_files = len({side.first.file for side in sides}) > 1
    return tuple(_label(side.first, with_file=has_files) for side in sides)


def _label(outcome: Outcome, *, with_file: bool) -> str:
    parts = [outcome.file] if with_file else []
    parts += [f"{name}={value}" for name, value in outcome.settings]
    parts.append(str(outcome.decider))
    return ", ".join(parts)


class Difference(msgspec.Struct, frozen=True):
    """How the second side differs from the first in one figure."""

    figure: Figure
    first: float
    second: float

    @property
    def change(self) -> float:
        """The second less the first."""
        return self.second - self.first

    @property
    def percent(self) -> float | None:
        """The change in percent of the first, where that means something."""
        is_share = self.figure.unit is Unit.SHARE
        return None if is_share or not self.first else 100 * self.change / self.first


def differences(first: Side, second: Side) -> tuple[Difference, ...]:
    """All of them."""
    return tuple(Difference(figure, first.mean(figure), second.mean(figure)) for figure in FIGURES)
