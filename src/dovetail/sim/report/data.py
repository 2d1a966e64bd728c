"""What do scripts read of simulations? Plain values, by names that stay."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.present.plan import Json
from dovetail.sim.fast.figures import FigureRow, Report
from dovetail.sim.report.sides import FIGURES, Side, differences, labels
from dovetail.sim.scenario.case import Outcome
from dovetail.units import duration


def rehearsed_json(
    held: Sequence[Side], *, notes: Sequence[str], is_compared: bool
) -> dict[str, Json]:
    """Everything that came of it."""
    shown: dict[str, Json] = {
        "runs": [_side(one, label) for one, label in zip(held, labels(held), strict=True)]
    }
    if is_compared:
        first, second = held
        shown["differences"] = {
            one.figure.key: {
                "first": one.first,
                "second": one.second,
                "difference": one.change,
                "percent": one.percent,
            }
            for one in differences(first, second)
        }
    shown["notes"] = list(notes)
    return shown


def _side(side: Side, label: str) -> dict[str, Json]:
    one = side.first
    return {
        "label": label,
        "scenario": one.file,
        "title": one.title,
        "policy": str(one.decider),
        "settings": dict(one.settings),
        "start": one.starts_at.isoformat(),
        "lasts": duration.render(one.lasts_for),
        "seeds": [held.seed for held in side.outcomes],
        "figures": {figure.key: side.mean(figure) for figure in FIGURES},
        "evictionsByReason": dict(side.evictions()),
        "bySeed": [_seeded(held) for held in side.outcomes],
        "samples": [_sample(held) for held in one.report.samples],
    }


def _seeded(one: Outcome) -> dict[str, Json]:
    return {"seed": one.seed, **_figures(one.report)}


def _figures(report: Report) -> dict[str, Json]:
    return {
        **{figure.key: figure.value(report) for figure in FIGURES},
        "evictionsByReason": dict(report.evictions),
    }


def _sample(one: FigureRow) -> dict[str, Json]:
    return {
        "at": one.at.isoformat(),
        "nodes": one.n_nodes,
        "pods": one.n_pods,
        "pending": one.n_waiting,
        "pricePerHour": one.price_per_hour,
        "cpuUtilisation": one.cpu_utilisation,
        "evictions": one.n_evictions,
    }
