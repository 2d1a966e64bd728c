"""dovetail budgets: prints how many nodes may be disrupted when, and for which reason."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import Output, Progress, align, emit, json_text, say, yaml_text

if TYPE_CHECKING:
    from dovetail.present.budgets import BudgetBlock, BudgetCalendar, WeekPicture

_COLUMNS = ("from (UTC)", "until", "reason", "may be disrupted")
_LONGEST = timedelta(days=366)
_HOURS = "".join(f"{hour:<3}" for hour in range(0, 24, 3)).rstrip()

Next = Annotated[
    str, typer.Option("--next", metavar="SPAN", help="How far to look, such as 12h, 7d or 1d12h.")
]


def budgets(
    *,
    files: options.Files = [],  # noqa: B006  typer copies it, and wants a list
    more: options.MorePaths = None,
    next_span: Next = "7d",
    now: options.Now = "",
    output: options.OutputForm = Output.TABLE,
) -> None:
    """Show when how many nodes of each NodePool may be disrupted, and for which reason.

    All budgets of a pool are taken together: the tightest wins. Percentages are also counts where
    the input has the pool's Nodes. Warns of budgets that never hold, never end, or never let a
    node go. In the picture, a cell is an hour.

    \b
    Examples:
      dovetail budgets -f nodepool.yaml
      dovetail budgets -f nodepool.yaml --next 36h -o json
      kubectl get nodepools,nodes,nodeclaims -o yaml | dovetail budgets -f -
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail import app

    span = _span(next_span)
    request = app.PlanRequest(sources=options.sources(files, more), now=options.instant(now))
    with Progress() as progress:
        progress.tell("reading manifests")
        calendar = app.calendar_from(request, span, stdin=sys.stdin.buffer)
    for remark in calendar.remarks:
        say(remark)
    if not calendar.pools:
        say("No NodePool in the input.")
    emit(_output_text(calendar, output))


def _span(text: str) -> timedelta:
    from dovetail.units import duration

    try:
        span = duration.parse_days(text)
    except ValueError:
        span = timedelta(0)
    if not timedelta(0) < span <= _LONGEST:
        msg = f"expected a time up to 366d, such as 12h, 7d or 1d12h, not {text!r}"
        raise typer.BadParameter(msg, param_hint="--next")
    return span


def _output_text(calendar: BudgetCalendar, output: Output) -> str:
    from dovetail.present.budgets import budget_blocks, budgets_json

    if output in {Output.TABLE, Output.WIDE}:
        blocks = budget_blocks(calendar, is_wide=output is Output.WIDE)
        return "\n".join(_block_text(block) for block in blocks)
    shown = budgets_json(calendar)
    return json_text(shown) if output is Output.JSON else yaml_text(shown)


def _block_text(block: BudgetBlock) -> str:
    rows = [(row.starts, row.ends, row.reasons, row.allowed) for row in block.rows]
    text = f"NodePool {block.title}\n\n{align(_COLUMNS, rows, right=())}"
    for picture in block.pictures:
        text += f"\n{_picture_text(picture)}"
    if block.warnings:
        text += "\n" + "".join(f"Warning: {warning}.\n" for warning in block.warnings)
    return text


def _picture_text(picture: WeekPicture) -> str:
    """A row a day, a column an hour."""
    indent = " " * len(picture.days[0][0])
    lines = [f"{indent}  {_HOURS}  UTC, {picture.reasons}"]
    lines += [f"{day}  {cells}" for day, cells in picture.days]
    lines.append(f"{indent}  " + "; ".join(f"{cell} {means}" for cell, means in picture.legend))
    return "".join(f"{line.rstrip()}\n" for line in lines)
