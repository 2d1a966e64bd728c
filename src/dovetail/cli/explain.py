"""dovetail explain: why does this pod wait, why does this node stay or go?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import Output, aligned, emit, json_text, say, yaml_text

if TYPE_CHECKING:
    from dovetail.app import Explained
    from dovetail.present.explanation import Explanation, Section

What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT",
        help="pod/NAME, pod/NAMESPACE/NAME, node/NAME or nodeclaim/NAME.",
        show_default=False,
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "-n",
        "--namespace",
        metavar="NAME",
        help="Where to look for the pod; every namespace if not given.",
        show_default=False,
    ),
]


def explain(  # noqa: PLR0913  typer reads one flag from each argument
    what: What,
    *,
    files: options.Files = [],  # noqa: B006  typer copies it, and wants a list
    namespace: Namespace = "",
    output: options.OutputForm = Output.TABLE,
    catalog: options.Catalog = "",
    now: options.Now = "",
) -> None:
    """Answer for one object: why a pod waits, why a node stays or goes.

    Of a node: what it is and costs, who is on it, everything that keeps it, what would happen if
    it were removed now, and what would let it go. Reads manifests only; no cluster is needed.

    \b
    Examples:
      dovetail explain node/n1 -f cluster.yaml
      dovetail explain pod/web-0 -n shop -f cluster/
      kubectl get pods,nodes,nodepools,nodeclaims,pdb -A -o yaml | dovetail explain node/n1 -f -
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail import app
    from dovetail.cli.progress import Progress
    from dovetail.present.lookup import subject

    asked = subject(what, namespace)
    request = app.PlanRequest(
        sources=options.sources(files, None), catalogue=catalog, now=options.instant(now)
    )
    with Progress() as progress:
        progress.tell(f"looking at {what}")
        found = app.explained_from(request, asked, stdin=sys.stdin.buffer)
    for remark in found.remarks:
        say(remark)
    emit(_printed(found, output))


def _printed(found: Explained, output: Output) -> str:
    told = found.explanation
    if output in {Output.TABLE, Output.WIDE}:
        notes = "".join(f"\nNote: {note}\n" for note in found.notes)
        return f"{_drawn(told)}{notes}"
    shown = {**told.data, "notes": list(found.notes)}
    return json_text(shown) if output is Output.JSON else yaml_text(shown)


def _drawn(told: Explanation) -> str:
    width = max((len(name) for name, _ in told.facts), default=0)
    facts = "".join(f"  {name.ljust(width)}  {value}\n" for name, value in told.facts)
    parts = [f"{told.title}\n{facts}", f"{told.verdict}\n", *map(_section, told.sections)]
    return "\n".join(parts)


def _section(section: Section) -> str:
    lines = "".join(f"  {line}\n" for line in section.lines)
    table = aligned(section.columns, section.rows, right=()) if section.rows else ""
    indented = "".join(f"  {line}\n" for line in table.splitlines())
    return f"{section.title}:\n{lines}{indented}"
