"""Renders simulations as one HTML page without scripts or other files.

Figures over time are lines in one SVG, which can be told apart without colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from html import escape
from importlib.resources import files
from typing import Final

import msgspec

from dovetail.sim.fast.figures import FigureRow
from dovetail.sim.report.data import Grid, grids, heading
from dovetail.sim.report.sides import Side, labels

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
        lambda row: row.price_per_hour,
        lambda v: f"${v:,.4g}",
    ),
    ("nodes", "Nodes", lambda row: float(row.n_nodes), lambda v: f"{v:,.6g}"),
    ("pods", "Pods", lambda row: float(row.n_pods), lambda v: f"{v:,.6g}"),
    ("pending", "Pending pods", lambda row: float(row.n_waiting), lambda v: f"{v:,.6g}"),
    ("cpu", "CPU utilisation", lambda row: row.cpu_utilisation, lambda v: f"{v:.0%}"),
    ("evictions", "Evictions so far", lambda row: float(row.n_evictions), lambda v: f"{v:,.6g}"),
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
            f"<p>{escape(describe(plot))}</p>{_table(_sample_rows(plot))}</details></figure>"
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
        (f"{hour:.4g} h", *(plot.shown(value[hour]) if hour in value else "" for value in values))
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


Point = tuple[float, float]  # hours since the start, value

_WIDTH: Final = 760
_HEIGHT: Final = 220
_LEFT: Final = 64
_RIGHT: Final = 20
_TOP: Final = 12
_BOTTOM: Final = 28
_MOST_POINTS: Final = 600
_N_TICKS: Final = 5
_HOUR_STEPS: Final = (1, 2, 3, 6, 12, 24, 48, 168, 336, 720)
_N_STYLES: Final = 6


class Line(msgspec.Struct, frozen=True):
    """One line: whose it is, and where it goes."""

    label: str
    points: tuple[Point, ...]


class Plot(msgspec.Struct, frozen=True):
    """Lines over the same time. `shown` writes a value of the vertical axis."""

    name: str
    title: str
    lines: tuple[Line, ...]
    shown: Callable[[float], str]


def svg(plot: Plot) -> str:
    """The plot. Everything in it that came from outside is escaped."""
    longest = max((x for line in plot.lines for x, _ in line.points), default=1.0) or 1.0
    highest = max((y for line in plot.lines for _, y in line.points), default=0.0)
    ticks = tick_values(highest)
    scale = _Scale(longest, ticks[-1])
    parts = [
        _svg_start(plot.name),
        f'<title id="{plot.name}-title">{escape(plot.title)}</title>',
        f'<desc id="{plot.name}-desc">{escape(describe(plot))}</desc>',
        *_grid(scale, ticks, plot.shown),
        *(_line_svg(line, scale, at) for at, line in enumerate(plot.lines)),
        "</svg>",
    ]
    return "\n".join(parts)


def _svg_start(name: str) -> str:
    said_by = f"{name}-title {name}-desc"
    size = f"0 0 {_WIDTH} {_HEIGHT}"
    return f'<svg class="plot" viewBox="{size}" role="img" aria-labelledby="{said_by}">'


def describe(plot: Plot) -> str:
    """The plot in a sentence for each line."""
    sentences = []
    for line in plot.lines:
        values = [value for _, value in line.points]
        if values:
            low, high, last = (plot.shown(item) for item in (min(values), max(values), values[-1]))
            sentences.append(f"{line.label}: between {low} and {high}, at the end {last}.")
    return " ".join(sentences)


def tick_values(highest: float) -> list[float]:
    """Round values from nothing to at least the highest."""
    if highest <= 0:
        return [0.0, 1.0]
    raw = highest / _N_TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(item * power for item in (1, 2, 2.5, 5, 10) if item * power >= raw * 0.999)
    return [step * at for at in range(math.ceil(highest / step - 1e-9) + 1)]


class _Scale(msgspec.Struct, frozen=True):
    longest: float
    highest: float

    def x(self, hours: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * hours / self.longest

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / self.highest


def _grid(scale: _Scale, ticks: Sequence[float], shown: Callable[[float], str]) -> Iterator[str]:
    for value in ticks:
        y = scale.y(value)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield (
            f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{escape(shown(value))}</text>"
        )
    step = next((item for item in _HOUR_STEPS if scale.longest / item <= 12), _HOUR_STEPS[-1])
    for number in range(int(scale.longest // step) + 1):
        hours = number * step
        yield (
            f'<text class="tick" x="{scale.x(hours):.1f}" y="{_HEIGHT - 8}" '
            f'text-anchor="middle">{hours} h</text>'
        )


def _line_svg(line: Line, scale: _Scale, at: int) -> str:
    points = " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in thin_out(line.points))
    return f'<polyline class="line s{at % _N_STYLES}" points="{points}"/>'


def thin_out(points: Sequence[Point]) -> Sequence[Point]:
    """Every so many of very many points, and the last."""
    every = -(-len(points) // _MOST_POINTS)
    return points if every <= 1 else (*points[::every], points[-1])
