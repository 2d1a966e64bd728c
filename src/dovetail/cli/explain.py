"""dovetail explain: prints why a pod is pending, or why a node exists, stays or is removed."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import Output, Progress, align, emit, json_text, say, yaml_text

if TYPE_CHECKING:
    from dovetail.app import Explained, PlanRequest, Seen
    from dovetail.present.explanation import Explanation, Section
    from dovetail.present.lookup import LookupSubject

JOURNAL_VARIABLE = "DOVETAIL_JOURNAL"

What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT",
        help="pod/NAME, pod/NAMESPACE/NAME, node/NAME, nodeclaim/NAME or nodepool/NAME.",
        show_default=False,
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "-n",
        "--namespace",
        metavar="NAME",
        help="Namespace of the pod. Default: every namespace.",
        show_default=False,
    ),
]
Journal = Annotated[
    str,
    typer.Option(
        "--journal",
        metavar="FOLDER",
        help="Answer from recorded decisions: the folder of 'dovetail run --journal', or one of "
        "its files. Without -f, the variable DOVETAIL_JOURNAL says so too.",
        show_default=False,
    ),
]
At = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="TIME",
        help="As of this time in the journal, such as 2026-01-01T00:00:00Z. Default: its end.",
        show_default=False,
    ),
]
Kubeconfig = Annotated[
    str,
    typer.Option(
        "--kubeconfig",
        metavar="PATH",
        help="Which cluster, with neither -f nor --journal. Default: as for 'run'.",
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
    journal: Journal = "",
    at: At = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Answer for one object: why a pod waits, why a node stays or goes, what a pool may do.

    Of a node: what it is and costs, who is on it, everything that keeps it, what would happen if
    it were removed now, and what would let it go. With -f this is read from manifests, and no
    cluster is needed; with neither -f nor --journal, from the cluster of the kubeconfig as it is.

    With --journal it is read from recorded decisions, also for what is gone by now: why a node was
    created, for which pods, and what else would have held them; why it went, what that saved and
    who moved where; and what happened to the object, decision by decision.

    \b
    Examples:
      dovetail explain node/n1 -f cluster.yaml
      dovetail explain pod/web-0 -n shop -f cluster/
      kubectl get pods,nodes,nodepools,nodeclaims,pdb -A -o yaml | dovetail explain node/n1 -f -
      dovetail explain node/n1 --journal /var/lib/dovetail/journal
      dovetail explain pod/web-0 --journal journal/ --at 2026-01-01T12:00:00Z
    """  # noqa: D301  \b keeps the examples' lines apart in the help
    from dovetail import app
    from dovetail.present.lookup import subject

    asked = subject(what, namespace)
    recorded = _journal(files, journal)
    if recorded:
        explained = _from_journal(recorded, asked, at)
    else:
        if at:
            msg = "expected --journal with it: only a journal has earlier times"
            raise typer.BadParameter(msg, param_hint="--at")
        request = app.PlanRequest(tuple(files), catalog, options.instant(now))
        explained = _explain_plan(request, asked, kubeconfig)
    for remark in explained.remarks:
        say(remark)
    emit(_output_text(explained, output))


def _journal(files: list[str], journal: str) -> str:
    """The journal that is meant; none where manifests are."""
    if files and journal:
        msg = "expected -f or --journal, not both"
        raise typer.BadParameter(msg, param_hint="--journal")
    return journal or ("" if files else os.environ.get(JOURNAL_VARIABLE, ""))


def _from_journal(path: str, asked: LookupSubject, at: str) -> Explained:
    from dovetail import app

    until = _end_of_second(options.instant(at, "--at"))
    with Progress() as progress:
        return app.explained_from_journal(path, asked, at=until, tell=progress.tell)


def _end_of_second(at: datetime | None) -> datetime | None:
    """Answers name decisions to the second, so a whole second means all that was in it."""
    return at if at is None or at.microsecond else at.replace(microsecond=999_999)


def _explain_plan(request: PlanRequest, asked: LookupSubject, kubeconfig: str) -> Explained:
    """From manifests, or from the live cluster where none are named."""
    from dovetail import app

    def see() -> Seen:
        if request.sources:
            return app.seen_from(request, stdin=sys.stdin.buffer)
        from dovetail.cli.seeing import read_live
        from dovetail.live.following import Whose

        cluster = Whose(
            dict(os.environ), kubeconfig, catalogue=request.catalogue, with_buffers=True
        )
        seen = read_live(cluster)
        say("Read from the live cluster; only a journal has the history (--journal).")
        return app.with_offline_policy(seen, request)

    with Progress() as progress:
        progress.tell(f"looking at {asked.kind}/{asked.name}")
        return app.explained_from(see, asked)


def _output_text(explained: Explained, output: Output) -> str:
    told = explained.explanation
    if output in {Output.TABLE, Output.WIDE}:
        notes = "".join(f"\nNote: {note}\n" for note in explained.notes)
        return f"{_explanation_text(told)}{notes}"
    shown = {**told.data, "notes": list(explained.notes)}
    return json_text(shown) if output is Output.JSON else yaml_text(shown)


def _explanation_text(told: Explanation) -> str:
    width = max((len(name) for name, _ in told.facts), default=0)
    facts = "".join(f"  {name.ljust(width)}  {value}\n" for name, value in told.facts)
    parts = [f"{told.title}\n{facts}", f"{told.verdict}\n", *map(_section, told.sections)]
    return "\n".join(parts)


def _section(section: Section) -> str:
    lines = "".join(f"  {line}\n" for line in section.lines)
    table = align(section.columns, section.rows, right=()) if section.rows else ""
    indented = "".join(f"  {line}\n" for line in table.splitlines())
    return f"{section.title}:\n{lines}{indented}"
