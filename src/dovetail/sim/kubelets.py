"""Simulates the kubelets of kwok nodes, all in one object.

They make the nodes of the kwok provider Ready, take the not-ready taint off, renew leases, make
bound pods Running and Ready, and end deleted pods at once. Nodes that are not theirs (`OwnNodes`)
are never touched, nor are their pods. 5,000 pods take seconds, but not under the rate limit of a
controller: give them a client of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Clock, Timer
from dovetail.controllers.workqueue import WorkQueue
from dovetail.kube.errors import AlreadyExistsError, ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Key, Mirror, Notice, Pace, Present
from dovetail.kube.seam import Body, Deletion, Json, Kube, Patch, PatchType, Ref, Scope
from dovetail.kube.typed import Intake
from dovetail.model.backoff import Chance
from dovetail.model.pod import TERMINAL_PHASES
from dovetail.providers.kwok.store import FAKE, recorded_machine
from dovetail.sim import wire
from dovetail.sim.wire import patient, tolerate
from dovetail.units import duration

RUNS_FOR: Final = "kwok.x-k8s.io/runs-for"  # on a pod: after so long it has succeeded
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_STATUS: Final = "status"
NAMESPACE: Final = "kube-node-lease"
_LASTS_SECONDS: Final = 40
_N_TURNS: Final = 8


def _is_kwok(node: api.Node) -> bool:
    """Whether the kwok provider made it: its record is there, and is its own."""
    machine = recorded_machine(node.metadata.annotations)
    return machine is not None and machine.name == node.metadata.name


class OwnNodes(msgspec.Struct, frozen=True):
    """Which nodes have these kubelets: the selected ones that are ours, on a closer look."""

    selector: str = f"{FAKE}=fake"
    is_ours: Callable[[api.Node], bool] = _is_kwok


class Habits(msgspec.Struct, frozen=True):
    """How kubelets go about it. `lease_seconds` 0: they keep no leases, where nobody reads them."""

    ready_after_seconds: float = 0.0
    start_pod_seconds: float = 0.0
    lease_seconds: float = 20.0
    n_at_once: int = 64
    nodes: OwnNodes = OwnNodes()


class _Task(StrEnum):
    NODE = "node"
    POD = "pod"
    LEASE = "lease"


_Errand = tuple[_Task, Key]
_DEFAULT: Final = Habits()


class Kubelets:
    """Kubelets for every node that is theirs, or will be: by default those of the kwok provider."""

    def __init__(
        self, kube: Kube, clock: Clock, timer: Timer, *, chance: Chance, habits: Habits = _DEFAULT
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._timer = timer
        self._habits = habits
        self._is_ours = habits.nodes.is_ours
        self._heartbeats = Heartbeats(kube, clock)
        self._errands: WorkQueue[_Errand] = WorkQueue(
            self._run_errand,
            failed=tolerate,
            queue_settings=patient(timer, chance, habits.n_at_once),
        )
        self._pods_by_node: dict[str, dict[Key, None]] = {}
        intake, pace = Intake(), Pace(timer, chance)
        self._nodes = Mirror(
            kube, Scope(wire.NODE, labels=habits.nodes.selector), tell=self._hear_node,
            intake=intake, pace=pace,
        )  # fmt: skip
        self._pods = Mirror(
            kube, Scope(wire.POD, fields="spec.nodeName!="), tell=self._hear_pod, intake=intake,
            pace=pace,
        )  # fmt: skip

    async def run(self) -> None:
        """Be all kubelets until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._nodes.run())
            group.create_task(self._pods.run())
            group.create_task(self._errands.run())
            if self._habits.lease_seconds > 0:
                group.create_task(self._keep_leases())

    async def _keep_leases(self) -> None:
        def tell(name: str) -> None:
            self._errands.add((_Task.LEASE, ("", name)))

        await self._heartbeats.run(self._timer, self._habits.lease_seconds, tell)

    # ---- what is heard

    def _hear_node(self, notice: Notice) -> None:
        match notice:
            case Present(object=api.Node() as node) if self._is_ours(node):
                name = node.metadata.name
                is_starting = not wire.is_true(node.status.conditions, "Ready")
                wait = self._habits.ready_after_seconds if is_starting else 0.0
                self._errands.add_after((_Task.NODE, ("", name)), wait)
                if self._heartbeats.join(name):
                    self._greet(name)
            case Absent(object=api.Node() as node):
                self._heartbeats.leave(node.metadata.name)

    def _greet(self, node_name: str) -> None:
        """Begin with a node's first lease, and with pods that were heard of before it."""
        if self._habits.lease_seconds > 0:
            self._errands.add((_Task.LEASE, ("", node_name)))
        for key in self._pods_by_node.get(node_name, ()):
            self._errands.add_after((_Task.POD, key), self._habits.start_pod_seconds)

    def _hear_pod(self, notice: Notice) -> None:
        match notice:
            case Present(object=api.Pod() as pod):
                key = (pod.metadata.namespace, pod.metadata.name)
                self._pods_by_node.setdefault(pod.spec.node_name, {})[key] = None
                if self._node_of(pod) is not None:
                    self._errands.add_after((_Task.POD, key), self._start_wait(pod))
            case Absent(object=api.Pod() as pod):
                on_node = self._pods_by_node.get(pod.spec.node_name, {})
                on_node.pop((pod.metadata.namespace, pod.metadata.name), None)
                if not on_node:
                    self._pods_by_node.pop(pod.spec.node_name, None)

    def _start_wait(self, pod: api.Pod) -> float:
        is_starting = pod.metadata.deletion_timestamp is None and pod.status.phase == "Pending"
        return self._habits.start_pod_seconds if is_starting else 0.0

    def _node_of(self, pod: api.Pod) -> api.Node | None:
        """The node of ours that the pod is bound to."""
        node = self._nodes.objects.get(("", pod.spec.node_name))
        return node if isinstance(node, api.Node) and self._is_ours(node) else None

    # ---- what is done

    async def _run_errand(self, errand: _Errand) -> float | None:
        """Do it; after how many seconds it is to be done again."""
        task, key = errand
        try:
            if task is _Task.POD:
                return await self._tend_pod(key)
            node = self._nodes.objects.get(key)
            if not isinstance(node, api.Node) or not self._is_ours(node):
                return None
            if task is _Task.LEASE:
                await self._heartbeats.renew(node)
            else:
                await self._tend_node(node)
        except NotFoundError:
            return None  # it has gone meanwhile
        return None

    async def _tend_node(self, node: api.Node) -> None:
        ref = Ref(wire.NODE, node.metadata.name)
        if not wire.is_true(node.status.conditions, "Ready"):
            body = wire.ready_node(node, self._clock.now())
            await self._kube.patch(ref, Patch(body, PatchType.STRATEGIC, _STATUS))
        # The last first, so that the others keep their places.
        places = [at for at, taint in enumerate(node.spec.taints) if taint.key == _NOT_READY]
        for at in reversed(places):
            path = f"/spec/taints/{at}"
            untainted: list[Json] = [
                {"op": "test", "path": f"{path}/key", "value": _NOT_READY},
                {"op": "remove", "path": path},
            ]
            await self._kube.patch(ref, Patch(untainted, PatchType.JSON))

    async def _tend_pod(self, key: Key) -> float | None:
        pod = self._pods.objects.get(key)
        node = self._node_of(pod) if isinstance(pod, api.Pod) else None
        if not isinstance(pod, api.Pod) or node is None:
            return None
        ref = Ref(wire.POD, pod.metadata.name, pod.metadata.namespace)
        now = self._clock.now()
        try:
            if pod.metadata.deletion_timestamp is not None:
                await self._kube.delete(ref, Deletion(uid=pod.metadata.uid, grace_seconds=0))
            elif pod.status.phase == "Pending":
                body = wire.running_pod(pod, node, now)
                await self._kube.patch(ref, Patch(body, PatchType.STRATEGIC, _STATUS))
            elif pod.status.phase not in TERMINAL_PHASES:
                return await self._end_in_time(ref, pod, now)
        except ConflictError:
            return None  # another pod of that name, of which the mirror will tell
        return None

    async def _end_in_time(self, ref: Ref, pod: api.Pod, now: datetime) -> float | None:
        """Let a pod succeed that says how long it runs, once it has run for so long."""
        ends_at = _ends_at(pod)
        if ends_at is None:
            return None
        left = (ends_at - now).total_seconds()
        if left > 0:
            return left
        body = wire.succeeded_pod(pod, now)
        await self._kube.patch(ref, Patch(body, PatchType.STRATEGIC, _STATUS))
        return None


