"""How do simulations look at a terminal? Rows of cells; laying them out is for the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import msgspec

from dovetail.sim.report.sides import FIGURES, Difference, Figure, Side, differences, labels
from dovetail.units import duration


class Grid(msgspec.Struct, frozen=True):
    """A table: its title, its columns, and its rows; all columns but the first are figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grids(held: Sequence[Side], *, is_compared: bool) -> Iterator[Grid]:
    """Everything worth reading, in order."""
    yield compared(held[0], held[1]) if is_compared else figures(held)
    reasons = evictions(held)
    if reasons.rows:
        yield reasons


def figures(held: Sequence[Side]) -> Grid:
    """A row for each figure, a column for each side; with several seeds also the extremes."""
    rows = [(one.title, *(_spread(side, one) for side in held)) for one in FIGURES]
    return Grid(heading(held), ("figure", *labels(held)), tuple(rows))


def compared(first: Side, second: Side) -> Grid:
    """Two sides, and how the second differs from the first."""
    rows = tuple(_difference(one, first, second) for one in differences(first, second))
    columns = ("figure", *labels((first, second)), "difference", "percent")
    return Grid(heading((first, second)), columns, rows)


def evictions(held: Sequence[Side]) -> Grid:
    """How many pods were evicted for which reason."""
    by_side = [one.evictions() for one in held]
    reasons = sorted({reason for one in by_side for reason in one})
    rows = tuple((reason, *(f"{one.get(reason, 0):,.6g}" for one in by_side)) for reason in reasons)
    return Grid("Evictions by reason", ("reason", *labels(held)), rows)


def heading(held: Sequence[Side]) -> str:
    """What was simulated, for how long, how often."""
    titles = " / ".join(dict.fromkeys(one.first.title for one in held))
    one = held[0].first
    seeds = [each.seed for each in held[0].outcomes]
    many = f"{len(seeds)} seeds, means" if len(seeds) > 1 else f"seed {seeds[0]}"
    return f"{titles}: {_span(one.lasts_for)}, {many}"


def _span(span: timedelta) -> str:
    """As people write it: without the seconds and minutes that are none."""
    text = duration.render(span)
    for nothing in ("m0s", "h0m"):
        if text.endswith(nothing):
            text = text[:-2]
    return text


def _difference(one: Difference, first: Side, second: Side) -> tuple[str, ...]:
    figure = one.figure
    percent = "" if one.percent is None else f"{one.percent:+.1f} %"
    values = (_spread(first, figure), _spread(second, figure))
    return (figure.title, *values, figure.shown_change(one.change), percent)


def _spread(side: Side, figure: Figure) -> str:
    mean = figure.shown(side.mean(figure))
    if len(side.outcomes) == 1:
        return mean
    return f"{mean} ({figure.shown(side.least(figure))} to {figure.shown(side.most(figure))})"
