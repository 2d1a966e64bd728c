"""A cluster in memory for stand-ins to live in, and short ways to change and read it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.kube.seam import Deletion, Kube, Patch, Ref, Scope
from dovetail.providers.kwok import store
from dovetail.testing.virtual_time import VirtualTime
from tests.conformance.kube.objects import BINDING, NODE, POD, named, read

Tree = dict[str, Any]
GI = 2**30
LABELS = {labels.OS: "linux", labels.ARCH: "amd64", labels.ZONE: "a"}


def no_chance() -> float:
    """Always the least."""
    return 0.0


class Cluster:
    """An API in memory, in virtual time."""

    def __init__(self, kube: Kube | None = None) -> None:
        self.time = VirtualTime()
        self.memory = MemoryKube(self.time)
        self.kube: Kube = kube or self.memory

    @asynccontextmanager
    async def living(self, *lives: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
        """Let stand-ins run for as long as the block lasts."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(life) for life in lives]
            await self.settle()
            yield
            for task in tasks:
                task.cancel()

    async def settle(self, seconds: float = 0.0) -> None:
        """Let others do what there is to do, and let so much time pass."""
        await self.time.advance(timedelta(seconds=seconds))
        for _ in range(5):
            await self.time.advance()

    async def machine(self, name: str, **more: Any) -> Ref:
        """A Node as the kwok provider registers it."""
        given = {"cpu": 4000, "memory": 8 * GI, "pods": 110, **more.pop("room", {})}
        held = store.Machine(
            name=name,
            claim_uid=f"claim-{name}",
            labels={**LABELS, **more.pop("labels", {})},
            capacity=given,
            allocatable=given,
            price_nanousd=1,
            launched_at=self.time.now(),
            appears_at=self.time.now(),
        )
        body: Tree = {**store.node(held, {}, {})}
        body["spec"] |= more
        return await self.make(NODE, body)

    async def make(self, kind: api.Kind, body: Tree, namespace: str = "default") -> Ref:
        """Create an object."""
        identity = {"apiVersion": kind.api_version, "kind": kind.name}
        place = namespace if kind.is_namespaced else ""
        raw = await self.kube.create(kind, {**identity, **body}, place)
        return Ref(kind, read(raw)["metadata"]["name"], place)

    async def pod(self, name: str, **spec: Any) -> Ref:
        """A pod of one container that asks for 1 cpu, unless `requests` says otherwise."""
        namespace = spec.pop("namespace", "default")
        meta = {key: spec.pop(key) for key in ("labels", "annotations") if key in spec}
        container: Tree = {"name": "main", "image": "registry.example/main:1"}
        container["resources"] = {"requests": spec.pop("requests", {"cpu": "1"})}
        if "ports" in spec:
            container["ports"] = spec.pop("ports")
        body = {**named(name, **meta), "spec": {"containers": [container], **spec}}
        return await self.make(POD, body, namespace)

    async def bind(self, ref: Ref, node_name: str) -> None:
        """Give a pod its node."""
        body = {**named(ref.name), "target": {"kind": "Node", "name": node_name}}
        await self.kube.create(BINDING, body, ref.namespace)

    async def get(self, ref: Ref) -> Tree:
        """An object as it is now."""
        return read(await self.kube.get(ref))

    async def all(self, kind: api.Kind, namespace: str = "", **selectors: str) -> list[Tree]:
        """Every object of a kind."""
        page = await self.kube.list(Scope(kind, namespace, **selectors))
        return [read(raw) for raw in page.items]

    async def names(self, kind: api.Kind) -> list[str]:
        """Every object of a kind, by name."""
        return [one["metadata"]["name"] for one in await self.all(kind)]

    async def places(self) -> dict[str, str]:
        """The node of each pod, empty if it has none."""
        pods = await self.all(POD)
        return {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in pods}

    async def patch(self, ref: Ref, body: Tree, subresource: str = "") -> Tree:
        """Lay a merge patch over an object."""
        return read(await self.kube.patch(ref, Patch(body, subresource=subresource)))

    async def delete(self, ref: Ref, **how: Any) -> None:
        """Delete an object."""
        await self.kube.delete(ref, Deletion(**how))


def conditions(tree: Tree) -> dict[str, str]:
    """The conditions of an object: their status by type."""
    return {one["type"]: one["status"] for one in tree.get("status", {}).get("conditions", [])}
