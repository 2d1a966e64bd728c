"""dovetail cost: prints what each node and workload costs, beside other ways to plan them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import Output, Progress, align, emit, json_text, say, yaml_text
from dovetail.cli.seeing import ClusterSource, see
from dovetail.present.cost import By

if TYPE_CHECKING:
    from dovetail.app import Seen
    from dovetail.present.cost import CostRow
    from dovetail.present.cost_report import CostReport

_MOST_ROWS = 10  # of each table, where several are shown
_FIGURES = ("nodes", "pods", "$/hour", "$/month", "share", "unused $/hour")

Label = Annotated[
    str,
    typer.Option(
        "--label", metavar="KEY", help="The pod label that names the owner, such as a team."
    ),
]
Breakdown = Annotated[
    By | None,
    typer.Option(
        "--by", help="Only this breakdown, with every row. Default: all four.", show_default=False
    ),
]


def cost(  # noqa: PLR0913  typer reads one flag from each argument
    *,
    files: options.Files = [],  # noqa: B006  typer copies it, and wants a list
    more: options.MorePaths = None,
    by: Breakdown = None,
    label: Label = "team",
    output: options.OutputForm = Output.TABLE,
    catalog: options.LiveCatalog = "",
    now: options.Now = "",
    kubeconfig: options.Kubeconfig = "",
    context: options.Context = "",
) -> None:
    """Show what is paid by pool, namespace, workload and team, per hour and per month of 730 hours.

    A node's price is divided among its pods by the larger of their shares of its cpu and memory;
    what the fuller of the two has left is unused, and stands in a row of its own. Says what
    Karpenter's provisioning would have bought for the same pods, and what nobody could undercut.
    Of a live cluster, or with -f of manifests. Only reads.

    \b
    Examples:
      dovetail cost
      dovetail cost --by label --label app.kubernetes.io/part-of
      dovetail cost -f examples/08-which-nodes-go -o json
      kubectl get pods,nodes,nodepools,nodeclaims -A -o yaml | dovetail cost -f -
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail.present.board import node_boxes
    from dovetail.present.node_list import unpriced_remark

    paths = (*files, *(more or ()))
    current = see(ClusterSource(paths, catalog, now, kubeconfig, context).check())
    remark = unpriced_remark(node_boxes(current.snapshot))
    if remark:
        say(remark)
    told = _report(current, label)
    emit(_output_text(told, tuple(By) if by is None else (by,), output, current.notes))


def _report(current: Seen, label: str) -> CostReport:
    from dovetail.present.cost_report import report
    from dovetail.sim.comparison import compare, target

    with Progress() as progress:
        progress.tell("provisioning the cluster from scratch, to compare")
        return report(
            current.snapshot,
            current.now,
            label=label,
            comparison=compare(current.snapshot, current.now),
            target_nanousd=target(current.snapshot, current.now),
        )


def _output_text(
    told: CostReport, wanted: tuple[By, ...], output: Output, notes: tuple[str, ...]
) -> str:
    from dovetail.present.cost_report import report_json, sentences

    if output in {Output.TABLE, Output.WIDE}:
        is_whole = output is Output.WIDE or len(wanted) == 1
        tables = "".join(f"{_table(told, by, is_whole=is_whole)}\n" for by in wanted)
        words = (*sentences(told), *(f"Note: {note}" for note in notes))
        return tables + "".join(f"{line}\n" for text in words for line in _wrap(text))
    shown = report_json(told, wanted, notes)
    return json_text(shown) if output is Output.JSON else yaml_text(shown)


def _wrap(text: str) -> list[str]:
    import textwrap

    from dovetail.cli.render import drawn_width

    width = drawn_width()
    return textwrap.wrap(text, width, break_on_hyphens=False) if width else [text]


def _table(told: CostReport, by: By, *, is_whole: bool) -> str:
    """Rows of one breakdown; where they are too many, the dearest of them."""
    from dovetail.present.cost import UNUSED

    rows = told.rows[by]
    named = [row for row in rows if row.name != UNUSED]
    shown = named if is_whole else named[:_MOST_ROWS]
    hidden = len(named) - len(shown)
    rest = [row for row in rows if row.name == UNUSED]
    columns = (str(by), *_FIGURES[: None if by is By.POOL else -1])
    cells = [_cells(row, told.nanousd)[: len(columns)] for row in (*shown, *rest)]
    more = f"and {hidden:,} more; --by {by} shows all\n" if hidden else ""
    return align(columns, cells, right=_FIGURES) + more


def _cells(row: CostRow, whole: int) -> tuple[str, ...]:
    from dovetail.present.cost_report import monthly, share
    from dovetail.present.table import price

    return (
        row.name if row.name.isprintable() else repr(row.name),
        f"{row.n_nodes:,}",
        f"{row.n_pods:,}" if row.n_pods else "-",
        price(row.nanousd).replace("$", ""),
        monthly(row.nanousd).replace("$", ""),
        share(row.nanousd, whole),
        price(row.unused_nanousd).replace("$", ""),
    )
