"""Which parts make up the program? The only place that knows which clock, which files, which cloud.

Each function imports the parts it puts together, so that a command pays only for what it uses.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from dovetail import api
from dovetail.errors import InputError
from dovetail.model.instance import InstanceType
from dovetail.model.plan import DisruptionReason, FrontierPoint, Plan
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked
from dovetail.present.explanation import Explanation
from dovetail.present.plan import Timings, buys_spot
from dovetail.present.table import plural

if TYPE_CHECKING:
    from dovetail.api.older.door import ConversionOptions
    from dovetail.cloud.catalogues import OfflineCatalogues
    from dovetail.cloud.overlays import Overlay
    from dovetail.kube.manifests import Manifests
    from dovetail.kube.rewriting.files import ConvertedFiles
    from dovetail.present.budgets import BudgetCalendar
    from dovetail.present.lookup import LookupSubject
    from dovetail.present.replay import Replay
    from dovetail.sim.rehearsal import Rehearsal, Rehearsed

Tell = Callable[[str], None]


class PlanRequest(msgspec.Struct, frozen=True):
    """What to plan. No `catalogue`: each pool's by its node class. No `now`: the clock's."""

    sources: tuple[str, ...]
    catalogue: str = ""
    now: datetime | None = None
    may_disrupt: bool = True
    policy: Policy = Policy()
    with_frontier: bool = False


class Planned(msgspec.Struct, frozen=True):
    """A plan and what it was made from. `staying` says of every other node why it stays, `notes`
    belong to the figures, `remarks` are talk, `frontier` is price against number of nodes.
    """

    snapshot: Snapshot
    plan: Plan
    now: datetime
    timings: Timings
    staying: tuple[Blocked, ...] = ()
    frontier: tuple[FrontierPoint, ...] = ()
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class Explained(msgspec.Struct, frozen=True):
    """An answer for one object. `notes` belong to the figures, `remarks` are talk."""

    explanation: Explanation
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """A cluster at a moment. `notes` belong to its prices, `remarks` are talk."""

    snapshot: Snapshot
    now: datetime
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class Checked(msgspec.Struct, frozen=True):
    """What checking manifests found."""

    n_objects: int
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def plan_from(request: PlanRequest, *, stdin: BinaryIO, tell: Tell) -> Planned:
    """Read manifests and plan for them. `tell` hears what is being done. Raises InputError."""
    from dovetail.cloud.registry import extensions
    from dovetail.kube.manifests import read

    with _calm_collector():
        started_at = perf_counter()
        tell("reading manifests")
        manifests = read(request.sources, stdin, extensions())
        read_at = perf_counter()
        tell("building the snapshot")
        given = _seen_of(request, manifests)
        del manifests  # a large dump takes room that planning could use
        if not request.may_disrupt:
            snapshot = given.snapshot.without_disruption(keeps_replicas=False)
            given = msgspec.structs.replace(given, snapshot=snapshot)
        frozen_at = perf_counter()
        tell(f"planning for {plural(len(given.snapshot.pods), 'pod')}")
        plan, solve_seconds = _plan_of(given)
    return Planned(
        snapshot=given.snapshot,
        plan=plan,
        now=given.now,
        staying=_staying_nodes(given, plan),
        frontier=_frontier(given, tell) if request.with_frontier else (),
        timings=Timings(read_at - started_at, frozen_at - read_at, solve_seconds),
        notes=given.notes if buys_spot(plan) else (),
        remarks=given.remarks,
    )


def _plan_of(given: Seen) -> tuple[Plan, float]:
    """The plan and how long it took. The solver is loaded only now: bad input needs none."""
    from dovetail.decide import decide

    started_at = perf_counter()
    plan = decide(given.snapshot, given.now)
    return plan, perf_counter() - started_at


def _frontier(given: Seen, tell: Tell) -> tuple[FrontierPoint, ...]:
    """Price against number of nodes for the pending pods."""
    from dovetail.decide.frontier import MOST_PLANS, frontier, sample_plans

    samples = []
    for sample in sample_plans(given.snapshot, given.now):
        samples.append(sample)
        tell(f"plan {len(samples)} of at most {MOST_PLANS}: {plural(sample.n_nodes, 'node')}")
    return frontier(samples)


def _staying_nodes(given: Seen, plan: Plan) -> tuple[Blocked, ...]:
    """Why nodes stay, where it was asked which may go."""
    from dovetail.decide.disrupt.why import staying_nodes

    is_asked = bool(given.snapshot.policy.disrupts_for)
    return staying_nodes(given.snapshot, plan, given.now) if is_asked else ()


def explained_from(see: Callable[[], Seen], asked: LookupSubject) -> Explained:
    """Read a cluster, plan for it, and answer for one object. Raises InputError."""
    from dovetail.present.answer import answer
    from dovetail.present.lookup import find

    with _calm_collector():
        given = see()
        subject = find(asked, given.snapshot)
        told = answer(subject, given.snapshot, _plan_of(given)[0], given.now)
    return Explained(told, given.notes, given.remarks)


def explained_from_journal(
    path: str, asked: LookupSubject, *, at: datetime | None, tell: Tell
) -> Explained:
    """Answer for one object from recorded decisions, as of a moment. Raises InputError."""
    from dovetail.observe.journal.reader import JournalReader
    from dovetail.present.history import past

    remarks: list[str] = []
    reader = JournalReader(Path(path), remarks.append)
    told = past.explain(asked, reader, at, tell)
    return Explained(told, remarks=tuple(dict.fromkeys(remarks)))


def replayed_from(path: str, n_last: int, *, tell: Tell) -> Replay:
    """Make the recorded decisions again, all or the newest few. Raises InputError."""
    from dovetail.decide import decide
    from dovetail.observe.journal.reader import JournalReader
    from dovetail.observe.journal.records import digest
    from dovetail.present.replay import Replay, compare

    remarks: list[str] = []
    reader = JournalReader(Path(path), remarks.append)
    decisions = []
    for decision in reader.last(n_last) if n_last else reader.oldest_first():
        tell(f"recomputing decision {decision.number}")
        plan = decide(decision.snapshot, decision.now)
        decisions.append(compare(decision, plan, digest(plan.certificate)))
    if not decisions:
        msg = f"{path}: no decision of this journal can be read"
        raise InputError("; ".join((msg, *remarks)))
    return Replay(tuple(decisions), tuple(remarks))


def seen_from(request: PlanRequest, *, stdin: BinaryIO) -> Seen:
    """Read manifests as a cluster, without planning for it. Raises InputError."""
    from dovetail.cloud.registry import extensions
    from dovetail.kube.manifests import read

    with _calm_collector():
        return _seen_of(request, read(request.sources, stdin, extensions()))


def with_offline_policy(given: Seen, request: PlanRequest) -> Seen:
    """The same cluster with the policy that manifests are planned with."""
    snapshot = msgspec.structs.replace(given.snapshot, policy=_offline(request.policy))
    return msgspec.structs.replace(given, snapshot=snapshot, now=request.now or given.now)


def calendar_from(request: PlanRequest, span: timedelta, *, stdin: BinaryIO) -> BudgetCalendar:
    """Read manifests and lay out their budgets in time. Raises InputError."""
    from dovetail.cloud.registry import extensions
    from dovetail.decide.disrupt.calendar import calendars
    from dovetail.kube.manifests import read
    from dovetail.present.budgets import BudgetCalendar

    with _calm_collector():
        given = _seen_of(request, read(request.sources, stdin, extensions()))
        try:
            until = given.now + span
        except OverflowError:
            msg = f"{given.now.isoformat()} is too late: the calendar ends with the year 9999"
            raise InputError(msg) from None
        pools = calendars(given.snapshot, given.now, until)
    return BudgetCalendar(pools, starts_at=given.now, ends_at=until, remarks=given.remarks)


def rehearsed_from(rehearsal: Rehearsal, *, stdin: BinaryIO, tell: Tell) -> Rehearsed:
    """Simulate scenarios. `tell` hears what is being done. Raises InputError."""
    from dovetail.sim.rehearsal import Stage, rehearse

    def stage(manifests: Manifests, catalogue: str) -> Stage:
        given = _seen_of(PlanRequest((), catalogue), manifests)
        return Stage(given.snapshot, given.remarks, given.notes)

    return rehearse(rehearsal, stage, stdin=stdin, tell=tell)


def problems_of(sources: Sequence[str], *, stdin: BinaryIO) -> Checked:
    """Everything wrong with these manifests."""
    from dovetail.cloud.registry import extensions
    from dovetail.kube.manifests import read_all_problems
    from dovetail.present.manifest_warnings import idle_budgets, missing_node_classes

    with _calm_collector():
        manifests, problems = read_all_problems(sources, stdin, extensions())
    return Checked(
        n_objects=len(manifests.manifests) + len(manifests.scenarios),
        problems=tuple(str(problem) for problem in problems),
        remarks=(
            *manifests.all_remarks,
            *idle_budgets(manifests.by_origin),
            *missing_node_classes(manifests.by_origin),
        ),
    )


def converted_from(
    sources: Sequence[str], options: ConversionOptions, *, stdin: BinaryIO
) -> ConvertedFiles:
    """Convert manifests of older versions of Karpenter to v1."""
    from dovetail.cloud.registry import extensions
    from dovetail.kube.rewriting.files import convert_files

    return convert_files(sources, stdin, extensions(), options)


def instance_types(catalogue: str) -> tuple[InstanceType, ...]:
    """The instance types of a catalogue: a provider's by name, or a file in kwok format."""
    from dovetail.cloud.catalogues import OfflineCatalogues

    return OfflineCatalogues().by_name(catalogue)


