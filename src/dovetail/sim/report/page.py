"""Renders simulations as one HTML page without scripts or other files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from html import escape
from importlib.resources import files
from typing import Final

import msgspec

from dovetail.sim.fast.figures import FigureRow
from dovetail.sim.report.plots import Line, Plot, described, svg
from dovetail.sim.report.sides import Side, labels
from dovetail.sim.report.text import Grid, grids, heading

_HOUR: Final = timedelta(hours=1)
_MOST_LINES: Final = 6
_MOST_ROWS: Final = 49

_NOTHING_FROM_ELSEWHERE: Final = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)

_STYLE: Final = files("dovetail.sim.report") / "page.css"

_PLOTS: Final[tuple[tuple[str, str, Callable[[FigureRow], float], Callable[[float], str]], ...]] = (
    (
        "price",
        "Price of all nodes, $ an hour",
        lambda one: one.price_per_hour,
        lambda v: f"${v:,.4g}",
    ),
    ("nodes", "Nodes", lambda one: float(one.n_nodes), lambda v: f"{v:,.6g}"),
    ("pods", "Pods", lambda one: float(one.n_pods), lambda v: f"{v:,.6g}"),
    ("pending", "Pending pods", lambda one: float(one.n_waiting), lambda v: f"{v:,.6g}"),
    ("cpu", "CPU utilisation", lambda one: one.cpu_utilisation, lambda v: f"{v:.0%}"),
    ("evictions", "Evictions so far", lambda one: float(one.n_evictions), lambda v: f"{v:,.6g}"),
)


def page(sides: Sequence[Side], *, notes: Sequence[str], is_compared: bool) -> str:
    """The whole page."""
    shown, names = sides[:_MOST_LINES], labels(sides)[:_MOST_LINES]
    title, style = heading(sides), _STYLE.read_text(encoding="utf-8")
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        _NOTHING_FROM_ELSEWHERE,
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>",
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="note">Note: {escape(note)}</p>' for note in notes),
        *_tables(sides, is_compared=is_compared),
        "<h2>Over time</h2>",
        _legend(names),
        *(
            f"<figure><figcaption>{escape(plot.title)}</figcaption>\n{svg(plot)}\n"
            f"<details><summary>{escape(plot.title)} as a table</summary>"
            f"<p>{escape(described(plot))}</p>{_table(_sample_rows(plot))}</details></figure>"
            for plot in plots(shown, names)
        ),
        "</main>\n</body>\n</html>\n",
    ]
    if len(sides) > _MOST_LINES:
        parts.insert(-1, f'<p class="note">Only the first {_MOST_LINES} runs are drawn.</p>')
    return "\n".join(parts)


def _tables(sides: Sequence[Side], *, is_compared: bool) -> Iterator[str]:
    first, *others = grids(sides, is_compared=is_compared)
    yield _table(msgspec.structs.replace(first, title="Results"))
    yield from (_table(grid) for grid in others)


def plots(sides: Sequence[Side], names: Sequence[str]) -> Iterator[Plot]:
    """What is drawn: of each side its first seed."""
    for name, title, value, shown in _PLOTS:
        lines = tuple(
            Line(label, tuple(_points(side, value)))
            for side, label in zip(sides, names, strict=True)
        )
        yield Plot(name, title, lines, shown)


def _points(side: Side, value: Callable[[FigureRow], float]) -> Iterator[tuple[float, float]]:
    outcome = side.first
    for sample in outcome.report.samples:
        yield (sample.at - outcome.starts_at) / _HOUR, value(sample)


def _legend(names: Sequence[str]) -> str:
    items = "".join(
        f'<li><svg viewBox="0 0 40 10" aria-hidden="true"><line class="key s{at}" x1="0" x2="40" '
        f'y1="5" y2="5"/></svg>{escape(name)}</li>'
        for at, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'


def _sample_rows(plot: Plot) -> Grid:
    """The lines as rows, few enough to be read."""
    hours = [x for x, _ in plot.lines[0].points]
    every = max(1, -(-len(hours) // _MOST_ROWS))
    values = [dict(line.points) for line in plot.lines]
    rows = tuple(
        (
            f"{hour:.4g} h",
            *(plot.shown(value[hour]) if hour in value else "" for value in values),
        )
        for hour in hours[::every]
    )
    return Grid(plot.title, ("time", *(line.label for line in plot.lines)), rows)


def _table(grid: Grid) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in grid.columns)
    body = "\n".join(f"<tr>{_cells(row)}</tr>" for row in grid.rows)
    return (
        f'<div class="scroll"><table><caption>{escape(grid.title)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _cells(row: Sequence[str]) -> str:
    first, *others = row
    cells = "".join(f"<td>{escape(item)}</td>" for item in others)
    return f'<th scope="row">{escape(first)}</th>{cells}'
