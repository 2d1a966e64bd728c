"""Makes the data of simulations that scripts read, by names that stay, and rows for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import msgspec

from dovetail.present.plan import Json
from dovetail.sim.fast.figures import FigureRow, Report
from dovetail.sim.report.sides import FIGURES, Difference, Figure, Side, differences, labels
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
        "seeds": [outcome.seed for outcome in side.outcomes],
        "figures": {figure.key: side.mean(figure) for figure in FIGURES},
        "evictionsByReason": dict(side.evictions()),
        "bySeed": [{"seed": outcome.seed, **_figures(outcome.report)} for outcome in side.outcomes],
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


class Grid(msgspec.Struct, frozen=True):
    """A table: its title, its columns, and its rows; all columns but the first are figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grids(sides: Sequence[Side], *, is_compared: bool) -> Iterator[Grid]:
    """Everything worth reading, in order."""
    yield compare(sides[0], sides[1]) if is_compared else figures(sides)
    reasons = evictions(sides)
    if reasons.rows:
        yield reasons


def figures(sides: Sequence[Side]) -> Grid:
    """A row for each figure, a column for each side; with several seeds also the extremes."""
    rows = [(figure.title, *(_spread(side, figure) for side in sides)) for figure in FIGURES]
    return Grid(heading(sides), ("figure", *labels(sides)), tuple(rows))


def compare(first: Side, second: Side) -> Grid:
    """Two sides, and how the second differs from the first."""
    rows = tuple(_difference(item, first, second) for item in differences(first, second))
    columns = ("figure", *labels((first, second)), "difference", "percent")
    return Grid(heading((first, second)), columns, rows)


def evictions(sides: Sequence[Side]) -> Grid:
    """How many pods were evicted for which reason."""
    by_side = [side.evictions() for side in sides]
    reasons = sorted({reason for item in by_side for reason in item})
    rows = tuple((reason, *(f"{row.get(reason, 0):,.6g}" for row in by_side)) for reason in reasons)
    return Grid("Evictions by reason", ("reason", *labels(sides)), rows)


def heading(sides: Sequence[Side]) -> str:
    """What was simulated, for how long, how often."""
    titles = " / ".join(dict.fromkeys(side.first.title for side in sides))
    outcome = sides[0].first
    seeds = [each.seed for each in sides[0].outcomes]
    many = f"{len(seeds)} seeds, means" if len(seeds) > 1 else f"seed {seeds[0]}"
    return f"{titles}: {_span(outcome.lasts_for)}, {many}"


def _span(span: timedelta) -> str:
    """As people write it: without the seconds and minutes that are none."""
    text = duration.render(span)
    for nothing in ("m0s", "h0m"):
        if text.endswith(nothing):
            text = text[:-2]
    return text


def _difference(difference: Difference, first: Side, second: Side) -> tuple[str, ...]:
    figure = difference.figure
    percent = "" if difference.percent is None else f"{difference.percent:+.1f} %"
    values = (_spread(first, figure), _spread(second, figure))
    return (figure.title, *values, figure.shown_change(difference.change), percent)


def _spread(side: Side, figure: Figure) -> str:
    mean = figure.to_text(side.mean(figure))
    if len(side.outcomes) == 1:
        return mean
    return f"{mean} ({figure.to_text(side.least(figure))} to {figure.to_text(side.most(figure))})"
