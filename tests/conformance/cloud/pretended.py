"""A kwok cloud over the in-process API, in virtual time, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.errors import SoldOut
from dovetail.kube.seam import Body, Deletion, Json, Kube, Page, Patch, Ref, Scope, WatchEvent
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.requirements import Requirement
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.faults import Faults, NoCapacity
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.state.objects import claim_object
from dovetail.testing.virtual_time import VirtualTime
from dovetail.units import quantity

NODE = api.KINDS["", "Node"]
NODE_CLAIM = api.KINDS[labels.GROUP, "NodeClaim"]
NODE_CLASS = kwok_node_class.KIND
POOL = NodePool("default", node_class=NodeClassRef(labels.KWOK_GROUP, "KWOKNodeClass", "default"))


class DistantKube:
    """An API that takes a while: whoever calls it can be cut off before it acts, and after."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def get(self, ref: Ref) -> msgspec.Raw:
        """As the API behind it."""
        await asyncio.sleep(0)
        found = await self._kube.get(ref)
        await asyncio.sleep(0)
        return found

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """As the API behind it."""
        await asyncio.sleep(0)
        found = await self._kube.list(scope, limit=limit, token=token)
        await asyncio.sleep(0)
        return found

    def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """As the API behind it."""
        return self._kube.watch(scope, since=since)

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """As the API behind it."""
        await asyncio.sleep(0)
        made = await self._kube.create(kind, body, namespace)
        await asyncio.sleep(0)
        return made

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """As the API behind it."""
        await asyncio.sleep(0)
        changed = await self._kube.patch(ref, patch)
        await asyncio.sleep(0)
        return changed

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """As the API behind it."""
        await asyncio.sleep(0)
        await self._kube.delete(ref, how)
        await asyncio.sleep(0)

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """As the API behind it."""
        await asyncio.sleep(0)
        await self._kube.evict(ref, how)
        await asyncio.sleep(0)


class PretendedCloud:
    """A kwok cloud and everything around it."""

    def __init__(
        self, types: Sequence[InstanceType], kind: type[KwokProvider] = KwokProvider
    ) -> None:
        self.time = VirtualTime()
        self.kube: Kube = DistantKube(MemoryKube(self.time))
        self.faults = Faults()
        self.pool = POOL
        self._types = types
        self._kind = kind
        self.provider = self.restarted()

    def restarted(self) -> KwokProvider:
        """Another provider of the same cloud."""
        surroundings = ProviderContext(kube=self.kube, clock=self.time, timer=self.time)
        return self._kind(surroundings, types=self._types, ordered=self.faults)

    async def claim(
        self, name: str, *requirements: Requirement, requests: dict[str, int] | None = None
    ) -> ClaimObject:
        """A claim of the pool, as the API server stores it."""
        return claim_object(await self.wire_claim(name, requirements, requests or {}))

    async def wire_claim(
        self, name: str, requirements: Iterable[Requirement], requests: dict[str, int]
    ) -> api.NodeClaim:
        """The same as the API has it."""
        wanted: list[Json] = [
            {"key": key, "operator": str(operator), "values": [*values]}
            for one in requirements
            for key, operator, values, _ in one.wire()
        ]
        body: Body = {
            "apiVersion": NODE_CLAIM.api_version,
            "kind": NODE_CLAIM.name,
            "metadata": {
                "name": name,
                "labels": {labels.NODE_POOL: POOL.name, "team": "a"},
                "annotations": {"example.com/note": "kept"},
            },
            "spec": {
                "nodeClassRef": {
                    "group": POOL.node_class.group,
                    "kind": POOL.node_class.kind,
                    "name": POOL.node_class.name,
                },
                "requirements": wanted,
                "resources": {
                    "requests": {
                        key: quantity.render(key, amount) for key, amount in requests.items()
                    }
                },
            },
        }
        return api.decode(api.NodeClaim, await self.kube.create(NODE_CLAIM, body))

    async def sell_out(self, offering: SoldOut) -> None:
        """From now on, that offering cannot be had."""
        self.faults.order(
            NoCapacity(
                instance_type=offering.instance_type,
                zone=offering.zone,
                capacity_type=offering.capacity_type,
            )
        )

    async def settle(self) -> None:
        """Let a minute pass."""
        await self.time.advance(timedelta(minutes=1))

    async def moment(self) -> None:
        """One step of the event loop."""
        await asyncio.sleep(0)

    async def node_class(self, delay: str = "", name: str = "default") -> None:
        """Make a node class."""
        spec: dict[str, Json] = {"nodeRegistrationDelay": delay} if delay else {}
        body: Body = {
            "apiVersion": NODE_CLASS.api_version,
            "kind": NODE_CLASS.name,
            "metadata": {"name": name},
            "spec": spec,
        }
        await self.kube.create(NODE_CLASS, body)

    async def node(self, name: str) -> api.Node:
        """The Node of that name. Raises NotFoundError."""
        return api.decode(api.Node, await self.kube.get(Ref(NODE, name)))

    async def node_names(self) -> list[str]:
        """Every Node."""
        page = await self.kube.list(Scope(NODE))
        return [api.decode(api.Node, raw).metadata.name for raw in page.items]


@asynccontextmanager
async def pretended_cloud(
    delay: str = "", types: Sequence[InstanceType] | None = None
) -> AsyncIterator[PretendedCloud]:
    """An empty kwok cloud whose provider does its work."""
    cloud = PretendedCloud(instance_types() if types is None else types)
    await cloud.node_class(delay)
    async with asyncio.TaskGroup() as group:
        working = group.create_task(cloud.provider.run())
        yield cloud
        working.cancel()
