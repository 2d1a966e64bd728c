"""Keeps the pods of Deployments, StatefulSets and CronJobs over time.

A pod that is told to end is replaced at once, that of a StatefulSet once it is gone. In a rollout
new pods come and old ones go in steps, so that never too many and never too few are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from itertools import count

from dovetail import labels
from dovetail.model.pod import Owner, Pod, PodKey
from dovetail.model.snapshot import DisruptionBudget
from dovetail.model.topology import equality
from dovetail.sim.demand import AppDemand, CronWork
from dovetail.sim.fast.cluster import FastCluster, FastKeeper


class Crew(FastKeeper):
    """The pods of one workload."""

    def __init__(self, workload: AppDemand, cluster: FastCluster) -> None:
        self._workload = workload
        self._cluster = cluster
        self._wanted = 0
        self._template = 0  # how often it has changed
        self._labels = self._labels_now()
        self._active: dict[PodKey, int] = {}  # pods that are to stay, and of which template
        self._ready: dict[PodKey, None] = {}
        self._going: set[PodKey] = set()
        self._numbers = count(1)
        self._is_planned = False
        self.ends_after = workload.ends_after

    def begin(self) -> None:
        """Plan all that is known to come."""
        agenda = self._cluster.agenda
        for moment, n_pods in self._workload.replicas:
            agenda.since_start(moment, partial(self.scale, n_pods))
        for moment in self._workload.rollouts:
            agenda.since_start(moment, self.roll_out)

    def adopt(self, pods: Iterable[Pod]) -> None:
        """These are there already."""
        for pod in pods:
            self._active[pod.key] = self._template
            self._wanted += 1
            if pod.node_name and pod.is_ready:
                self._ready[pod.key] = None
        self._count()

    def scale(self, n_pods: int) -> None:
        """From now on there are to be so many."""
        self._wanted = n_pods
        self._keep()

    def roll_out(self) -> None:
        """The template has changed."""
        self._template += 1
        self._labels = self._labels_now()
        self._keep()

    # ---- what is heard

    def became_ready(self, pod: Pod) -> None:
        """It runs and is ready."""
        self._ready[pod.key] = None
        self._schedule()

    def is_leaving(self, pod: Pod) -> None:
        """It was told to end."""
        self._active.pop(pod.key, None)
        self._ready.pop(pod.key, None)
        self._going.add(pod.key)
        self._schedule()

    def is_gone(self, pod: Pod) -> None:
        """It is no more."""
        self._going.discard(pod.key)
        self._active.pop(pod.key, None)
        self._ready.pop(pod.key, None)
        self._schedule()

    def lets_go(self, pod: Pod) -> bool:
        """Whether its disruption budget allows an eviction now."""
        del pod
        return not self._is_guarded or self._n_allowed() > 0

    def _schedule(self) -> None:
        """See to the number once everything of this moment has happened."""
        self._count()
        if not self._is_planned:
            self._is_planned = True
            self._cluster.agenda.after(timedelta(0), self._look)

    def _look(self) -> None:
        self._is_planned = False
        self._keep()

    # ---- the number

    def _keep(self) -> None:
        if self._workload.is_stateful:
            self._keep_numbers()
        else:
            self._keep_number()
        self._count()

    def _keep_number(self) -> None:
        old = [key for key, template in self._active.items() if template != self._template]
        n_new = len(self._active) - len(old)
        wanted, workload = self._wanted, self._workload
        n_most = wanted + _percent_up(workload.max_surge, wanted) if old else wanted
        for _ in range(min(wanted - n_new, n_most - len(self._active))):
            self._make(f"{workload.name}-{self._template}-{next(self._numbers)}")
        if old:
            self._retire(old)
        new = [key for key, template in self._active.items() if template == self._template]
        if len(new) > wanted:
            self._send_away(new, len(new) - wanted)

    def _retire(self, old: list[PodKey]) -> None:
        """Let old pods go, those that are not ready first, as long as enough are ready."""
        n_least = self._wanted - self._wanted * self._workload.max_unavailable // 100
        n_starting = sum(
            template == self._template and key not in self._ready
            for key, template in self._active.items()
        )
        n_most = len(self._active) - n_least - n_starting
        if n_most <= 0:
            return
        self._send_away([key for key in old if key not in self._ready], n_most)
        n_spare = max(len(self._ready) - n_least, 0)
        self._send_away([key for key in old if key in self._ready], n_spare)

    def _keep_numbers(self) -> None:
        """Each number has one pod; a changed template is taken up from the highest number down."""
        stem = f"{self._workload.namespace}/{self._workload.name}"
        names = {f"{stem}-{number}": number for number in range(self._wanted)}
        for key, number in names.items():
            if key not in self._active and key not in self._going:
                self._make(f"{self._workload.name}-{number}")
        for key in [key for key in self._active if key not in names]:
            self._cluster.end(key)
        old = [key for key, template in self._active.items() if template != self._template]
        if old and not self._going and len(self._ready) == len(self._active):
            self._cluster.end(max(old, key=lambda key: names.get(key, -1)))

    def _send_away(self, keys: Iterable[PodKey], n_pods: int) -> None:
        crowds: dict[str, int] = {}
        for key in self._active:
            node = self._cluster.pods[key].node_name
            crowds[node] = crowds.get(node, 0) + 1
        for key in sorted(keys, key=lambda pod: self._worth(pod, crowds))[:n_pods]:
            self._cluster.end(key)

    def _worth(self, key: PodKey, crowds: dict[str, int]) -> tuple[object, ...]:
        """Which pods go first: unbound, not ready, cheap to delete, those that crowd a node, the
        youngest.
        """
        pod = self._cluster.pods[key]
        age = pod.created_at.timestamp() if pod.created_at is not None else 0.0
        cost = self._cluster.deletion_cost(pod)
        return (bool(pod.node_name), pod.is_ready, cost, -crowds[pod.node_name], -age, key)

    def _make(self, name: str) -> None:
        workload = self._workload
        kind = "StatefulSet" if workload.is_stateful else "ReplicaSet"
        owner = name.rpartition("-")[0]
        pod = Pod(
            name=name,
            namespace=workload.namespace,
            spec=workload.spec,
            uid=f"{name}-{self._cluster.now.timestamp()}-{next(self._numbers)}",
            labels=self._labels,
            annotations=workload.annotations,
            owner=Owner(kind, owner, uid=f"{workload.namespace}/{owner}"),
            created_at=self._cluster.now,
            is_ready=False,
        )
        self._active[pod.key] = self._template
        self._cluster.make(pod, self)

    def _labels_now(self) -> dict[str, str]:
        result = dict(self._workload.pod_labels)
        is_stateful = self._workload.is_stateful
        mark = labels.CONTROLLER_REVISION_HASH if is_stateful else labels.POD_TEMPLATE_HASH
        result[mark] = str(self._template)
        return result

    def was_bound(self, pod: Pod) -> None:
        """It is ready after a while."""
        ready = partial(self._cluster.mark_ready, pod.key, pod.uid)
        self._cluster.agenda.after(self._workload.ready_after, ready)

    # ---- its disruption budget

    @property
    def _is_guarded(self) -> bool:
        return bool(self._workload.guard or self._workload.least)

    def _n_allowed(self) -> int:
        workload = self._workload
        if workload.guard:
            n_least = self._wanted - _share(workload.guard, self._wanted)
        else:
            n_least = _share(workload.least, self._wanted)
        return max(len(self._ready) - n_least, 0)

    def _count(self) -> None:
        workload = self._workload
        if self._is_guarded:
            self._cluster.set_budget(
                DisruptionBudget(
                    name=workload.guard_name or workload.name,
                    namespace=workload.namespace,
                    selector=equality(workload.pod_labels),
                    disruptions_allowed=self._n_allowed(),
                    min_available=workload.least,
                    max_unavailable=workload.guard,
                    expected_pods=self._wanted,
                )
            )


def _percent_up(percent: int, whole: int) -> int:
    return -(-percent * whole // 100)


def _share(amount: str, whole: int) -> int:
    return _percent_up(int(amount[:-1]), whole) if amount.endswith("%") else int(amount)


_N_KEPT = 3  # runs that are over and still listed
_MINUTE = 60


class CronCrew(FastKeeper):
    """The pods of one CronJob."""

    def __init__(self, work: CronWork, cluster: FastCluster) -> None:
        self._work = work
        self._cluster = cluster
        self._numbers = count(1)
        self._labels = {"job": work.name}
        self._over: dict[str, list[PodKey]] = {}  # pods that have succeeded, by job
        self.ends_after = work.ends_after

    def begin(self) -> None:
        """Plan the first run."""
        self._cluster.agenda.since_start(self._work.first_after, self._run)

    def _run(self) -> None:
        """Make a job, named by the minute as a CronJob names it."""
        job = f"{self._work.name}-{int(self._cluster.now.timestamp()) // _MINUTE}"
        for _ in range(self._work.n_pods):
            self._make(job)
        if self._work.every is not None:
            self._cluster.agenda.after(self._work.every, self._run)

    def _make(self, job: str) -> None:
        work = self._work
        name = f"{job}-{next(self._numbers)}"
        pod = Pod(
            name=name,
            namespace=work.namespace,
            spec=work.spec,
            uid=name,
            labels=self._labels,
            annotations=work.annotations,
            owner=Owner("Job", job, uid=job, api_version="batch/v1"),
            created_at=self._cluster.now,
            is_ready=False,
        )
        self._cluster.make(pod, self)

    # ---- what is heard

    def was_bound(self, pod: Pod) -> None:
        """It runs, and succeeds in time."""
        agenda, cluster = self._cluster.agenda, self._cluster
        agenda.after(timedelta(0), partial(cluster.mark_ready, pod.key, pod.uid))
        agenda.after(self._work.runs_for, partial(self._succeed, pod.key))

    def _succeed(self, key: PodKey) -> None:
        pod = self._cluster.pods.get(key)
        if pod is None or pod.deleting_at is not None or pod.owner is None:
            return
        self._cluster.finish(key)
        self._over.setdefault(pod.owner.name, []).append(key)
        while len(self._over) > _N_KEPT:
            for old in self._over.pop(min(self._over)):
                self._forget(old)

    def _forget(self, key: PodKey) -> None:
        pod = self._cluster.pods.get(key)
        if pod is not None:
            self._cluster.part(key, pod.uid)

    def is_leaving(self, pod: Pod) -> None:
        """It was sent away before it was done: another begins anew."""
        if pod.owner is not None:
            self._make(pod.owner.name)
