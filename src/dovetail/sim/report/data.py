"""Makes the data of simulations that scripts read, by names that stay."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.present.plan import Json
from dovetail.sim.fast.figures import FigureRow, Report
from dovetail.sim.report.sides import FIGURES, Side, differences, labels
from dovetail.units import duration


def rehearsed_json(
    sides: Sequence[Side], *, notes: Sequence[str], is_compared: bool
) -> dict[str, Json]:
    """Everything that came of it."""
    shown: dict[str, Json] = {
        "runs": [_side(side, label) for side, label in zip(sides, labels(sides), strict=True)]
    }
    if is_compared:
        first, second = sides
        shown["differences"] = {
            difference.figure.key: {
                "first": difference.first,
                "second": difference.second,
                "difference": difference.change,
                "percent": difference.percent,
            }
            for difference in differences(first, second)
        }
    shown["notes"] = list(notes)
    return shown


def _side(side: Side, label: str) -> dict[str, Json]:
    outcome = side.first
    return {
        "label": label,
        "scenario": outcome.file,
        "title": outcome.title,
        "policy": str(outcome.decider),
        "settings": dict(outcome.settings),
        "start": outcome.starts_at.isoformat(),
        "lasts": duration.render(outcome.lasts_for),
        "seeds": [held.seed for held in side.outcomes],
        "figures": {figure.key: side.mean(figure) for figure in FIGURES},
        "evictionsByReason": dict(side.evictions()),
        "bySeed": [{"seed": held.seed, **_figures(held.report)} for held in side.outcomes],
        "samples": [_sample(sample) for sample in outcome.report.samples],
    }


def _figures(report: Report) -> dict[str, Json]:
    return {
        **{figure.key: figure.value(report) for figure in FIGURES},
        "evictionsByReason": dict(report.evictions),
    }


def _sample(figure_row: FigureRow) -> dict[str, Json]:
    return {
        "at": figure_row.at.isoformat(),
        "nodes": figure_row.n_nodes,
        "pods": figure_row.n_pods,
        "pending": figure_row.n_waiting,
        "pricePerHour": figure_row.price_per_hour,
        "cpuUtilisation": figure_row.cpu_utilisation,
        "evictions": figure_row.n_evictions,
    }
