"""dovetail replay: makes recorded decisions again and compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import Output, Progress, align, emit, json_text, say, yaml_text

if TYPE_CHECKING:
    from dovetail.present.replay import Replay, ReplayedDecision

DIFFERENT = 1
JournalPath = Annotated[
    str,
    typer.Argument(
        metavar="JOURNAL",
        help="The folder that 'dovetail run --journal' writes to, or one of its files.",
        show_default=False,
    ),
]
Last = Annotated[
    int | None,
    typer.Option(
        "--last", metavar="N", min=1, help="Only the newest N decisions.", show_default=False
    ),
]
_COLUMNS = ("what", "name", "recorded", "now")


def replay(
    journal: JournalPath, *, last: Last = None, output: options.OutputForm = Output.TABLE
) -> None:
    """Make recorded decisions again, and show what comes out differently.

    A decision depends on its snapshot and its moment alone, so the same program must come to the
    same plan; another version may not. Exit code: 0 if all came out the same, 1 if not.

    \b
    Examples:
      dovetail replay /var/lib/dovetail/journal
      dovetail replay /var/lib/dovetail/journal --last 10 -o json
      dovetail replay 000000000257.journal
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail import app

    with Progress() as progress:
        replayed = app.replayed_from(journal, last or 0, tell=progress.tell)
    for remark in replayed.remarks:
        say(remark)
    emit(_output_text(replayed, output))
    if replayed.different:
        raise typer.Exit(DIFFERENT)


def _output_text(replayed: Replay, output: Output) -> str:
    if output in {Output.TABLE, Output.WIDE}:
        return _replay_text(replayed)
    from dovetail.present.replay import replay_json

    shown = replay_json(replayed)
    return json_text(shown) if output is Output.JSON else yaml_text(shown)


def _replay_text(replayed: Replay) -> str:
    from dovetail.present.table import plural

    made = plural(len(replayed.decisions), "decision")
    if not replayed.different:
        return f"{made} recomputed: no difference.\n"
    blocks = "".join(map(_block, replayed.different))
    return f"{blocks}{made} recomputed: {len(replayed.different):,} differ.\n"


def _block(replayed_decision: ReplayedDecision) -> str:
    from dovetail.present.plan import instant

    rows = [(d.what, d.name, d.recorded, d.recomputed) for d in replayed_decision.differences]
    table = align(_COLUMNS, rows, right=())
    lines = "".join(f"  {line}\n" for line in table.splitlines())
    return f"Decision {replayed_decision.number} of {instant(replayed_decision.now)}:\n{lines}\n"