def _ends_at(pod: api.Pod) -> datetime | None:
    annotation = pod.metadata.annotations.get(RUNS_FOR)
    if annotation is None or pod.status.start_time is None:
        return None
    try:
        return pod.status.start_time + duration.parse(annotation)
    except ValueError:
        return None  # not written for us to understand


class Heartbeats:
    """The leases of some nodes, renewed in turns."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._turns: tuple[dict[str, None], ...] = tuple({} for _ in range(_N_TURNS))
        self._turn_by_node: dict[str, int] = {}
        self._n_joined = 0

    def join(self, node_name: str) -> bool:
        """Renew for this node from now on; whether it is new here."""
        if node_name in self._turn_by_node:
            return False
        turn = self._turn_by_node[node_name] = self._n_joined % _N_TURNS
        self._turns[turn][node_name] = None
        self._n_joined += 1
        return True

    def leave(self, node_name: str) -> None:
        """Renew no more. The lease itself goes with its node, which owns it."""
        turn = self._turn_by_node.pop(node_name, None)
        if turn is not None:
            del self._turns[turn][node_name]

    async def run(self, timer: Timer, every_seconds: float, tell: Callable[[str], None]) -> None:
        """Name every node once in so many seconds, until cancelled."""
        while True:
            for names in self._turns:
                await timer.sleep(every_seconds / _N_TURNS)
                for name in names:
                    tell(name)

    async def renew(self, node: api.Object) -> None:
        """Write that the node lives. Raises ApiError."""
        name = node.metadata.name
        renewed: dict[str, Json] = {"renewTime": wire.fine_stamp(self._clock.now())}
        try:
            await self._kube.patch(Ref(wire.LEASE, name, NAMESPACE), Patch({"spec": renewed}))
        except NotFoundError:
            await self._make(node, renewed)

    async def _make(self, node: api.Object, renewed: dict[str, Json]) -> None:
        name = node.metadata.name
        body: Body = {
            "apiVersion": wire.LEASE.api_version,
            "kind": wire.LEASE.name,
            "metadata": {
                "name": name,
                "ownerReferences": [wire.owner(node, wire.NODE, controls=False)],
            },
            "spec": {"holderIdentity": name, "leaseDurationSeconds": _LASTS_SECONDS, **renewed},
        }
        try:
            await self._kube.create(wire.LEASE, body, NAMESPACE)
        except AlreadyExistsError:
            return  # another renewal was faster
