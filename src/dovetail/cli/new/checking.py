"""Checks a generated NodePool against other manifests or a cluster, and prices a team's pods."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from dovetail.cli.output import Progress

if TYPE_CHECKING:
    from dovetail.app import Seen
    from dovetail.generator import Generated
    from dovetail.generator.pricing import PricedPods

_PANEL = "Checks"
Against = Annotated[
    list[str],
    typer.Option(
        "--against",
        metavar="PATH",
        help="File or directory with the other NodePools of the cluster; may be given several "
        "times. The file of --out is left out.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Check against the cluster of the kubeconfig, which is only read.",
        rich_help_panel=_PANEL,
    ),
]
Workloads = Annotated[
    list[str],
    typer.Option(
        "--workloads",
        metavar="PATH",
        help="File or directory with the team's Pods, Deployments and so on: shows which nodes "
        "the pool would launch for them, and their price. May be given several times.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]


class Checks(msgspec.Struct, frozen=True):
    """What a generated pool is checked against, as the flags say it."""

    against: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    is_live: bool = False
    kubeconfig: str = ""
    context: str = ""
    catalog: str = ""
    out: str = ""

    def checked(self) -> Checks:
        """The same, unless its flags contradict each other."""
        if self.is_live and self.against:
            msg = "expected --live or --against PATH, not both"
            raise typer.BadParameter(msg, param_hint="--live")
        if not self.is_live and (self.kubeconfig or self.context):
            msg = "expected --live with it"
            raise typer.BadParameter(msg, param_hint="--kubeconfig, --context")
        if "-" in (*self.against, *self.workloads):
            msg = "standard input can only be the request; expected files and directories"
            raise typer.BadParameter(msg, param_hint="--against, --workloads")
        return self


class CheckedPool(msgspec.Struct, frozen=True):
    """What the checks found: problems, warnings, and a report on the price."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    report: str = ""


def check(generated: Generated, checks: Checks) -> CheckedPool:
    """Run the checks that are wanted. Raises InputError for what cannot be read."""
    from dovetail import app

    against = _other_files(checks, generated.request.name)
    workloads = _paths(checks.workloads)
    if not (against or workloads or checks.is_live):
        return CheckedPool()
    with Progress() as progress:
        progress.tell("checking against other manifests")
        text = generated.text.encode()
        reading = app.problems_of((*against, *workloads, "-"), stdin=io.BytesIO(text))
        origin = checks.out or "the result"
        remarks = tuple(_named(remark, origin) for remark in reading.remarks)
        if reading.problems:
            return CheckedPool(tuple(_named(text, origin) for text in reading.problems), remarks)
        return _compare(generated, checks, against, remarks)


def _compare(
    generated: Generated, checks: Checks, against: tuple[str, ...], remarks: tuple[str, ...]
) -> CheckedPool:
    from dovetail.generator.neighbours import overlaps

    name = generated.request.name
    team, note = _team(generated, checks, against)
    [pool] = [each for each in team.snapshot.node_pools if each.name == name]
    others = _others(checks, against)
    sentences = overlaps(pool, team.snapshot.instance_types[name], others.snapshot)
    warnings = (*remarks, *others.remarks, *(f"warning: {text}" for text in sentences))
    if not checks.workloads:
        return CheckedPool((), tuple(dict.fromkeys(warnings)))
    from dovetail.generator.pricing import price_pods
    from dovetail.present.plan import buys_spot

    priced = price_pods(pool, team.snapshot, others.snapshot, team.now)
    notes = (*note, *(team.notes if buys_spot(priced.plan) else ()))
    report = "".join(_report_lines(priced, name, notes))
    return CheckedPool((), tuple(dict.fromkeys((*warnings, *_unplaced(priced)))), report)


