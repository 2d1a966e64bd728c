"""How does growth look? An SVG that needs nothing else, in light and dark, and for the ear.

A column for each axis, time above, memory below. Both directions are logarithmic, so that a power
law is a straight line and its exponent the slope. The plots of a row share their scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from benchmarks.growth.axes import FITTED, GROWN_MB, Axis, Grown
from benchmarks.growth.laws import PowerLaw
from benchmarks.growth.scales import Scale, around, label
from benchmarks.rows import SECONDS

TITLE: Final = "How time and memory of one decision grow"
_WIDTH: Final = 350  # of a plot with its labels
_HEIGHT: Final = 300
_HEAD: Final = 40
_LEFT: Final = 52
_RIGHT: Final = 12
_ABOVE: Final = 48
_BELOW: Final = 42
_ROOM: Final = 0.06

_NAMES: Final = {SECONDS: "seconds", GROWN_MB: "MB above an idle process"}
_HEADINGS: Final = {SECONDS: "Seconds", GROWN_MB: "MB above idle"}

_STYLE: Final = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 17px; font-weight: 600; }
.heading { font-size: 13px; font-weight: 600; }
.quiet { fill: #59636e; font-size: 11px; }
.power { font-size: 10px; }
.ground { fill: #ffffff; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.frame { fill: none; stroke: #818b98; stroke-width: 1; }
.law { stroke: #bc4c00; stroke-width: 2; stroke-dasharray: 6 4; }
.point { fill: #0969da; stroke: #ffffff; stroke-width: 1; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .quiet { fill: #9198a1; }
  .ground { fill: #0d1117; }
  .grid { stroke: #2f3742; }
  .frame { stroke: #656c76; }
  .law { stroke: #f0883e; }
  .point { fill: #58a6ff; stroke: #0d1117; }
}
"""


class _Plot(NamedTuple):
    """One figure of one axis, and where it is drawn."""

    grown: Grown
    figure: str
    x: Scale
    y: Scale


def drawn(series: Sequence[Grown], note: str = "") -> str:
    """The whole picture; `note` says on what and when it was measured."""
    width, height = _WIDTH * len(series), _HEAD + _HEIGHT * len(FITTED)
    plots = [plot for row, figure in enumerate(FITTED) for plot in _row(series, figure, row)]
    spoken = 'role="img" aria-labelledby="title description"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {spoken}>',
        f'<title id="title">{escape(TITLE)}</title>',
        f'<desc id="description">{escape(described(series))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{width}" height="{height}"/>',
        _text(_LEFT, 24, TITLE, "title"),
        _text(width - _RIGHT, 24, note, "quiet", anchor="end"),
        *(part for plot in plots for part in _drawn(plot)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def described(series: Sequence[Grown]) -> str:
    """The same in words."""
    return " ".join(_sentence(one, figure) for one in series for figure in FITTED)


def _sentence(one: Grown, figure: str) -> str:
    values = sorted(one.values(figure).items())
    (least, first), (most, last) = values[0], values[-1]
    law = one.law(figure)
    grows = f", growing as the power {law.exponent:.2f}" if law else ""
    return (
        f"From {least:,} to {most:,} {one.axis.name} ({one.axis.beside}): "
        f"{first:.3g} to {last:.3g} {_NAMES[figure]}{grows}."
    )


def _row(series: Sequence[Grown], figure: str, row: int) -> Iterator[_Plot]:
    values = [value for one in series for value in _heights(one, figure)]
    top = _HEAD + row * _HEIGHT + _ABOVE
    y = Scale(*around(values, _ROOM), start=top + _HEIGHT - _ABOVE - _BELOW, end=top)
    for column, one in enumerate(series):
        left = column * _WIDTH + _LEFT
        wide = _WIDTH - _LEFT - _RIGHT
        x = Scale(*around(one.values(figure), _ROOM), start=left, end=left + wide)
        yield _Plot(one, figure, x, y)


def _heights(one: Grown, figure: str) -> Iterator[float]:
    """Everything that must be within the frame: points, and both ends of the line."""
    values = one.values(figure)
    yield from values.values()
    law = one.law(figure)
    if law is not None:
        yield from (law.at(size) for size in (min(values), max(values)))


def _drawn(plot: _Plot) -> Iterator[str]:
    x, y = plot.x, plot.y
    yield "<g>"
    yield _text(
        x.start, y.end - 28, f"{_HEADINGS[plot.figure]} by {plot.grown.axis.grows}", "heading"
    )
    for mark in x.marks():
        yield _line((x.at(mark), y.start), (x.at(mark), y.end), "grid")
        yield _text(x.at(mark), y.start + 15, label(mark), "quiet", anchor="middle")
    for mark in y.marks():
        yield _line((x.start, y.at(mark)), (x.end, y.at(mark)), "grid")
        yield _text(x.start - 6, y.at(mark) + 4, label(mark), "quiet", anchor="end")
    yield (
        f'<rect class="frame" x="{x.start:.1f}" y="{y.end:.1f}" '
        f'width="{x.end - x.start:.1f}" height="{y.start - y.end:.1f}"/>'
    )
    yield _text(x.start, y.start + 31, plot.grown.axis.beside, "quiet")
    law = plot.grown.law(plot.figure)
    if law is not None:
        yield from _lawful(plot, law)
    for size, value in sorted(plot.grown.values(plot.figure).items()):
        told = escape(f"{size:,} {plot.grown.axis.name}: {value:.3g} {_NAMES[plot.figure]}")
        at = f'cx="{x.at(size):.1f}" cy="{y.at(value):.1f}"'
        yield f'<circle class="point" {at} r="4.5"><title>{told}</title></circle>'
    yield "</g>"


def _lawful(plot: _Plot, law: PowerLaw) -> Iterator[str]:
    """The fitted line, and the legend that says its exponent."""
    x, y = plot.x, plot.y
    sizes = sorted(plot.grown.values(plot.figure))
    least, most = sizes[0], sizes[-1]
    first, last = ((x.at(size), y.at(law.at(size))) for size in (least, most))
    yield _line(first, last, "law")
    yield _line((x.start, y.end - 12), (x.start + 24, y.end - 12), "law")
    late = plot.grown.late_law(plot.figure)
    more = f", upper half {_power(plot.grown.axis, late)}" if late else ""
    said = f"as {_power(plot.grown.axis, law)}{more}"
    yield f'<text x="{x.start + 30:.1f}" y="{y.end - 8:.1f}">{said}</text>'


def _power(axis: Axis, law: PowerLaw) -> str:
    raised = f'<tspan class="power" dy="-4">{law.exponent:.2f}</tspan>'
    return f'{escape(axis.name)}{raised}<tspan dy="4">\u200b</tspan>'


def _text(x: float, y: float, text: str, kind: str, *, anchor: str = "start") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    (x1, y1), (x2, y2) = start, end
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{kind}" {ends}/>'
