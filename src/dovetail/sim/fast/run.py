"""How does a day go under a policy? Events, windows that close, decisions, what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from dovetail.decide.lifecycle.conditions import DRIFTED
from dovetail.kube.backoff import Chance
from dovetail.model.node import Condition
from dovetail.model.plan import Disrupt, Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.sim.demand import Demand, Workload
from dovetail.sim.fast.agenda import Agenda
from dovetail.sim.fast.binding import Binder
from dovetail.sim.fast.cluster import Cluster
from dovetail.sim.fast.crews import Crew
from dovetail.sim.fast.cron_crews import CronCrew
from dovetail.sim.fast.departures import Departures
from dovetail.sim.fast.figures import Figures, Report
from dovetail.sim.fast.machines import DAEMON, Machines, Pace

Policy = Callable[[Snapshot, datetime], Plan]
EXPIRED: Final = "Expired"
_SAMPLES_EVERY: Final = timedelta(minutes=5)


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How time passes: when it begins, what is left out of the figures, how long windows are open.

    A window closes when no new pod has come for `idle`, at the latest after `longest`; where only
    nodes or running pods have changed, it is open for `calm`.
    """

    start: datetime
    warms_up_for: timedelta = timedelta(0)
    idle: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(seconds=10)
    calm: timedelta = timedelta(seconds=10)
    pace: Pace = Pace()


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
        self._cluster = Cluster(self._agenda, given, self._figures)
        self._binder = Binder(self._cluster)
        self._cluster.touched = self._touched
        self._cluster.wait = self._binder.add
        self._machines = Machines(self._cluster, manner.pace, chance, self._joined)
        self._departures = Departures(self._cluster, self._machines)
        self._opened_at: datetime | None = None
        self._last_at: datetime | None = None  # when a pod came that waits
        self._decides_at: datetime | None = None
        self._wakes_at: datetime | None = None

    def run(self) -> Ended:
        self._adopt()
        for workload in self._demand.workloads:
            Crew(workload, self._cluster).begin()
        for work in self._demand.cron_works:
            CronCrew(work, self._cluster).begin()
        for moment in self._demand.drifts:
            self._agenda.since_start(moment, self._drift)
        self._sample()
        end = self._manner.start + self._demand.lasts_for
        self._agenda.run_until(end)
        self._figures.pass_to(end)
        for pod in self._binder.waiting():
            if pod.created_at is not None:
                self._figures.waited(end - pod.created_at, end)
        return Ended(self._figures.report(), self._cluster.snapshot())

    def _sample(self) -> None:
        self._figures.sample(self._agenda.now)
        self._agenda.after(_SAMPLES_EVERY, self._sample)

    # ---- what is there already

    def _adopt(self) -> None:
        """Take over nodes and pods; pods of one owner are a workload that keeps its number."""
        given = self._cluster.given
        self._machines.adopt(given.nodes)
        by_owner: dict[str, list[Pod]] = {}
        for pod in given.pods:
            if not pod.is_terminal and not pod.is_mirror:
                by_owner.setdefault(_owner(pod), []).append(pod)
        for pods in by_owner.values():
            self._adopt_crew(pods, given)
        self._touched(True)

    def _adopt_crew(self, pods: list[Pod], given: Snapshot) -> None:
        cluster, first = self._cluster, pods[0]
        guard = next(
            (
                one
                for one in given.disruption_budgets
                if one.namespace == first.namespace and one.selector.matches(first.labels)
            ),
            None,
        )
        crew = Crew(
            Workload(
                name=guard.name if guard is not None else first.owner.name if first.owner else "",
                namespace=first.namespace,
                spec=first.spec,
                labels=first.labels,
                replicas=(),
                is_stateful=first.owner is not None and first.owner.kind == "StatefulSet",
                guard=guard.max_unavailable if guard is not None else "",
            ),
            cluster,
        )
        for pod in pods:
            cluster.figures.n_pods += 1
            cluster.keepers[pod.key] = DAEMON if pod.is_daemon else crew
            if pod.node_name:
                cluster.settle(pod)
            else:
                cluster.figures.n_waiting += 1
                cluster.pods[pod.key] = pod
                self._binder.add(pod)
        if not first.is_daemon:
            crew.adopt(pods)

    def _drift(self) -> None:
        """Every node that is there is out of date from now on."""
        for node in list(self._cluster.nodes.values()):
            if node.node_claim and not any(one.type == DRIFTED for one in node.conditions):
                mark = Condition(DRIFTED, "True", changed_at=self._agenda.now)
                drifted = msgspec.structs.replace(node, conditions=(*node.conditions, mark))
                self._cluster.put_node(drifted)

    # ---- when to decide

    def _touched(self, is_waiting: bool) -> None:  # noqa: FBT001  as the cluster says it
        now = self._agenda.now
        self._binder.changed()
        self._opened_at = self._opened_at or now
        if is_waiting:
            self._last_at = now
        self._plan_decision()

    def _plan_decision(self) -> None:
        if self._opened_at is None:
            return
        if self._last_at is None:
            at = self._opened_at + self._manner.calm
        else:
            at = min(self._last_at + self._manner.idle, self._opened_at + self._manner.longest)
            at = max(at, self._agenda.now)
        if at != self._decides_at:
            self._decides_at = at
            self._agenda.at(at, partial(self._decide_at, at))

    def _decide_at(self, at: datetime) -> None:
        if at == self._decides_at:
            self._decide()

    def _wake(self, at: datetime) -> None:
        if at == self._wakes_at:
            self._decide()

    def _decide(self) -> None:
        self._opened_at = self._last_at = self._decides_at = self._wakes_at = None
        now = self._agenda.now
        self._figures.count("decisions", now)
        plan = self._policy(self._cluster.snapshot(), now)
        self._perform(plan)
        if plan.wake_at is not None:
            self._wakes_at = max(plan.wake_at, now + self._manner.idle)
            self._agenda.at(self._wakes_at, partial(self._wake, self._wakes_at))

    # ---- what is done

    def _perform(self, plan: Plan) -> None:
        cluster = self._cluster
        for launch in plan.launches:
            self._machines.launch(launch)
            self._promise(launch.name, launch.pods)
        for one in plan.nominations:
            self._promise(one.node, one.pods)
            self._binder.steer(one.node, one.pods)
        cluster.book.propose(plan.proposals)
        cluster.discourage(frozenset(plan.discouraged))
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

    def _joined(self, name: str) -> None:
        self._binder.steer(name, self._cluster.book.promised_to(name))
        self._departures.joined(name)
        node = self._cluster.nodes[name]
        pool = next(one for one in self._cluster.given.node_pools if one.name == node.node_pool)
        if pool.expire_after is not None and node.created_at is not None:
            expire = partial(self._expire, name)
            self._agenda.at(node.created_at + pool.expire_after, expire)

    def _expire(self, name: str) -> None:
        self._departures.begin(Disrupt(EXPIRED, (name,)))


def _owner(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.owner.uid or pod.owner.name}" if pod.owner else pod.key
