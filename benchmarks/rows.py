"""What is measured, and how good must it be? One row for each promise of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

SECONDS: Final = "seconds"  # of CPU time where one decision is timed
CLOCK_SECONDS: Final = "seconds by the clock"
RATIO: Final = "price/bound"
PEAK_MB: Final = "peak MB"
MEAN: Final = "mean price/optimum"
WORST: Final = "worst price/optimum"
MEAN_RATIO: Final = "mean price/bound"
WORST_RATIO: Final = "worst price/bound"
LOOSEST: Final = "worst optimum/bound"
EXPONENT: Final = "growth exponent"
MS_A_MOVE: Final = "ms a move"
EVICTIONS: Final = "evictions/moved pod"
PRICE_SHARE: Final = "price/reference"
EVICTIONS_SHARE: Final = "evictions/reference"


class PlanRow(NamedTuple):
    """Plan a scenario of one size; figures named in `limits` must not exceed them. `seeds_before`
    is how many seeds are left out because planning was tuned on them.
    """

    name: str
    scenario: str
    n_pods: int
    limits: Mapping[str, float]
    seeds_before: int = 0


class TinyRow(NamedTuple):
    """Plan many tiny clusters and compare each with its exact optimum."""

    name: str
    n_clusters: int
    limits: Mapping[str, float]


class SmallRow(NamedTuple):
    """Plan many small clusters without constraints: `what` is uniform, small or mixed."""

    name: str
    what: str
    n_clusters: int
    limits: Mapping[str, float]


class GrowthRow(NamedTuple):
    """Plan one scenario at growing sizes; the exponent of time over pods is the figure."""

    name: str
    scenario: str
    sizes: tuple[int, ...]
    limits: Mapping[str, float]


class CommandRow(NamedTuple):
    """Run `dovetail plan` on a file of pods, from start to finish."""

    name: str
    scenario: str
    n_pods: int
    limits: Mapping[str, float]


class RestRow(NamedTuple):
    """Look at a cluster that the reference has packed: `what` is judge, decide or rest."""

    name: str
    what: str
    n_pods: int
    limits: Mapping[str, float]


class DayRow(NamedTuple):
    """Let a day pass, under Dovetail's policy and under the reference's."""

    name: str
    n_pods: int
    hours: float
    limits: Mapping[str, float]


Row = PlanRow | TinyRow | SmallRow | GrowthRow | CommandRow | RestRow | DayRow

# "Close to linear" has no figure of its own; a fifth above is where it stops being close.
_CLOSE_TO_LINEAR: Final = 1.2

_TUNED_ON: Final = 100  # seeds
_UNIFORM_LIMITS: Final = {WORST: 1.0, LOOSEST: 1 / 0.97}
_MIX_LIMITS: Final = {MEAN_RATIO: 1.02, WORST_RATIO: 1.05}

ROWS: Final[tuple[Row, ...]] = (
    PlanRow("fleet-5000", "fleet", 5_000, {SECONDS: 0.35, RATIO: 1.015}),
    PlanRow("fleet-20000", "fleet", 20_000, {SECONDS: 0.8, RATIO: 1.01}),
    PlanRow("fleet-100000", "fleet", 100_000, {SECONDS: 2.0, RATIO: 1.01, PEAK_MB: 600}),
    PlanRow("plain-1000", "plain", 1_000, {RATIO: 1.015}, _TUNED_ON),
    PlanRow("plain-5000", "plain", 5_000, {RATIO: 1.01}, _TUNED_ON),
    PlanRow("plain-20000", "plain", 20_000, {SECONDS: 0.15, RATIO: 1.01}),
    PlanRow("diverse-5000", "diverse", 5_000, {SECONDS: 0.5, RATIO: 1.15}),
    PlanRow("diverse-20000", "diverse", 20_000, {SECONDS: 1.5, RATIO: 1.15}),
    PlanRow("odd-20000", "odd", 20_000, {SECONDS: 2.0, RATIO: 1.03}),
    TinyRow("tiny", 100, {SECONDS: 0.1, MEAN: 1.003, WORST: 1.05}),
    SmallRow("uniform", "uniform", 40, _UNIFORM_LIMITS),
    SmallRow("small", "small", 24, {SECONDS: 0.1, **_MIX_LIMITS}),
    SmallRow("mixed-300", "mixed", 24, _MIX_LIMITS),
    GrowthRow(
        "growth",
        "fleet",
        (12_500, 25_000, 50_000, 100_000, 200_000),
        {EXPONENT: _CLOSE_TO_LINEAR},
    ),
    CommandRow("command-1000", "fleet", 1_000, {SECONDS: 2.0}),
    RestRow("judge-20000", "judge", 20_000, {MS_A_MOVE: 1.0}),
    RestRow("decide-20000", "decide", 20_000, {SECONDS: 5.0, PEAK_MB: 1_000}),
    RestRow("rest-20000", "rest", 20_000, {SECONDS: 1.0, RATIO: 1.10, EVICTIONS: 1.5}),
    DayRow("day-600", 600, 24.0, {PRICE_SHARE: 1.0, EVICTIONS_SHARE: 0.3}),
)


def selected(only: str | None, n_pods: int | None) -> tuple[Row, ...]:
    """The rows that a name means: one, or all of a scenario. A size of one's own has no limits."""
    rows = tuple(row for row in ROWS if only is None or only in {row.name, row.name.split("-")[0]})
    if n_pods is None:
        return rows
    scenarios = dict.fromkeys(row.scenario for row in rows if isinstance(row, PlanRow))
    return tuple(PlanRow(f"{name}-{n_pods}", name, n_pods, {}) for name in scenarios)
