"""Runs the workload controllers of a cluster that has no kube-controller-manager.

Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, the counts of disruption budgets, and pods
that outlive their node. What has lost its owner goes when the server in memory is told to look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.clock import Clock, Timer
from dovetail.controllers.workqueue import WorkQueue
from dovetail.kube.errors import NotFoundError
from dovetail.kube.mirror import Absent, Mirror, Notice, Pace, Present
from dovetail.kube.seam import Kube, Ref, Scope
from dovetail.kube.typed import Intake
from dovetail.model.backoff import Chance
from dovetail.sim import wire
from dovetail.sim.controller_manager import budgets, daemons, jobs, replicas, stateful
from dovetail.sim.controller_manager.pod_control import PodControl, WorkloadObject, controller_uid
from dovetail.sim.wire import patient, tolerate

_Keep = Callable[[PodControl, WorkloadObject], Awaitable[float | None]]
_KEEP: Final[dict[str, tuple[api.Kind, _Keep]]] = {
    kind.name: (kind, keep)
    for kind, keep in (
        (replicas.DEPLOYMENT, replicas.keep_deployment),
        (replicas.REPLICA_SET, replicas.keep_replica_set),
        (stateful.STATEFUL_SET, stateful.keep_stateful_set),
        (daemons.DAEMON_SET, daemons.keep_daemon_set),
        (jobs.JOB, jobs.keep_job),
        (budgets.BUDGET, budgets.count_budget),
    )
}
_ORPHAN: Final = "Pod"
_ORPHANED_SECONDS: Final = 40.0  # a node may come back: so long its pods wait for it
_TIDY_SECONDS: Final = 1.0
_Errand = tuple[str, str, str]  # kind, namespace, name


class Workloads:
    """All workload controllers of a cluster."""

    def __init__(self, kube: Kube, clock: Clock, timer: Timer, *, chance: Chance) -> None:
        self._kube = kube
        self._timer = timer
        self._control = PodControl(kube, clock)
        self._errands: WorkQueue[_Errand] = WorkQueue(
            self._run_errand, failed=tolerate, queue_settings=patient(timer, chance, 1)
        )
        self._is_untidy = asyncio.Event()
        intake, pace = Intake(), Pace(timer, chance)
        kinds = (wire.NODE, wire.POD, *(kind for kind, _ in _KEEP.values()))
        self._mirrors = {
            kind.name: Mirror(kube, Scope(kind), tell=self._hear, intake=intake, pace=pace)
            for kind in kinds
        }

    async def run(self) -> None:
        """Be all controllers until cancelled."""
        async with asyncio.TaskGroup() as group:
            for mirror in self._mirrors.values():
                group.create_task(mirror.run())
            if isinstance(self._kube, MemoryKube):
                group.create_task(self._collect_garbage(self._kube))
            for mirror in self._mirrors.values():
                await mirror.wait_in_sync()
            await self._errands.run()

    async def _collect_garbage(self, kube: MemoryKube) -> None:
        """Collect what has lost its owner, a second after anything has changed."""
        while True:
            await self._is_untidy.wait()
            self._is_untidy.clear()
            await self._timer.sleep(_TIDY_SECONDS)
            kube.collect_garbage()

    def _hear(self, notice: Notice) -> None:
        if not isinstance(notice, Present | Absent):
            return
        self._is_untidy.set()
        item = notice.object
        match item:
            case api.Pod():
                self._hear_pod(item)
            case api.Node():
                self._hear_node(item.metadata.name)
            case _:
                key = (item.kind, item.metadata.namespace, item.metadata.name)
                self._errands.add(key)
                self._tell_owners(item)

    def _hear_pod(self, pod: api.Pod) -> None:
        self._tell_owners(pod)
        namespace = pod.metadata.namespace
        for place, name in self._mirrors[budgets.BUDGET.name].objects:
            if place == namespace:
                self._errands.add((budgets.BUDGET.name, place, name))
        if pod.spec.node_name and ("", pod.spec.node_name) not in self._mirrors["Node"].objects:
            self._errands.add_after((_ORPHAN, namespace, pod.metadata.name), self._delay_of(pod))

    def _hear_node(self, name: str) -> None:
        for namespace, daemon in self._mirrors[daemons.DAEMON_SET.name].objects:
            self._errands.add((daemons.DAEMON_SET.name, namespace, daemon))
        if ("", name) not in self._mirrors["Node"].objects:
            for pod in self._mirrors["Pod"].objects.values():
                if isinstance(pod, api.Pod) and pod.spec.node_name == name:
                    key = (_ORPHAN, pod.metadata.namespace, pod.metadata.name)
                    self._errands.add_after(key, self._delay_of(pod))

    def _delay_of(self, pod: api.Pod) -> float:
        return 0.0 if pod.metadata.deletion_timestamp is not None else _ORPHANED_SECONDS

    def _tell_owners(self, item: api.Object) -> None:
        """Whoever controls it looks again; a ReplicaSet's change is its Deployment's concern."""
        if not controller_uid(item):
            return
        for owner in item.metadata.owner_references:
            if owner.controller and owner.kind in _KEEP:
                self._errands.add((owner.kind, item.metadata.namespace, owner.name))

    async def _run_errand(self, errand: _Errand) -> float | None:
        kind_name, namespace, name = errand
        if kind_name == _ORPHAN:
            await self._delete_pod(Ref(wire.POD, name, namespace))
            return None
        kind, keep = _KEEP[kind_name]
        workload = await self._control.read(Ref(kind, name, namespace))
        if workload is None or workload.is_leaving:
            return None
        return await keep(self._control, workload)

    async def _delete_pod(self, ref: Ref) -> None:
        """Delete a pod whose node is gone for good."""
        try:
            pod = api.decode(api.Pod, await self._kube.get(ref))
        except NotFoundError:
            return
        if await self._control.read(Ref(wire.NODE, pod.spec.node_name)) is None:
            await self._control.delete_pod(pod, grace_seconds=0)
