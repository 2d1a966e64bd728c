"""The rest of a cluster: a scheduler, replica sets, disruption budgets, and who takes away what has
lost its owner or its node. Small and plain; each looks at everything whenever anything happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from dovetail import api
from dovetail.controllers.known import NODE, NODE_CLAIM, NODE_POOL, POD
from dovetail.kube.errors import ApiError, ConflictError, NotFoundError
from dovetail.kube.memory import MemoryKube
from dovetail.kube.seam import Deletion, Json, Patch, PatchType, Ref, Scope
from dovetail.sim import wire
from dovetail.testing.virtual_time import VirtualTime
from dovetail.units import quantity

BUDGET = api.KINDS["policy", "PodDisruptionBudget"]
REPLICA_SET = api.KINDS["apps", "ReplicaSet"]
TERMINAL = ("Succeeded", "Failed")
_KINDS = (POD, NODE, NODE_CLAIM, NODE_POOL, REPLICA_SET, BUDGET)


class Company:
    """Whoever else works on a cluster."""

    def __init__(self, kube: MemoryKube, time: VirtualTime) -> None:
        self._kube = kube
        self._time = time
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in _KINDS:
                group.create_task(self._listen(kind))
            while True:
                await self._woken.wait()
                self._woken.clear()
                await self._see_to_all()

    async def _listen(self, kind: api.Kind) -> None:
        while True:
            async for _ in self._kube.watch(Scope(kind), since="0"):
                self._woken.set()

    async def _see_to_all(self) -> None:
        """What the API refuses is tried again when something has changed."""
        self._kube.collect_garbage()
        await self._bury()
        await self._replicate()
        await self._allow()
        await self._schedule()

    async def _all(self, kind: api.Kind) -> list[Any]:
        page = await self._kube.list(Scope(kind))
        return [api.decode(kind.wire_type, raw) for raw in page.items]

    # ---- pods of nodes that are gone

    async def _bury(self) -> None:
        nodes = {node.metadata.name for node in await self._all(NODE)}
        for pod in await self._all(POD):
            if pod.spec.node_name and pod.spec.node_name not in nodes:
                await self._kube.delete(_ref(pod), Deletion(grace_seconds=0))

    # ---- replica sets

    async def _replicate(self) -> None:
        pods = await self._all(POD)
        for one in await self._all(REPLICA_SET):
            if one.metadata.deletion_timestamp is not None:
                continue
            n_active = sum(is_active(pod) and _owns(one, pod) for pod in pods)
            for _ in range((one.spec.replicas or 0) - n_active):
                await self._kube.create(POD, self._pod(one), one.metadata.namespace)

    def _pod(self, owner: api.ReplicaSet) -> dict[str, Json]:
        template = owner.spec.template
        asked = _asked(template.spec)
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "generateName": f"{owner.metadata.name}-",
                "labels": {**template.metadata.labels},
                "ownerReferences": [wire.owner(owner, REPLICA_SET)],
            },
            "spec": {
                "containers": [{"name": "c", "image": "i", "resources": {"requests": asked}}]
            },
        }

    # ---- disruption budgets

    async def _allow(self) -> None:
        pods = await self._all(POD)
        for budget in await self._all(BUDGET):
            wanted = int(budget.spec.min_available)
            n_healthy = sum(is_available(pod) for pod in guarded(budget, pods))
            status: dict[str, Json] = {
                "observedGeneration": budget.metadata.generation,
                "disruptionsAllowed": max(n_healthy - wanted, 0),
                "desiredHealthy": wanted,
                "currentHealthy": n_healthy,
                "expectedPods": len(guarded(budget, pods)),
            }
            held = budget.status
            if held is None or (
                (held.disruptions_allowed, held.current_healthy, held.observed_generation)
                != (status["disruptionsAllowed"], n_healthy, budget.metadata.generation)
            ):
                await self._kube.patch(
                    _ref(budget, BUDGET), Patch({"status": status}, subresource="status")
                )

    # ---- scheduling

    async def _schedule(self) -> None:
        pods, nodes = await self._all(POD), await self._all(NODE)
        placed = [pod for pod in pods if pod.spec.node_name and pod.status.phase not in TERMINAL]
        waiting = [pod for pod in pods if not pod.spec.node_name and is_active(pod)]
        waiting.sort(key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.name))
        places = {pod.metadata.uid: pod.spec.node_name for pod in placed}
        for pod in waiting:
            node = _place(pod, nodes, pods, places)
            if node is None:
                await self._say_waiting(pod)
            elif await self._bind(pod, node):
                places[pod.metadata.uid] = node

    async def _bind(self, pod: api.Pod, node: str) -> bool:
        meta = pod.metadata
        body: dict[str, Json] = {
            "metadata": {"name": meta.name, "uid": meta.uid},
            "target": {"kind": "Node", "name": node},
        }
        try:
            await self._kube.create(wire.BINDING, body, meta.namespace)
        except (ConflictError, NotFoundError):
            return False
        return True

    async def _say_waiting(self, pod: api.Pod) -> None:
        if any(one.type == "PodScheduled" for one in pod.status.conditions):
            return
        said = wire.condition(
            "PodScheduled", holds=False, now=self._time.now(), reason="Unschedulable"
        )
        body: dict[str, Json] = {"status": {"conditions": [said]}}
        try:
            await self._kube.patch(_ref(pod), Patch(body, PatchType.STRATEGIC, "status"))
        except ApiError:
            return


def _place(
    pod: api.Pod, nodes: Sequence[api.Node], pods: Sequence[api.Pod], places: Mapping[str, str]
) -> str | None:
    """The nominated node if it will do, else the first that does. The room of pods that are
    nominated to a node is kept.
    """
    word = pod.status.nominated_node_name
    by_wish = sorted(nodes, key=lambda one: (one.metadata.name != word, one.metadata.name))
    for node in by_wish:
        name = node.metadata.name
        there = [
            one
            for one in pods
            if places.get(one.metadata.uid) == name
            or (one is not pod and not places.get(one.metadata.uid) and _is_meant(one, name))
        ]
        if takes_pods(node) and _fits([*there, pod], node):
            return name
    return None


def _is_meant(pod: api.Pod, node: str) -> bool:
    return pod.status.nominated_node_name == node and is_active(pod)


def _fits(pods: Iterable[api.Pod], node: api.Node) -> bool:
    asked = [_asked(pod.spec) for pod in pods]
    return all(
        sum(quantity.parse(one[name]) for one in asked)
        <= quantity.parse(node.status.allocatable[name])
        for name in ("cpu", "memory")
    )


def _asked(spec: api.PodSpec) -> dict[str, Any]:
    """What the only container asks for."""
    resources = msgspec.json.decode(spec.containers[0].resources)
    requests: dict[str, Any] = resources["requests"]
    return requests


def takes_pods(node: api.Node) -> bool:
    """Whether nothing keeps plain pods away from a node."""
    is_fenced = any(one.effect in {"NoSchedule", "NoExecute"} for one in node.spec.taints)
    return not is_fenced and not node.spec.unschedulable


def is_active(pod: api.Pod) -> bool:
    """Whether a pod counts as one of its owner's."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in TERMINAL


def is_available(pod: api.Pod) -> bool:
    """Whether a pod serves."""
    return is_active(pod) and wire.is_true(pod.status.conditions, "Ready")


def guarded(budget: api.PodDisruptionBudget, pods: Iterable[api.Pod]) -> list[api.Pod]:
    """The pods that a budget is about."""
    wanted = budget.spec.selector.match_labels if budget.spec.selector else {}
    return [pod for pod in pods if wanted.items() <= pod.metadata.labels.items()]


def _owns(owner: api.Object, pod: api.Pod) -> bool:
    return any(one.uid == owner.metadata.uid for one in pod.metadata.owner_references)


def _ref(found: api.Object, kind: api.Kind = POD) -> Ref:
    return Ref(kind, found.metadata.name, found.metadata.namespace)
