"""Runs a simulation: events, decisions, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from dovetail.decide.lifecycle.conditions import DRIFTED
from dovetail.decide.lifecycle.running import expiration_step
from dovetail.model.backoff import Chance
from dovetail.model.claim import ClaimObject
from dovetail.model.node import Condition, Node
from dovetail.model.plan import Disrupt, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.sim.demand import Demand
from dovetail.sim.fast.adoption import adopt_pods
from dovetail.sim.fast.binding import Binder
from dovetail.sim.fast.claimed import claim_of
from dovetail.sim.fast.cluster import FastCluster
from dovetail.sim.fast.crews import Crew, CronCrew
from dovetail.sim.fast.departures import Departures
from dovetail.sim.fast.figures import Figures, Report
from dovetail.sim.fast.interruptions import Interruptions
from dovetail.sim.fast.machines import Hearers, MachinePace, Machines
from dovetail.sim.fast.windows import Agenda, Rhythm, Windows
from dovetail.sim.weather import FAIR, Weather
from dovetail.state.changes import Proposed

Policy = Callable[[Snapshot, datetime], Plan]
EXPIRED: Final = "Expired"
_SAMPLES_EVERY: Final = timedelta(minutes=5)


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How time passes: when it begins, what is left out of the figures, when is decided, how fast
    machines are, and what the cloud is up to. Without `plans_interruptions` nodes of instances that
    are taken back are drained at once, as the reference does it.
    """

    start: datetime
    warms_up_for: timedelta = timedelta(0)
    rhythm: Rhythm = Rhythm()
    pace: MachinePace = MachinePace()
    weather: Weather = FAIR
    plans_interruptions: bool = True


class Ended(msgspec.Struct, frozen=True):
    """What came of it, and the cluster as it is in the end."""

    report: Report
    snapshot: Snapshot


def simulate(
    given: Snapshot, demand: Demand, policy: Policy, *, manner: Manner, chance: Chance
) -> Ended:
    """Let the demand come to this cluster, decided upon by the policy."""
    return _Simulation(given, demand, policy, manner, chance).run()


class _Simulation:
    def __init__(
        self, given: Snapshot, demand: Demand, policy: Policy, manner: Manner, chance: Chance
    ) -> None:
        self._policy = policy
        self._manner = manner
        self._demand = demand
        self._agenda = Agenda(manner.start)
        self._figures = Figures(manner.start, manner.start + manner.warms_up_for)
        self._cluster = FastCluster(self._agenda, given, self._figures)
        self._binder = Binder(self._cluster)
        self._windows = Windows(self._agenda, manner.rhythm, self._decide)
        self._cluster.touched = self._note_change
        self._cluster.wait = self._binder.add
        hearers = Hearers(self._note_order, self._note_join, self._note_failure)
        self._machines = Machines(self._cluster, manner.pace, chance, hearers, manner.weather)
        self._departures = Departures(self._cluster, self._machines)
        self._interruptions = Interruptions(
            self._cluster,
            self._machines,
            self._departures,
            chance,
            are_planned=manner.plans_interruptions,
        )

    def run(self) -> Ended:
        self._begin()
        end = self._manner.start + self._demand.lasts_for
        self._agenda.run_until(end)
        self._figures.pass_to(end)
        for pod in self._binder.pending_pods():
            if pod.created_at is not None:
                self._figures.count_wait(end - pod.created_at, end)
        return Ended(self._figures.report(), self._cluster.snapshot())

    def _begin(self) -> None:
        cluster = self._cluster
        crews = {
            f"{workload.namespace}/{workload.name}": Crew(workload, cluster)
            for workload in self._demand.workloads
        }
        self._machines.adopt(cluster.given.nodes)
        adopt_pods(cluster, self._binder, crews)
        self._departures.adopt()
        self._note_change(True)
        for crew in crews.values():
            crew.begin()
        for work in self._demand.cron_works:
            CronCrew(work, cluster).begin()
        for moment in self._demand.drifts:
            self._agenda.since_start(moment, self._drift)
        self._machines.begin()
        self._interruptions.begin(self._manner.weather)
        self._sample()

    def _sample(self) -> None:
        self._figures.sample(self._agenda.now)
        self._agenda.after(_SAMPLES_EVERY, self._sample)

    def _drift(self) -> None:
        """Every node that is there is out of date from now on."""
        for node in list(self._cluster.nodes.values()):
            if node.node_claim and not any(item.type == DRIFTED for item in node.conditions):
                mark = Condition(DRIFTED, "True", changed_at=self._agenda.now)
                drifted = msgspec.structs.replace(node, conditions=(*node.conditions, mark))
                self._cluster.put_node(drifted)

    # ---- decisions

    def _note_change(self, is_waiting: bool) -> None:  # noqa: FBT001  as the cluster says it
        self._binder.note_change()
        self._windows.touch(is_waiting=is_waiting)

    def _decide(self, looks: bool) -> tuple[Plan, int]:  # noqa: FBT001  as the windows say it
        now = self._agenda.now
        self._figures.count("decisions", now)
        snapshot = self._cluster.snapshot()
        plan = self._policy(snapshot if looks else snapshot.without_disruption(), now)
        self._perform(plan, looks=looks)
        self._interruptions.plan_for(snapshot.ledger.endings)
        return plan, len(self._cluster.nodes)

    def _perform(self, plan: Plan, *, looks: bool) -> None:
        for launch in plan.launches:
            self._machines.launch(launch)
            self._promise(launch.name, launch.pods)
        for nomination in plan.nominations:
            self._promise(nomination.node, nomination.pods)
            self._binder.steer(nomination.node, nomination.pods)
        if looks:
            self._cluster.book.apply(Proposed(plan.proposals))
            self._cluster.discourage(frozenset(plan.discouraged))
            self._cluster.yielding = {item.node: item.cost for item in plan.yielding}
        for disrupt in plan.disruptions:
            self._departures.begin(disrupt)
            for new in disrupt.replacements:
                self._promise(new.name, new.pods)
            for place in disrupt.places:
                self._promise(place.node, place.pods)

    def _promise(self, node: str, keys: Iterable[str]) -> None:
        cluster = self._cluster
        if node not in cluster.nodes:
            return
        for key in keys:
            pod = cluster.pods.get(key)
            if pod is not None:
                cluster.book.nominate((pod.namespace, pod.name), pod, node, cluster.now)

    # ---- what becomes of nodes

    def _note_order(self, node: Node) -> None:
        self._interruptions.draw(node)

    def _note_failure(self, name: str) -> None:
        self._departures.note_failure(name)

    def _note_join(self, name: str) -> None:
        self._binder.steer(name, self._cluster.book.promised_to(name))
        self._departures.note_start(name)
        node = self._cluster.nodes[name]
        pools = (pool for pool in self._cluster.given.node_pools if pool.name == node.node_pool)
        self._expire(claim_of(node, next(pools, None)), name)

    def _expire(self, claim: ClaimObject, name: str) -> None:
        """Remove a node whose claim has expired, or come back when it has."""
        step = expiration_step(claim, self._agenda.now)
        if step.ends_claim:
            self._departures.begin(Disrupt(EXPIRED, (name,)))
        elif step.look_again_at is not None:
            self._agenda.at(step.look_again_at, partial(self._expire, claim, name))
