"""Draws the view of the nodes as lines of a given width.

Where the width does not suffice, columns give way one by one, in the order of `_GIVES_WAY`, and
bars before figures; no line is ever longer than it may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from rich.cells import cell_len
from rich.text import Text

from dovetail.cli.node_keys import ScreenSize, Viewing, within
from dovetail.present.board import NodeBox, NodeState, Totals
from dovetail.present.node_list import NodeList, age, arrange, percent
from dovetail.present.table import bar, plural

_GAP: Final = 2
SIGNS: Final = "█░…"  # else ASCII
_NAME: Final = 24  # so much of a name is shown if any column can give way instead
_LEAST_NAME: Final = 8
_AROUND: Final = 4  # lines of the screen that show no node: sums, a gap, headings, keys
_MIB_PER_GIB: Final = 1024
_BAR: Final = 10
_SHORTER_BARS: Final = {"short bars": 5, "no bars": 0}
_GIVES_WAY: Final = (
    "claim", "cpu of", "memory of", "zone", "capacity", "short bars", "pool", "no bars", "age",
    "type", "pods", "state", "memory", "cpu",
)  # fmt: skip
_FILLS: Final = ("cpu", "memory")
_RIGHT: Final = frozenset({"$/hour", "pods", "age", "cpu of", "memory of"})
_PLAIN: Final = ("name", "state", "pool", "type", "capacity", "zone", "$/hour", "cpu", "memory",
                 "pods", "age")  # fmt: skip
_WIDE: Final = (*_PLAIN, "cpu of", "memory of", "claim")
_STYLES: Final[Mapping[NodeState, str]] = {
    NodeState.COMING: "cyan",
    NodeState.STARTING: "cyan",
    NodeState.READY: "",
    NodeState.NOT_READY: "red",
    NodeState.CORDONED: "yellow",
    NodeState.LEAVING: "yellow",
}
_KEYS: Final = "n name  p price  c cpu  m memory  a age  o pool  / filter  q quit"


class Look(msgspec.Struct, frozen=True):
    """What there is to draw on. `width` 0 means as wide as it takes; plain is ASCII alone."""

    width: int = 0
    height: int = 0
    is_wide: bool = False
    is_plain: bool = False


class _Cell(msgspec.Struct, frozen=True):
    text: str
    style: str = ""


_Drawn = Callable[[NodeBox, datetime], str]
_CELLS: Final[Mapping[str, _Drawn]] = {
    "name": lambda box, _: box.name,
    "state": lambda box, _: box.state,
    "pool": lambda box, _: box.pool or "-",
    "type": lambda box, _: box.instance_type or "-",
    "capacity": lambda box, _: box.capacity_type or "-",
    "zone": lambda box, _: box.zone or "-",
    "$/hour": lambda box, _: f"{box.price_per_hour:,.4f}" if box.price_per_hour else "-",
    "pods": lambda box, _: f"{len(box.pods)}",
    "age": lambda box, now: age(box.created_at, now) or "-",
    "cpu of": lambda box, _: f"{box.cpu[0] / 1000:,.1f}/{box.cpu[1] / 1000:,.1f}",
    "memory of": lambda box, _: _gibibytes(box.memory),
    "claim": lambda box, _: box.claim or "-",
}


def _gibibytes(pair: tuple[int, int]) -> str:
    used, total = (item / _MIB_PER_GIB for item in pair)
    return f"{used:,.1f}/{total:,.1f}Gi"


def table(
    nodes: Sequence[NodeBox], now: datetime, look: Look, part: slice = slice(None)
) -> list[Text]:
    """Headings, and a line for each node, or each of a part. Columns are as wide as all nodes
    together need, so that they stay where they are when the part moves.
    """
    shown = {
        name: _fills(name, nodes, look, _BAR) if name in _FILLS else _cells(name, nodes, now)
        for name in (_WIDE if look.is_wide else _PLAIN)
    }
    columns = _column_widths(shown, nodes, look)
    headings = {name: _Cell(name.upper(), "bold") for name in columns}
    places = range(len(nodes))[part]
    cells = [{name: shown[name][at] for name in columns} for at in places]
    return [_cut_line(_line(item, columns), look) for item in (headings, *cells)]


def _cells(name: str, nodes: Sequence[NodeBox], now: datetime) -> list[_Cell]:
    draw = _CELLS[name]
    return [
        _Cell(_printable(draw(box, now)), _STYLES[box.state] if name == "state" else "")
        for box in nodes
    ]


def _fills(name: str, nodes: Sequence[NodeBox], look: Look, width: int) -> list[_Cell]:
    """How full the nodes are: a bar of this width, and the figure."""
    filled, empty = ("#", "-") if look.is_plain else ("█", "░")
    figures = [percent(box.cpu if name == "cpu" else box.memory) for box in nodes]
    drawn = [bar(figure, width=width, filled=filled, empty=empty) for figure in figures]
    return [_Cell(text if width else text.lstrip(" ").rjust(5)) for text in drawn]


def _printable(text: str) -> str:
    """What comes from a cluster, without anything that could steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _column_widths(
    shown: dict[str, list[_Cell]], nodes: Sequence[NodeBox], look: Look
) -> dict[str, int]:
    """The columns that there is room for, with their widths; bars that must give way are drawn
    anew in `shown`. Long names are cut before a column goes, but not to a stump.
    """
    widths = {name: _width(name, cells) for name, cells in shown.items()}
    if not look.width:
        return widths
    for name in _GIVES_WAY:
        spare = max(0, widths["name"] - _NAME)
        if _total(widths) - spare <= look.width:
            break
        if name in _SHORTER_BARS:
            for item in _FILLS:
                shown[item] = _fills(item, nodes, look, _SHORTER_BARS[name])
                widths[item] = _width(item, shown[item])
        else:
            widths.pop(name, None)
    over = _total(widths) - look.width
    if over > 0:
        widths["name"] = max(min(_LEAST_NAME, widths["name"]), widths["name"] - over)
    return widths


