"""dovetail nodes: prints the nodes, their utilisation and their price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import Output, emit, json_text, say, yaml_text
from dovetail.cli.seeing import ClusterSource, live_cluster, see
from dovetail.labels import SPOT
from dovetail.present.node_list import NodeListView, SortKey

if TYPE_CHECKING:
    from dovetail.present.node_list import NodeList

Once = Annotated[bool, typer.Option("--once", help="Print the nodes once and exit.")]
Sort = Annotated[SortKey, typer.Option("--sort", help="Initial sort order.")]
Filter = Annotated[
    str,
    typer.Option(
        "--filter",
        metavar="TEXT",
        help="Only nodes in which every word of it occurs: name, pool, zone, type, state.",
        show_default=False,
    ),
]


def nodes(  # noqa: PLR0913  typer reads one flag from each argument
    *,
    files: options.Files = [],  # noqa: B006  typer copies it, and wants a list
    more: options.MorePaths = None,
    once: Once = False,
    sort: Sort = SortKey.NAME,
    filter_text: Filter = "",
    output: options.OutputForm = Output.TABLE,
    catalog: options.LiveCatalog = "",
    now: options.Now = "",
    kubeconfig: options.Kubeconfig = "",
    context: options.Context = "",
) -> None:
    """Show the nodes: how full, what they cost, how old, and how they fare.

    Of a live cluster, drawn again as things change, until q or Ctrl-C. Only reads. Keys sort (n
    name, p price, c cpu, m memory, a age, o pool; again: the other way round), / filters, arrows
    and page keys scroll. Where stdout is no terminal, and with --once, -f or data as output, the
    nodes are printed once.

    \b
    Examples:
      dovetail nodes
      dovetail nodes --once --sort price --filter spot
      dovetail nodes --kubeconfig PATH -o json
      kubectl get pods,nodes,nodepools,nodeclaims -A -o yaml | dovetail nodes -f -
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    paths = (*files, *(more or ()))
    source = ClusterSource(paths, catalog, now, kubeconfig, context).check()
    wish = NodeListView(sort, text=filter_text)
    is_wide = output is Output.WIDE
    if source.is_live and not once and output in {Output.TABLE, Output.WIDE}:
        from dovetail.cli.terminal import is_interactive

        if is_interactive():
            from dovetail.cli.node_watch import watch

            watch(live_cluster(source), wish, is_wide=is_wide)
            return
    _print_once(source, wish, output)


def _print_once(source: ClusterSource, wish: NodeListView, output: Output) -> None:
    from dovetail.present.node_list import node_list, unpriced_remark

    current = see(source)
    listed = node_list(current.snapshot, current.now)
    notes = current.notes if any(node.capacity_type == SPOT for node in listed.nodes) else ()
    for remark in (unpriced_remark(listed.nodes), *notes):
        if remark:
            say(remark)
    emit(_output_text(listed, wish, output, notes))


def _output_text(
    listed: NodeList, wish: NodeListView, output: Output, notes: tuple[str, ...]
) -> str:
    from dovetail.present.node_list import arrange, nodes_json

    shown = arrange(listed.nodes, wish)
    if output in {Output.TABLE, Output.WIDE}:
        from rich.text import Text

        from dovetail.cli.node_screen import SIGNS, Look, sums, table
        from dovetail.cli.render import drawn_width, is_plain
        from dovetail.cli.terminal import with_colour

        look = Look(drawn_width(), is_wide=output is Output.WIDE, is_plain=is_plain(SIGNS))
        lines = [*table(shown, listed.now, look), Text(), sums(listed.totals, look)]
        return "".join(f"{line}\n" for line in with_colour(lines))
    data = nodes_json(listed, shown, notes)
    return json_text(data) if output is Output.JSON else yaml_text(data)