def _unplaced(priced: PricedPods) -> Iterator[str]:
    """A warning for pods that cannot be placed; the report has the reasons."""
    from dovetail.present.table import plural

    n_unplaced, n_pods = len(priced.plan.unschedulable), len(priced.snapshot.pods)
    if n_unplaced:
        yield f"warning: {n_unplaced} of {plural(n_pods, 'pod')} cannot be placed on the NodePool"
    elif not n_pods:
        yield "warning: --workloads: no pending pods; expected Pods, Deployments and so on"


def _team(
    generated: Generated, checks: Checks, against: tuple[str, ...]
) -> tuple[Seen, tuple[str, ...]]:
    """The pool with the team's pods, and its instance types by its node class, which may be among
    the other manifests. Where nothing is known of its zones offline, the pool is without them.
    """
    from dovetail import app
    from dovetail.generator import provider_catalogue
    from dovetail.generator.generate import text_of

    request = generated.request
    note: tuple[str, ...] = ()
    catalogue = provider_catalogue(request.provider)
    if request.zones and catalogue.zones().isdisjoint(request.zones) and not checks.catalog:
        request = msgspec.structs.replace(request, zones=())
        zones = ", ".join(sorted(catalogue.zones()))
        note = (f"Priced in {zones}, since prices of the zones of the request are unknown.",)
    text = text_of(request, catalogue).encode()

    def seen(*more: str) -> Seen:
        paths = ("-", *_paths(checks.workloads), *more)
        return app.seen_from(app.PlanRequest(paths, checks.catalog), stdin=io.BytesIO(text))

    team = seen()
    if not against:
        return team, note
    types = seen(*against).snapshot.instance_types
    snapshot = msgspec.structs.replace(team.snapshot, instance_types=types)
    return msgspec.structs.replace(team, snapshot=snapshot), note


def _others(checks: Checks, against: tuple[str, ...]) -> Seen:
    from dovetail import app
    from dovetail.clock import SystemClock
    from dovetail.model.snapshot import Snapshot

    if checks.is_live:
        from dovetail.cli.seeing import ClusterSource, live_cluster, read_live

        return read_live(
            live_cluster(
                ClusterSource(
                    catalog=checks.catalog, kubeconfig=checks.kubeconfig, context=checks.context
                )
            )
        )
    if not against:
        return app.Seen(Snapshot(), SystemClock().now())
    return app.seen_from(app.PlanRequest(against, catalogue=checks.catalog), stdin=io.BytesIO())


def _other_files(checks: Checks, name: str) -> tuple[str, ...]:
    """The files of the other pools. The file that is written is no other pool; without --out, nor
    is one that was generated for a pool of the same name.
    """
    from dovetail.generator.files import generated_name

    paths = _paths(checks.against)
    if checks.out:
        out = os.path.realpath(checks.out)
        return tuple(path for path in paths if os.path.realpath(path) != out)
    return tuple(path for path in paths if generated_name(path) != name)


def _paths(names: tuple[str, ...]) -> tuple[str, ...]:
    """The files of these paths, directories in order. Raises InputError."""
    from dovetail.errors import InputError
    from dovetail.kube import sources

    names_of_files = []
    for source in sources.sources(names):
        if isinstance(source, InputError):
            raise source
        names_of_files.append(source.name)
    return tuple(names_of_files)


def _named(message: str, origin: str) -> str:
    """A message of the reader, with the result's name for that of the stream."""
    return message.replace("standard input", origin)


def _report_lines(priced: PricedPods, name: str, notes: tuple[str, ...]) -> Iterator[str]:
    from dovetail.cli.render import plan_text
    from dovetail.present.table import plan_table, plural

    yield f"The team's pods on NodePool {name} alone\n"
    table = plan_table(priced.plan, priced.snapshot)
    yield plan_text(table, is_wide=False, notes=notes)
    yield f"Limits used: {', '.join(priced.used)}.\n"
    for pool, n_pods in priced.n_elsewhere:
        places = f"{plural(n_pods, 'pod')} would be placed on NodePool {pool}"
        yield f"With all NodePools, {places} instead.\n"
