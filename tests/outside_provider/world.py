"""A cluster whose nodes come from the provider of another package, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
from meadow_cloud.region import Region, region

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.cloud import registry
from dovetail.cloud.plugin import ProviderPlugin
from dovetail.kube.seam import Deletion, Json, Kube, Patch, Ref, Scope
from dovetail.live.providing import Means, Provided, provide
from dovetail.live.replica import Outside, Replica
from dovetail.observe.logs import SILENT
from dovetail.settings.operator import OperatorSettings
from dovetail.settings.sources import read_table
from dovetail.sim.scheduler import Scheduler
from dovetail.testing.virtual_time import VirtualTime
from tests.coverage.stage import Inline

POD = api.KINDS["", "Pod"]
NODE = api.KINDS["", "Node"]
NODE_POOL = api.KINDS["karpenter.sh", "NodePool"]
NODE_CLAIM = api.KINDS["karpenter.sh", "NodeClaim"]
BUDGET = api.KINDS["policy", "PodDisruptionBudget"]
_NOT_READY = "node.kubernetes.io/not-ready"
EVENT = api.Kind("", "v1", "Event", "events", api.Object)


class _Involved(msgspec.Struct, rename="camel"):
    kind: str


class Told(msgspec.Struct, rename="camel"):
    """An event: what it is about, and why."""

    reason: str
    involved_object: _Involved


class _Replica(Replica):
    """A replica that decides in virtual time."""

    def __init__(self, outside: Outside, kube: Kube, opened: Provided) -> None:
        super().__init__(outside, kube, kube, opened)
        self._thinking = Inline()


class OutsideWorld:
    """An API server, a region of the meadow, and the replica that works on both."""

    def __init__(self, name: str) -> None:
        self.time = VirtualTime()
        self.api = MemoryKube(self.time)
        self.region: Region = region(name)
        plugin: ProviderPlugin[Kube, msgspec.Struct] = registry.load("meadow")
        self.plugin = plugin
        (self.node_class,) = plugin.node_classes
        self.settings = read_table(plugin.settings, {"meadow-region": name}, {})
        self.outside = Outside(
            settings=OperatorSettings(provider="meadow"),
            environment={},
            clock=self.time,
            timer=self.time,
            chance=lambda: 0.5,
            log=SILENT,
            stopping=asyncio.Event(),
        )
        self.replica: Replica

    async def pass_(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(int(seconds)):
            await self.time.advance(timedelta(seconds=1))
            await self._untaint_ready_nodes()
            await self._end_pods()

    async def make(self, kind: api.Kind, name: str, spec: Json, **more: Json) -> None:
        """An object as `kubectl apply` makes it."""
        head: dict[str, Json] = {"apiVersion": kind.api_version, "kind": kind.name}
        meta: Json = {"name": name, **more}
        body = {**head, "metadata": meta, "spec": spec}
        await self.api.create(kind, body, "default" if kind.is_namespaced else "")

    async def set_up(self) -> None:
        """A node class, and a pool that lets no node be disrupted."""
        await self.make(self.node_class, "default", {"image": "spring", "cpus": [2, 4]})
        group, kind = self.node_class.group, self.node_class.name
        ref: Json = {"group": group, "kind": kind, "name": "default"}
        template: Json = {"spec": {"nodeClassRef": ref, "requirements": []}}
        disruption: Json = {"consolidateAfter": "Never", "budgets": [{"nodes": "100%"}]}
        await self.make(NODE_POOL, "pasture", {"template": template, "disruption": disruption})

    async def pod(self, name: str, **meta: Json) -> None:
        """A pod that needs a node."""
        asked: Json = {"requests": {"cpu": "1"}}
        container: Json = {"name": "c", "image": "i", "resources": asked}
        await self.make(POD, name, {"containers": [container]}, **meta)

    async def patch(self, kind: api.Kind, name: str, body: dict[str, Json]) -> None:
        """A change as `kubectl patch` makes it."""
        await self.api.patch(Ref(kind, name), Patch(body))

    async def claims(self) -> list[api.NodeClaim]:
        """Every NodeClaim."""
        page = await self.api.list(Scope(NODE_CLAIM))
        return [api.decode(api.NodeClaim, raw) for raw in page.items]

    async def pods(self) -> dict[str, str]:
        """The node of every pod."""
        page = await self.api.list(Scope(POD))
        found = [api.decode(api.Pod, raw) for raw in page.items]
        return {one.metadata.name: one.spec.node_name for one in found}

    async def told(self) -> set[tuple[str, str]]:
        """Kind and reason of every event."""
        page = await self.api.list(Scope(EVENT))
        found = [msgspec.json.decode(raw, type=Told) for raw in page.items]
        return {(one.involved_object.kind, one.reason) for one in found}

    async def _untaint_ready_nodes(self) -> None:
        """What the node lifecycle controller does once a kubelet reports."""
        page = await self.api.list(Scope(NODE))
        for one in (api.decode(api.Node, raw) for raw in page.items):
            taints: list[Json] = [
                {"key": taint.key, "effect": taint.effect}
                for taint in one.spec.taints
                if taint.key != _NOT_READY
            ]
            if len(taints) < len(one.spec.taints):
                await self.patch(NODE, one.metadata.name, {"spec": {"taints": taints}})

    async def _end_pods(self) -> None:
        """What kubelets do with pods that are deleted, and workloads after that: make another."""
        page = await self.api.list(Scope(POD))
        for one in (api.decode(api.Pod, raw) for raw in page.items):
            if one.metadata.deletion_timestamp is not None:
                name, meta = one.metadata.name, one.metadata
                await self.api.delete(Ref(POD, name, "default"), Deletion(grace_seconds=0))
                again: Json = {**meta.annotations}
                await self.pod(name, annotations=again, labels={**meta.labels})


@asynccontextmanager
async def living(world: OutsideWorld) -> AsyncIterator[OutsideWorld]:
    """The provider is opened, and the replica leads, for as long as the block lasts."""
    means = Means(world.api, world.time, world.time, SILENT)
    async with (
        provide(world.plugin, means, world.settings) as opened,
        asyncio.TaskGroup() as group,
    ):
        world.replica = _Replica(world.outside, world.api, opened)
        scheduler = Scheduler(world.api, world.time, world.time, chance=lambda: 0.5)
        tasks = [group.create_task(scheduler.run())]
        tasks += [group.create_task(_run(one.run)) for one in world.replica.background()]
        await world.time.advance()
        assert await world.replica.taken_over()
        tasks += [group.create_task(_run(one.run)) for one in world.replica.leader_loops()]
        await world.time.advance()
        yield world
        for task in tasks:
            task.cancel()


async def _run(run: object) -> None:
    assert callable(run)
    await run()
