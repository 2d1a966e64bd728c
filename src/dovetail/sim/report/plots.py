"""Plots figures over time as lines in one SVG, which can be told apart without colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Final

import msgspec

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
        _opening(plot.name),
        f'<title id="{plot.name}-title">{escape(plot.title)}</title>',
        f'<desc id="{plot.name}-desc">{escape(described(plot))}</desc>',
        *_grid(scale, ticks, plot.shown),
        *(_line_svg(line, scale, at) for at, line in enumerate(plot.lines)),
        "</svg>",
    ]
    return "\n".join(parts)


def _opening(name: str) -> str:
    said_by = f"{name}-title {name}-desc"
    size = f"0 0 {_WIDTH} {_HEIGHT}"
    return f'<svg class="plot" viewBox="{size}" role="img" aria-labelledby="{said_by}">'


def described(plot: Plot) -> str:
    """The plot in a sentence for each line."""
    said = []
    for line in plot.lines:
        values = [value for _, value in line.points]
        if values:
            low, high, last = (plot.shown(item) for item in (min(values), max(values), values[-1]))
            said.append(f"{line.label}: between {low} and {high}, at the end {last}.")
    return " ".join(said)


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
    points = " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in thinned(line.points))
    return f'<polyline class="line s{at % _N_STYLES}" points="{points}"/>'


def thinned(points: Sequence[Point]) -> Sequence[Point]:
    """Every so many of very many points, and the last."""
    every = -(-len(points) // _MOST_POINTS)
    return points if every <= 1 else (*points[::every], points[-1])