def _width(name: str, cells: Sequence[_Cell]) -> int:
    return max(len(name), *(cell_len(cell.text) for cell in cells)) if cells else len(name)


def _total(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + _GAP * (len(widths) - 1)


def _line(cells: Mapping[str, _Cell], widths: Mapping[str, int]) -> Text:
    line = Text(no_wrap=True)
    for at, (name, width) in enumerate(widths.items()):
        cell = cells[name]
        text = Text(cell.text, style=cell.style)
        text.truncate(width, overflow="ellipsis")
        missing = " " * (width - text.cell_len)
        is_right = name in _RIGHT
        line.append(" " * _GAP if at else "")
        line.append(missing if is_right else "").append_text(text)
        line.append("" if is_right else missing)
    line.rstrip()
    return line


def _cut_line(line: Text, look: Look) -> Text:
    if look.width:
        line.truncate(look.width, overflow="crop" if look.is_plain else "ellipsis")
    return line


def sums(totals: Totals, look: Look) -> Text:
    """The cluster in one line."""
    cpu, memory = 100 * totals.cpu_utilisation, 100 * totals.memory_utilisation
    parts = (
        f"{plural(totals.nodes, 'node')}, {plural(totals.pods, 'pod')}, {totals.waiting} pending",
        f"${totals.price_per_hour:,.4f} an hour",
        f"cpu {cpu:.0f} %, memory {memory:.0f} % requested",
    )
    return _cut_line(Text("; ".join(parts), style="bold"), look)


# ------------------------------------------------------------------ a whole screen


def room(listed: NodeList, viewing: Viewing, look: Look) -> ScreenSize:
    """How many nodes there are to see, and how many at once."""
    n_nodes = len(arrange(listed.nodes, viewing.wish))
    return ScreenSize(n_nodes, max(1, look.height - _AROUND))


def frame(listed: NodeList, viewing: Viewing, look: Look, trouble: str = "") -> list[Text]:
    """Everything that fills the screen: as many lines as it has, none too wide."""
    nodes = arrange(listed.nodes, viewing.wish)
    fits = ScreenSize(len(nodes), max(1, look.height - _AROUND))
    first = within(viewing, fits).first
    headings, *shown = table(nodes, listed.now, look, slice(first, first + fits.n_visible))
    blank = [Text()] * (fits.n_visible - len(shown))
    above = [sums(listed.totals, look), Text(), headings]
    below = _cut_line(Text(_status(viewing, fits, first, trouble), style="reverse"), look)
    return [*above, *shown, *blank, below][: look.height or None]


def _status(viewing: Viewing, fits: ScreenSize, first: int, trouble: str) -> str:
    return "  ".join(filter(None, _status_lines(viewing, fits, first, _printable(trouble))))


def _status_lines(viewing: Viewing, fits: ScreenSize, first: int, trouble: str) -> Iterator[str]:
    wish = viewing.wish
    if viewing.is_typing:
        yield f"filter: {_printable(wish.text)}_  (Enter keeps it, Esc drops it)"
        return
    last = min(fits.n_nodes, first + fits.n_visible)
    yield f"{min(first + 1, last)}-{last} of {fits.n_nodes}"
    yield trouble
    yield f"by {wish.sort}{', reversed' if wish.is_reversed else ''}"
    yield f"filter: {_printable(wish.text)}" if wish.text else ""
    yield f" {_KEYS}"
