"""Binds pods by kube-scheduler's rules where there is no kube-scheduler.

Pods are taken by priority, then by age. A pod that was promised a node (`nominatedNodeName`) is
tried there first, and its promise keeps room there from pods of equal or lower priority: room,
ports and attachments, not the company of other pods. A pod that fits nowhere is told so and tried
again when the cluster changes, after a wait that doubles from 1 to 10 seconds. Nobody is evicted
for another.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Clock, Timer, happens_within
from dovetail.kube.errors import ApiError, ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Mirror, Notice, Pace, Present
from dovetail.kube.seam import Body, Json, Kube, Patch, PatchType, Ref, Scope
from dovetail.kube.typed import Intake
from dovetail.model.backoff import Chance
from dovetail.model.pod import Pod, PodKey
from dovetail.sim import volumes, wire
from dovetail.sim.placing import Placing
from dovetail.sim.volumes import Storage
from dovetail.state.nodes import attach_limits, node_of
from dovetail.state.pods import listed_pod
from dovetail.state.specs import Templates

NAME: Final = "default-scheduler"
_SHORTEST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 10.0
_SCHEDULED: Final = "PodScheduled"
_KINDS: Final = (
    wire.NODE,
    wire.POD,
    api.KINDS["", "Namespace"],
    api.KINDS["storage.k8s.io", "CSINode"],
    volumes.CLAIM,
    volumes.VOLUME,
    volumes.CLASS,
)


class _Tried(msgspec.Struct, frozen=True):
    """A pod that fitted nowhere: how often, at what state of the cluster, not again before."""

    n_times: int
    revision: int
    next_at: float


class Scheduler:
    """Binds every pod that asks for the default scheduler."""

    def __init__(self, kube: Kube, clock: Clock, timer: Timer, *, chance: Chance) -> None:
        self._kube = kube
        self._clock = clock
        self._timer = timer
        self._templates = Templates()
        self._placing = Placing()
        self._rooms = self._placing.rooms
        self._waiting: dict[PodKey, tuple[Pod, api.Pod]] = {}
        self._tried: dict[PodKey, _Tried] = {}
        self._assumed: dict[PodKey, str] = {}
        self._limits: dict[str, api.CSINode] = {}
        self._nodes: dict[str, api.Node] = {}
        self._stored: dict[tuple[type[api.Object], str, str], api.Object] = {}
        self._revision = 0
        self._is_changed = asyncio.Event()
        intake, pace = Intake(), Pace(timer, chance)
        self._mirrors = [
            Mirror(kube, Scope(kind), tell=self._hear, intake=intake, pace=pace) for kind in _KINDS
        ]

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            for mirror in self._mirrors:
                group.create_task(mirror.run())
            for mirror in self._mirrors:
                await mirror.wait_in_sync()
            while True:
                self._is_changed.clear()
                await self._round()
                await happens_within(self._is_changed, self._rest_seconds(), self._timer)

    def _rest_seconds(self) -> float | None:
        """Until a pod may be tried again for which the cluster has changed meanwhile."""
        now = self._timer.elapsed_seconds()
        soonest = [item.next_at for item in self._tried.values() if item.revision < self._revision]
        return max(min(soonest) - now, 0.0) if soonest else None

    # ---- what is heard

    def _hear(self, notice: Notice) -> None:
        if isinstance(notice, Present):
            self._put(notice.object)
        elif isinstance(notice, Absent):
            self._drop(notice.object)
        self._is_changed.set()

    def _put(self, item: api.Object) -> None:
        name = item.metadata.name
        match item:
            case api.Pod():
                self._put_pod(item)
                return
            case api.Node():
                self._nodes[name] = item
                self._look_at(name)
            case api.CSINode():
                self._limits[name] = item
                self._look_at(name)
            case api.Namespace():
                self._placing.namespaces[name] = item.metadata.labels
            case _:
                self._stored[type(item), item.metadata.namespace, name] = item
                self._placing.storage = Storage(self._stored.values())
        self._revision += 1

    def _drop(self, item: api.Object) -> None:
        name = item.metadata.name
        match item:
            case api.Pod():
                self._forget(f"{item.metadata.namespace}/{name}")
            case api.Node():
                self._nodes.pop(name, None)
                self._rooms.drop_node(name)
            case api.CSINode():
                self._limits.pop(name, None)
                self._look_at(name)
            case api.Namespace():
                self._placing.namespaces.pop(name, None)
            case _:
                self._stored.pop((type(item), item.metadata.namespace, name), None)
                self._placing.storage = Storage(self._stored.values())
        self._revision += 1

    def _look_at(self, name: str) -> None:
        if name in self._nodes:
            csinode = self._limits.get(name)
            limits = attach_limits(csinode) if csinode is not None else {}
            node = msgspec.structs.replace(node_of(self._nodes[name]), attach_limits=limits)
            self._rooms.put_node(node)

    def _put_pod(self, wire_pod: api.Pod) -> None:
        pod = listed_pod(wire_pod, self._templates)
        if pod.is_terminal:
            self._revision += 1
            self._forget(pod.key)
        elif pod.node_name:
            if not self._rooms.has(pod.key) or pod.key in self._assumed:
                self._revision += 1  # others may have waited for its company
            self._forget(pod.key)
            self._rooms.put_pod(pod, pod.node_name)
        elif pod.deleting_at is not None or pod.spec.scheduler_name != NAME:
            self._forget(pod.key)
        elif pod.key not in self._assumed:
            before = self._waiting.get(pod.key)
            if before is not None and _asks_anew(before[0], pod):
                self._tried.pop(pod.key, None)
            self._wait(pod, wire_pod)

    def _wait(self, pod: Pod, wire_pod: api.Pod) -> None:
        self._leave(pod.key)
        self._waiting[pod.key] = (pod, wire_pod)
        self._placing.promise(pod)

    def _leave(self, key: PodKey) -> None:
        """Wait no more."""
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            self._placing.take_back(waiting[0])

    def _forget(self, key: PodKey) -> None:
        self._leave(key)
        self._tried.pop(key, None)
        self._assumed.pop(key, None)
        self._rooms.drop_pod(key)

    # ---- what is done

    async def _round(self) -> None:
        pods = [pod for pod, _ in self._waiting.values()]
        pods.sort(key=lambda pod: (-pod.spec.priority, str(pod.created_at), pod.key))
        for key in [pod.key for pod in pods]:
            waiting = self._waiting.get(key)
            if waiting is not None and self._may_try(key):
                await self._try(*waiting)

    def _may_try(self, key: PodKey) -> bool:
        tried = self._tried.get(key)
        if tried is None:
            return True
        return tried.revision < self._revision and self._timer.elapsed_seconds() >= tried.next_at

    async def _try(self, pod: Pod, wire_pod: api.Pod) -> None:
        revision = self._revision
        try:
            if pod.spec.is_gated:
                why = "Scheduling is blocked due to non-empty scheduling gates"
                await self._tell(wire_pod, "SchedulingGated", why)
                self._note(pod.key, revision)
                return
            chosen = self._placing.choose(pod)
            if chosen:
                await self._bind(pod, chosen)
                return
            self._note(pod.key, revision)
            await self._tell(wire_pod, "Unschedulable", self._placing.objections(pod))
        except NotFoundError:
            return  # it is gone, as the mirror will tell
        except ApiError:
            self._note(pod.key, revision - 1)  # once more, whatever happens meanwhile

    def _note(self, key: PodKey, revision: int) -> None:
        n_times = self._tried[key].n_times + 1 if key in self._tried else 1
        wait = min(_SHORTEST_SECONDS * 2.0 ** min(n_times - 1, 10), _LONGEST_SECONDS)
        self._tried[key] = _Tried(n_times, revision, self._timer.elapsed_seconds() + wait)

    async def _bind(self, pod: Pod, node_name: str) -> None:
        room = self._rooms.get(node_name)
        if room is not None and room.node is not None and pod.claim_names:
            await self._placing.storage.provision(self._kube, pod, room.node)
        body: Body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
        }
        wire_pod = self._waiting[pod.key][1]
        self._leave(pod.key)
        self._tried.pop(pod.key, None)
        self._assumed[pod.key] = node_name
        self._rooms.put_pod(pod, node_name)
        try:
            await self._kube.create(wire.BINDING, body, pod.namespace)
        except ConflictError:
            self._forget(pod.key)  # bound already, or another: the mirror will tell
        except ApiError:
            self._forget(pod.key)
            self._wait(pod, wire_pod)
            raise

    async def _tell(self, pod: api.Pod, reason: str, message: str) -> None:
        """Write why a pod waits, unless it says so already."""
        before = next((item for item in pod.status.conditions if item.type == _SCHEDULED), None)
        if before is not None and (before.reason, before.message) == (reason, message):
            return
        now = self._clock.now()
        if before is not None and before.status == "False" and before.last_transition_time:
            now = before.last_transition_time
        condition: Json = condition_of(reason, message, wire.stamp(now))
        body: Body = {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}}
        ref = Ref(wire.POD, pod.metadata.name, pod.metadata.namespace)
        await self._kube.patch(ref, Patch(body, PatchType.STRATEGIC, "status"))


def _asks_anew(before: Pod, now: Pod) -> bool:
    """Whether what failed for the pod as it was may work for it as it is."""
    return (before.uid, before.spec, before.labels, before.nominated_node_name) != (
        now.uid,
        now.spec,
        now.labels,
        now.nominated_node_name,
    )


def condition_of(reason: str, message: str, since: str) -> dict[str, Json]:
    """What a pod is told that waits."""
    return {
        "type": _SCHEDULED,
        "status": "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }
