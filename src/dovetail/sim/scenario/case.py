"""Defines one simulation: a scenario on a cluster, with a seed and a policy, and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.present.table import plural
from dovetail.settings import policies
from dovetail.sim.demand import CronWork, Demand
from dovetail.sim.fast.figures import Report
from dovetail.sim.fast.machines import MachinePace
from dovetail.sim.fast.run import Manner, simulate
from dovetail.sim.fast.run import Policy as Decides
from dovetail.sim.fast.windows import Rhythm
from dovetail.sim.reference.policy import Reference
from dovetail.sim.scenario.curves import stream
from dovetail.sim.scenario.reading import ScenarioText, begins_at, latest, scenario
from dovetail.sim.scenario.strict import Object, Place
from dovetail.sim.scenario.trace import Recorded, RecordedPods, read_trace
from dovetail.sim.scenario.weather import weather
from dovetail.sim.scenario.works import Works
from dovetail.sim.scenario.written import WrittenPolicy
from dovetail.units import knobs

_CALM: Final = timedelta(seconds=30)  # where nothing waits, changes are gathered for so long
_POLLS_EVERY: Final = timedelta(seconds=10)  # the reference does, whatever it costs
_LOOKS_EVERY: Final = timedelta(minutes=1)
_RESTS_PER_NODE: Final = timedelta(seconds=1.5)  # a look takes the longer, the more nodes there are
_TOLD_EVERY: Final = timedelta(minutes=10)

Tell = Callable[[str], None]


class Decider(StrEnum):
    """Who decides."""

    DOVETAIL = "dovetail"
    REFERENCE = "reference"


class Case(msgspec.Struct, frozen=True):
    """One simulation. `settings` are what was changed for it, as they were written."""

    text: ScenarioText
    cluster: Snapshot
    seed: int
    decider: Decider = Decider.DOVETAIL
    settings: tuple[tuple[str, str], ...] = ()


class Outcome(msgspec.Struct, frozen=True):
    """What came of one."""

    file: str
    title: str
    seed: int
    decider: Decider
    settings: tuple[tuple[str, str], ...]
    starts_at: datetime
    lasts_for: timedelta
    report: Report


class Ready(msgspec.Struct, frozen=True):
    """A case, worked out: the cluster with its policy, what is asked of it, and how time passes."""

    cluster: Snapshot
    demand: Demand
    manner: Manner
    remarks: tuple[str, ...] = ()


def ready(case: Case) -> Ready:
    """Work a case out. Raises InputError for whatever is wrong with its scenario."""
    file, seed = case.text.file, case.seed
    written = scenario(case.text)
    works = Works(written, case.cluster, seed, file)
    starts_at = begins_at(written, case.cluster)
    recorded = Recorded()
    if written.trace:
        recorded = read_trace(case.text.beside(written.trace), starts_at, works.names())
    demand = Demand(
        lasts_for=written.lasts,
        workloads=tuple(works.workloads(recorded.replicas)),
        cron_works=(*works.cron_works(), *_single(recorded.pods, works, Place(file))),
        drifts=written.drifts,
    )
    manner = Manner(
        start=starts_at,
        warms_up_for=written.warm_up,
        rhythm=_rhythm_of(case.decider, written.looks_every),
        pace=MachinePace(written.boots.at_least, written.boots.at_most, written.boots.end),
        weather=weather(written, case.cluster, seed, file),
        plans_interruptions=case.decider is Decider.DOVETAIL,
    )
    chosen = _policy(written.policy, Place(file).of("policy"))
    if written.looks_every != timedelta(0):  # what one look finds would wait for the next
        chosen = msgspec.structs.replace(chosen, confirm_after=timedelta(0))
    cluster = msgspec.structs.replace(
        case.cluster, policy=chosen, pods=tuple(_without_volumes(pod) for pod in case.cluster.pods)
    )
    return Ready(cluster, demand, manner, (*recorded.bad, *_remarks(case.cluster, starts_at)))


def run(case: Case, tell: Tell) -> Outcome:
    """Let it pass; `tell` hears how far it has come. Raises InputError."""
    prepared = ready(case)
    written = scenario(case.text)
    policy: Decides = decide if case.decider is Decider.DOVETAIL else Reference()
    ended = simulate(
        prepared.cluster,
        prepared.demand,
        _with_progress(policy, prepared, tell),
        manner=prepared.manner,
        chance=stream(case.seed, "boots").random,
    )
    return Outcome(
        file=case.text.file,
        title=written.title or case.text.file,
        seed=case.seed,
        decider=case.decider,
        settings=case.settings,
        starts_at=prepared.manner.start,
        lasts_for=written.lasts,
        report=ended.report,
    )


def _rhythm_of(decider: Decider, looks_every: timedelta | None) -> Rhythm:
    """When is decided. The reference finds one move at a time, so it looks as often as it does."""
    if decider is Decider.REFERENCE:
        return Rhythm(calm=_POLLS_EVERY)
    if looks_every is None:
        return Rhythm(calm=_CALM, looks_every=_LOOKS_EVERY, rests_per_node=_RESTS_PER_NODE)
    return Rhythm(calm=_CALM, looks_every=looks_every)


def _with_progress(policy: Decides, ready: Ready, tell: Tell) -> Decides:
    """The same policy, which says now and then how late it is."""
    told_at = ready.manner.start

    def decide_and_tell(snapshot: Snapshot, now: datetime) -> Plan:
        nonlocal told_at
        if now - told_at >= _TOLD_EVERY:
            told_at = now
            share = (now - ready.manner.start) / ready.demand.lasts_for
            n_nodes = len(snapshot.nodes)
            tell(f"simulating: {share:.0%}, {now:%a %H:%M}, {n_nodes} nodes")
        return policy(snapshot, now)

    return decide_and_tell


def _without_volumes(pod: Pod) -> Pod:
    """The pod without its volumes, which nobody here could attach."""
    return msgspec.structs.replace(pod, claim_names=()) if pod.claim_names else pod


def _remarks(cluster: Snapshot, starts_at: datetime) -> Iterator[str]:
    seen = latest(cluster)
    if seen is not None and seen > starts_at:
        yield (
            f"The cluster speaks of {seen.isoformat()}, and the simulation starts before that, at "
            f"{starts_at.isoformat()}: what is younger counts as just come."
        )
    n_attached = sum(bool(pod.claim_names) for pod in cluster.pods)
    n_virtual = sum(pod.is_virtual for pod in cluster.pods)
    if n_attached:
        yield f"Volumes are left out: {plural(n_attached, 'pod')} may run in any zone."
    if n_virtual:
        yield f"Capacity buffers are left out: {plural(n_virtual, 'pod')} would keep room."


def _single(pods: tuple[RecordedPods, ...], works: Works, place: Place) -> Iterator[CronWork]:
    """Recorded pods; those that ask for the same share one spec."""
    specs = {
        item: works.spec(dict(item), Object(), place.of("trace"))
        for item in sorted({pod.requests for pod in pods})
    }
    for number, recorded_pods in enumerate(pods, 1):
        yield CronWork(
            name=f"trace-{number}",
            spec=specs[recorded_pods.requests],
            every=None,
            first_after=recorded_pods.at,
            runs_for=recorded_pods.runs_for,
            n_pods=recorded_pods.n_pods,
        )


def _policy(written: WrittenPolicy, place: Place) -> Policy:
    """What the operator chose, as `plan` reads its flags. Raises InputError."""
    if written.effort < 0:
        place.of("effort").refuse("expected 0 or more")
    if not -1 <= written.most_evictions_per_day <= 1_000_000:
        place.of("mostEvictionsPerDay").refuse("expected a count, or -1 for no limit")
    if written.spot_robustness > 1:
        place.of("spotRobustness").refuse("expected a share up to 1")
    chosen = policies.policy(
        preference_policy=written.preference_policy,
        min_values_policy=written.min_values_policy,
        effort=written.effort,
        spot_robustness=written.spot_robustness,
    )
    try:
        node_price = knobs.node_price(written.node_price)
        knobs.least_saving(written.least_saving_per_eviction)
        cost = knobs.eviction_cost(written.eviction_cost) if written.eviction_cost else None
    except ValueError as error:
        place.refuse(str(error))
    calm = policies.Calm(
        written.least_saving_per_eviction.strip(),
        written.most_evictions_per_day,
        policies.DEFAULT.eviction_cost if cost is None else cost,
    )
    return msgspec.structs.replace(
        policies.with_calm(chosen, calm),
        node_price_nanousd=node_price,
        replaces_spot_by_spot=written.spot_to_spot,
        keeps_replicas=True,
        disrupts_for=chosen.disrupts_for if written.disrupt else (),
    )