def catalogue_text(types: Iterable[InstanceType]) -> str:
    """Instance types in the kwok format, which reads back as the same types."""
    from dovetail.cloud import catalogue_file

    return catalogue_file.render(types)


def crds_text(provider: str = "") -> str:
    """The CustomResourceDefinitions as one YAML stream: for one provider, else for all that are
    installed. Raises InputError.
    """
    import dovetail.api.crds as definitions
    from dovetail.cloud.registry import extensions

    return definitions.render(extensions(provider))


def price_notes(catalogues: Iterable[str]) -> tuple[str, ...]:
    """What must be said about the prices of these catalogues wherever they are shown."""
    from dovetail.cloud.catalogues import OfflineCatalogues

    return OfflineCatalogues().notes(catalogues)


@contextmanager
def _calm_collector() -> Iterator[None]:
    """No garbage collection meanwhile: millions of small live objects, and hardly a cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _seen_of(request: PlanRequest, manifests: Manifests) -> Seen:
    if manifests.scenarios:
        return _scenario(request, manifests)
    from dovetail.clock import SystemClock
    from dovetail.cloud.catalogues import OfflineCatalogues
    from dovetail.cloud.overlays import overlay
    from dovetail.present.manifest_warnings import missing_node_classes
    from dovetail.state import freeze

    catalogues = OfflineCatalogues()
    snapshot = freeze.snapshot(
        manifests.objects,
        instance_types=_types_of_pool(catalogues, request.catalogue, manifests),
        policy=_offline(request.policy),
    )
    overlays = [overlay(item) for item in manifests.objects if isinstance(item, api.NodeOverlay)]
    snapshot, conflicts = _overlaid(snapshot, overlays)
    return Seen(
        snapshot=snapshot,
        now=request.now or SystemClock().now(),
        notes=catalogues.notes(catalogues.used_names),
        remarks=(*manifests.remarks, *conflicts, *missing_node_classes(manifests.by_origin)),
    )


def _scenario(request: PlanRequest, manifests: Manifests) -> Seen:
    from dovetail import testing

    first, *others = manifests.scenarios
    if others or manifests.manifests:
        msg = f"{first.origin}: expected a scenario to be the only input"
        raise InputError(msg)
    scenario = testing.parse(first.content, first.origin.file)
    snapshot = msgspec.structs.replace(
        scenario.snapshot, policy=_without_delay(scenario.snapshot.policy)
    )
    return Seen(snapshot, request.now or scenario.now)


def _without_delay(policy: Policy) -> Policy:
    """The policy offline, where nothing is waited for: what could go is taken as confirmed."""
    return msgspec.structs.replace(policy, confirm_after=timedelta(0))


def _offline(policy: Policy) -> Policy:
    """The policy for manifests: whatever could be done is shown, no feature gate forbids it."""
    return msgspec.structs.replace(
        _without_delay(policy),
        disrupts_for=tuple(DisruptionReason),
        replaces_spot_by_spot=True,
        keeps_replicas=True,
    )


def _types_of_pool(
    catalogues: OfflineCatalogues, chosen: str, manifests: Manifests
) -> Callable[[NodePool], tuple[InstanceType, ...]]:
    """What a pool could launch, before its own requirements: the chosen catalogue, else by its
    node class. A bad name is an error even when no pool asks.
    """
    from dovetail.cloud.catalogues import node_classes

    if chosen:
        types = catalogues.by_name(chosen)
        return lambda _pool: types
    classes = node_classes(manifests.objects)
    return lambda pool: catalogues.of_pool(pool, classes)


def _overlaid(snapshot: Snapshot, overlays: Sequence[Overlay]) -> tuple[Snapshot, tuple[str, ...]]:
    if not overlays:
        return snapshot, ()
    from dovetail.cloud.overlays import PooledTypes, apply_to_pools

    pooled = [
        PooledTypes(pool, snapshot.instance_types.get(pool.name, ()))
        for pool in snapshot.node_pools
    ]
    by_pool, conflicts = apply_to_pools(pooled, overlays)
    remarks = tuple(
        f"NodeOverlay {conflict.overlay} is left out: {conflict.message}" for conflict in conflicts
    )
    return msgspec.structs.replace(snapshot, instance_types=by_pool), remarks
