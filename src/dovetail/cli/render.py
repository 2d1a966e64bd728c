"""Renders a plan as tables for a terminal; nothing is shown by colour alone."""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dovetail.present.table import (
    DisruptionRow,
    ExistingRow,
    Fill,
    NodeRow,
    PlanTable,
    StayingRow,
    WaitingRow,
    bar,
    instance_text,
    plural,
    price,
)
from dovetail.units import quantity

_PIPE_WIDTH: Final = 160  # nobody is looking: do not squeeze
_NARROW: Final = 110  # below this, bars give way to plain percentages
_SIGNS: Final = "█░─"
_TINY: Final = 70  # below this, columns give way to lines


def plan_text(table: PlanTable, *, is_wide: bool, notes: Sequence[str] = ()) -> str:
    """The whole plan as text for stdout, coloured only when stdout is a terminal."""
    paper = console(drawn_width() or _PIPE_WIDTH)
    _print_nodes(paper, table.nodes, is_wide=is_wide)
    for part in (
        _existing_table(table.existing),
        _disruptions(table.disruptions, is_wide=is_wide),
        _staying_table(table.staying, is_wide=is_wide),
    ):
        if part is not None:
            paper.print(part)
            paper.print()
    _print_waiting(paper, table.waiting, is_wide=is_wide)
    for line in table.totals:
        _print_prose(paper, line, style="bold")
    for note in notes:
        _print_prose(paper, f"Note: {note}")
    return _text_of(paper)


def console(width: int) -> Console:
    """A console that writes into memory, coloured only when stdout is a terminal."""
    return Console(
        file=io.StringIO(),
        force_terminal=sys.stdout.isatty(),
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def drawn_width() -> int:
    """How wide stdout is; 0 where nobody is looking and nothing need be squeezed."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return 0


def is_plain(signs: str) -> bool:
    """Whether stdout cannot show these signs, and gets ASCII alone."""
    try:
        signs.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def _text_of(console: Console) -> str:
    original = console.file
    text = original.getvalue() if isinstance(original, io.StringIO) else ""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _print_prose(
    console: Console, text: str, *, style: str = "", indent: str = "", bullet: str = ""
) -> None:
    """Wrapped between words; what follows the first line is set under its text."""
    lines = textwrap.wrap(
        text,
        console.width,
        initial_indent=indent + bullet,
        subsequent_indent=indent + " " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=True)


def _table(title: str) -> Table:
    return Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.ASCII if is_plain(_SIGNS) else box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )


def _print_nodes(console: Console, rows: Sequence[NodeRow], *, is_wide: bool) -> None:
    if not rows:
        return
    if console.width >= _TINY:
        console.print(_nodes(rows, console, is_wide=is_wide))
    else:
        _print_node_lines(console, rows)
    console.print()


def _print_node_lines(console: Console, rows: Sequence[NodeRow]) -> None:
    console.print(Text("New nodes", style="bold"))
    for row in rows:
        _print_prose(console, f"{row.count} x {instance_text(row)}")
        fills = [
            f"{fill.resource} {fill.percent} %" for fill in (row.cpu, row.memory, *row.devices)
        ]
        facts = [row.node_pool, f"{price(row.price_nanousd)} an hour", *fills]
        _print_prose(console, ", ".join(facts), indent="  ")


def _nodes(rows: Sequence[NodeRow], console: Console, *, is_wide: bool) -> Table:
    table = _table("New nodes")
    table.add_column("nodes", overflow="fold")
    table.add_column("pool", overflow="fold")
    table.add_column("$/hour", justify="right", no_wrap=True)
    table.add_column("cpu", no_wrap=True)
    table.add_column("memory", no_wrap=True)
    has_devices = any(row.devices for row in rows)
    if has_devices:
        table.add_column("devices", overflow="fold")
    if is_wide:
        table.add_column("pods", justify="right")
        table.add_column("fallback types", justify="right")
    for row in rows:
        table.add_row(*_node_cells(row, console, has_devices=has_devices, is_wide=is_wide))
    return table


def _node_cells(row: NodeRow, console: Console, *, has_devices: bool, is_wide: bool) -> list[str]:
    cells = [
        f"{row.count} x {instance_text(row)}",
        row.node_pool,
        price(row.price_nanousd).removeprefix("$"),
        _fill_text(row.cpu, console),
        _fill_text(row.memory, console),
    ]
    if has_devices:
        cells.append(", ".join(_device(device) for device in row.devices))
    if is_wide:
        cells += [str(row.n_pods), str(row.n_fallbacks)]
    return cells


def _device(fill: Fill) -> str:
    used = quantity.render(fill.resource, fill.used)
    return f"{used}/{quantity.render(fill.resource, fill.held)} {fill.resource}"


def _fill_text(fill: Fill, console: Console) -> str:
    if console.width < _NARROW:
        return f"{fill.percent:3d} %"
    if is_plain(_SIGNS):
        return bar(fill.percent, filled="#", empty="-")
    return bar(fill.percent)


def _existing_table(rows: Sequence[ExistingRow]) -> Table | None:
    if not rows:
        return None
    table = _table("Pods that fit on existing nodes")
    table.add_column("node", overflow="fold")
    table.add_column("pods", justify="right")
    table.add_column("which", overflow="fold")
    for row in rows:
        table.add_row(row.node, str(row.n_pods), row.pods)
    return table


def _disruptions(rows: Sequence[DisruptionRow], *, is_wide: bool) -> Table | None:
    if not rows:
        return None
    table = _table("Nodes that can be removed")
    for name in ("reason", "nodes", "replaced by"):
        table.add_column(name, overflow="fold")
    table.add_column("pods moved", justify="right")
    table.add_column("saves $/hour", justify="right", no_wrap=True)
    if is_wide:
        table.add_column("where pods move", overflow="fold")
    for row in rows:
        saved = price(row.saving_nanousd).replace("$", "")
        cells = [row.reason, row.nodes, row.replacements or "nothing", str(row.n_pods), saved]
        table.add_row(*cells, *(["\n".join(row.moves) or "no pods"] if is_wide else []))
    return table


def _staying_table(rows: Sequence[StayingRow], *, is_wide: bool) -> Table | None:
    if not rows:
        return None
    table = _table("Nodes that stay" if is_wide else "Nodes whose removal is blocked")
    for name in ("nodes", "why", "what would allow removal")[: 3 if is_wide else 2]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(row.nodes, row.message, *([row.help] if is_wide else []))
    return table


def _print_waiting(console: Console, rows: Sequence[WaitingRow], *, is_wide: bool) -> None:
    if not rows:
        return
    n_pods = sum(row.n_pods for row in rows)
    console.print(Text(f"{plural(n_pods, 'pod')} unschedulable", style="bold"))
    for row in rows:
        _print_prose(console, row.pods, style="yellow", indent="  ")
        _print_prose(console, row.summary, indent="    ")
        if is_wide or len(row.reasons) > 1:
            for reason in row.reasons:
                _print_prose(console, reason, indent="    ", bullet="- ")
        if row.fix:
            _print_prose(console, f"What would help: {row.fix}", indent="    ")
        console.print()
