"""What does a judge do on a real API? Make nodes and pods, nominate, open, release, look."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from benchmarks import manifests
from benchmarks.live.surge import reaching
from benchmarks.manifests import Manifest
from benchmarks.peers import binding_objects
from benchmarks.peers.scheduling import Scheduler
from dovetail import api
from dovetail.controllers.pods.nominations import NominationWriter
from dovetail.kube.http.client import HttpKube
from dovetail.kube.seam import Json, Patch, Ref, Scope
from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodKey
from dovetail.model.snapshot import Snapshot

_Thing = TypeVar("_Thing")
_AT_ONCE: Final = 32
_POLL_SECONDS: Final = 0.25
_TURN_SECONDS: Final = 0.01
_QUIET_SECONDS: Final = 2.0  # by then it has heard of nodes that were just opened
_POD: Final = api.KINDS["", "Pod"]
_NODE: Final = api.KINDS["", "Node"]
_UNGATED: Final = Patch({"spec": {"schedulingGates": None}})


class Hands:
    """Writes to the API, and reads what came of it. Nothing takes longer than `deadline` allows."""

    def __init__(self, kube: HttpKube, deadline: float) -> None:
        self._kube = kube
        self._deadline = deadline
        self._uids: dict[PodKey, str] = {}

    async def found(self, snapshot: Snapshot) -> None:
        """Make what pods need before they can be."""
        await self._each(self._create, binding_objects.namespaces(snapshot))
        await self._each(self._create, binding_objects.replica_sets(snapshot.pods))

    async def add_nodes(self, nodes: Iterable[Node]) -> None:
        """Make nodes that are still closed: the API taints new nodes as not ready."""
        await self._each(self._create, map(binding_objects.node_manifest, nodes))

    async def open_nodes(self, nodes: Iterable[Node]) -> None:
        """Leave nodes only the taints that they are to keep."""
        await self._each(self._open, nodes)

    async def add_pods(self, pods: Iterable[Pod]) -> None:
        """Make pods, those without a node held by a gate."""
        await self._each(self._add_pod, pods)

    async def nominate(self, node: str, pods: Iterable[PodKey]) -> None:
        """Tell the scheduler that these pods are meant for the node."""
        told = [(key, self._uids[key]) for key in pods]
        for key, error in await NominationWriter(self._kube).steer(told, node):
            msg = f"nominating {key} to {node}: {error}"
            raise RuntimeError(msg)

    async def release(self, pod: PodKey) -> None:
        """Take the gate off a pod: now the scheduler queues it."""
        await self._kube.patch(_ref(pod), _UNGATED)

    async def until_tried(self, pod: PodKey) -> None:
        """Return when the scheduler has bound a pod, or has found no place for it."""
        while not _is_tried(msgspec.json.decode(await self._kube.get(_ref(pod)))):
            await self._pause(f"kube-scheduler does not try {pod}", _TURN_SECONDS)

    async def until_seen(self, scheduler: Scheduler, n_gated: int) -> None:
        """Return when the scheduler knows of all pods that are held."""
        await scheduler.until_listening(self._deadline)
        while (await asyncio.to_thread(scheduler.queues)).gated != n_gated:
            await self._pause("kube-scheduler does not know all pods")

    async def settled(self, scheduler: Scheduler) -> dict[PodKey, str]:
        """Where pods are bound once the scheduler has tried each, and none will be tried again by
        itself.
        """
        quiet_since, before = time.monotonic(), await asyncio.to_thread(scheduler.queues)
        while True:
            now, seen = time.monotonic(), await asyncio.to_thread(scheduler.queues)
            if seen != before or not seen.is_idle:
                quiet_since, before = now, seen
            elif now - quiet_since > _QUIET_SECONDS:
                node_by_pod = await self._node_by_pod()
                if seen.unschedulable == sum(not node for node in node_by_pod.values()):
                    return {pod: node for pod, node in node_by_pod.items() if node}
            await self._pause(f"kube-scheduler still tries: {seen}")

    async def _node_by_pod(self) -> dict[PodKey, str]:
        page = await self._kube.list(Scope(_POD))
        found: list[Any] = [msgspec.json.decode(raw) for raw in page.items]
        return {
            f"{one['metadata']['namespace']}/{one['metadata']['name']}": one["spec"].get(
                "nodeName", ""
            )
            for one in found
        }

    async def _pause(self, why: str, seconds: float = _POLL_SECONDS) -> None:
        if time.monotonic() > self._deadline:
            raise TimeoutError(why)
        await asyncio.sleep(seconds)

    async def _create(self, manifest: Manifest) -> Any:  # noqa: ANN401  JSON as it comes
        body: dict[str, Json] = json.loads(json.dumps(manifest))
        kind = api.find(str(body["apiVersion"]), str(body["kind"]))
        if kind is None:
            msg = f"no kind {body['kind']}"
            raise ValueError(msg)
        metadata: Any = body["metadata"]
        made = await self._kube.create(kind, body, metadata.get("namespace", ""))
        return msgspec.json.decode(made)

    async def _add_pod(self, pod: Pod) -> None:
        made = await self._create(binding_objects.pod_manifest(pod))
        self._uids[pod.key] = made["metadata"]["uid"]

    async def _open(self, node: Node) -> None:
        kept: list[Json] = json.loads(json.dumps(manifests.taints(node.taints)))
        await self._kube.patch(Ref(_NODE, node.name), Patch({"spec": {"taints": kept}}))

    async def _each(
        self, do: Callable[[_Thing], Awaitable[object]], things: Iterable[_Thing]
    ) -> None:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(thing: _Thing) -> None:
            async with slots:
                await do(thing)

        async with asyncio.TaskGroup() as group:
            for thing in things:
                group.create_task(one(thing))


@asynccontextmanager
async def hands_on(kubeconfig: Path, *, patience_seconds: float) -> AsyncIterator[Hands]:
    """Hands on an API, with so much time in all."""
    async with reaching(kubeconfig) as kube:
        yield Hands(kube, time.monotonic() + patience_seconds)


def _ref(pod: PodKey) -> Ref:
    namespace, _, name = pod.partition("/")
    return Ref(_POD, name, namespace)


def _is_tried(pod: Any) -> bool:  # noqa: ANN401  JSON as it comes
    held = pod.get("status", {}).get("conditions", ())
    return bool(pod["spec"].get("nodeName")) or any(
        one["type"] == "PodScheduled" and one.get("reason") == "Unschedulable" for one in held
    )
