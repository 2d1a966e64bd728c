"""A cluster in the process with our loops at work, in virtual time, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.cloud.context import ProviderContext
from dovetail.controllers.cache import NODE, NODE_CLAIM, NODE_POOL, POD, WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.feed import Feed, watched_kinds
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.mirror import Notice, Pace
from dovetail.kube.seam import Deletion, Json, Kube, Patch, Ref, Scope, WatchEvent
from dovetail.model.instance import InstanceType
from dovetail.observe.events import Recorder
from dovetail.observe.logs import SILENT
from dovetail.observe.meters import Meters
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.faults import Faults
from dovetail.providers.kwok.plugin import PLUGIN as KWOK_PLUGIN
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.state.changes import NOTHING, Change, Observed, Touched, Vanished
from dovetail.state.cluster import Cluster
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube

KWOK = kwok_node_class.KIND
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
TYPES = tuple(
    one for one in instance_types() if one.name in {"c-1x-amd64-linux", "c-2x-amd64-linux"}
)


class Told(Recorder):
    """A recorder that remembers every event."""

    def __init__(self, kube: Kube, time: VirtualTime) -> None:
        super().__init__(kube, time, time)
        self.events: list[Event] = []

    def tell(self, event: Event) -> None:
        """Keep it too."""
        self.events.append(event)
        super().tell(event)

    def reasons(self, name: str) -> list[str]:
        """What was told of an object."""
        return [one.reason for one in self.events if one.name == name]


class NotingCluster(Cluster):
    """A memory that remembers what became of our own doing."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[Change] = []

    def apply(self, change: Change) -> Touched:
        """As any memory, and noted."""
        if not isinstance(change, Observed | Vanished):
            self.outcomes.append(change)
        return super().apply(change)


class World:
    """An API, a kwok cloud and a feed; `kube` may wrap the API for whoever works on it."""

    def __init__(
        self,
        *,
        types: Sequence[InstanceType] = TYPES,
        wrap: Callable[[Kube], Kube] = lambda kube: kube,
        cloud: type[KwokProvider] = KwokProvider,
        gates: dict[str, bool] | None = None,
        held: World | None = None,
    ) -> None:
        self.time: VirtualTime = VirtualTime() if held is None else held.time
        self.api: MemoryKube = MemoryKube(self.time) if held is None else held.api
        self.kube = wrap(self.api)
        self.faults = Faults()
        surroundings = ProviderContext(kube=self.api, clock=self.time, timer=self.time)
        self.cloud = cloud(surroundings, types=types, ordered=self.faults)
        self.cluster = NotingCluster()
        self.cache = WatchCache(self.cluster, (KWOK,))
        self.touched = NOTHING
        self.feed = Feed(
            self.kube,
            self.cache,
            watched_kinds((KWOK,), gates or {}),
            pace=Pace(self.time, lambda: 0.5),
            touched=self._touch,
        )
        self.told = Told(self.api, self.time)
        self.dependencies = Dependencies(
            extensions=(KWOK_PLUGIN.extension,),
            kube=self.kube,
            cloud=self.cloud,
            clock=self.time,
            timer=self.time,
            chance=lambda: 1.0,
            recorder=self.told,
            log=SILENT,
            meters=Meters(),
        )

    def again(self) -> World:
        """The same cluster after a restart of ours."""
        return World(held=self)

    def touch(self, touched: Touched) -> None:
        """Something could matter; a loop may be told in place of this."""
        self.touched |= touched

    def _touch(self, touched: Touched) -> None:
        self.touch(touched)

    async def pass_(self, seconds: float) -> None:
        """Let time pass."""
        await self.time.advance(timedelta(seconds=seconds))

    def subscribe(self, listener: Callable[[Notice], None]) -> None:
        """Tell this one of changes."""
        self.feed.subscribe(listener)

    # ---- what users and kubelets do

    async def node_class(self, name: str = "default", delay: str = "") -> None:
        """A node class."""
        spec: dict[str, Json] = {"nodeRegistrationDelay": delay} if delay else {}
        await self.api.create(KWOK, {**_head(KWOK, name), "spec": spec})

    async def pool(self, name: str = "default", **spec: Json) -> api.NodePool:
        """A pool; `template` adds to what its nodes are made from."""
        template = spec.pop("template", {})
        assert isinstance(template, dict)
        body: dict[str, Json] = {
            **_head(NODE_POOL, name),
            "spec": {
                "template": {
                    "metadata": template.pop("metadata", {}),
                    "spec": {"nodeClassRef": _ref(), "requirements": [], **template},
                },
                **spec,
            },
        }
        return api.decode(api.NodePool, await self.api.create(NODE_POOL, body))

    async def claim(self, name: str = "one", pool: str = "default", **spec: Json) -> None:
        """A claim, of a pool if that is there."""
        meta: dict[str, Json] = {"name": name}
        if pool:
            meta["labels"] = {labels.NODE_POOL: pool}
            held = self.cache.pool(pool)
            if held is not None:
                owner: Json = {
                    "apiVersion": "karpenter.sh/v1",
                    "kind": "NodePool",
                    "name": pool,
                    "uid": held.metadata.uid,
                }
                meta["ownerReferences"] = [owner]
        asked: Json = {"requests": {"cpu": "500m"}}
        body: dict[str, Json] = {
            **_head(NODE_CLAIM, name),
            "metadata": meta,
            "spec": {"nodeClassRef": _ref(), "requirements": [], "resources": asked, **spec},
        }
        await self.api.create(NODE_CLAIM, body)

    async def ready(self, name: str = "one", status: str = "True") -> None:
        """The Node's kubelet says that it is ready, and its taint goes."""
        await self.untaint("node.kubernetes.io/not-ready", name)
        said: Json = {
            "type": "Ready",
            "status": status,
            "reason": "Kubelet",
            "lastTransitionTime": self.time.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        await self.api.patch(
            Ref(NODE, name), Patch({"status": {"conditions": [said]}}, subresource="status")
        )

    async def untaint(self, key: str, name: str = "one") -> None:
        """Somebody takes a taint off."""
        page = await self.read_node(name)
        left: list[Json] = [
            {"key": one.key, "effect": one.effect} for one in page.spec.taints if one.key != key
        ]
        await self.api.patch(Ref(NODE, name), Patch({"spec": {"taints": left}}))

    async def pod(self, name: str, node: str = "", cpu: str = "", **meta: Json) -> None:
        """A pod that is bound, or waits."""
        asked: Json = {"requests": {"cpu": cpu}} if cpu else {}
        containers: Json = [{"name": "c", "image": "i", "resources": asked}]
        body: dict[str, Json] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", **meta},
            "spec": {"containers": containers, **({"nodeName": node} if node else {})},
        }
        await self.api.create(POD, body, "default")

    async def delete(self, kind: api.Kind, name: str, namespace: str = "") -> None:
        """Delete an object."""
        await self.api.delete(Ref(kind, name, namespace), Deletion(grace_seconds=0))

    # ---- what the API has

    async def read_claim(self, name: str = "one") -> api.NodeClaim:
        """The claim. Raises NotFoundError."""
        return api.decode(api.NodeClaim, await self.api.get(Ref(NODE_CLAIM, name)))

    async def read_node(self, name: str = "one") -> api.Node:
        """The Node. Raises NotFoundError."""
        return api.decode(api.Node, await self.api.get(Ref(NODE, name)))

    async def read_pool(self, name: str = "default") -> api.NodePool:
        """The pool. Raises NotFoundError."""
        return api.decode(api.NodePool, await self.api.get(Ref(NODE_POOL, name)))

    async def read_pod(self, name: str) -> api.Pod:
        """The pod. Raises NotFoundError."""
        return api.decode(api.Pod, await self.api.get(Ref(POD, name, "default")))

    async def names(self, kind: api.Kind) -> list[str]:
        """Every object of a kind."""
        page = await self.api.list(Scope(kind))
        return [api.decode(api.Object, raw).metadata.name for raw in page.items]


def said(found: api.NodeClaim | api.NodePool) -> dict[str, tuple[str, str]]:
    """The conditions of an object: status and reason by type."""
    return {one.type: (one.status, one.reason) for one in found.status.conditions}


def condition(found: api.NodeClaim | api.NodePool, kind: str) -> api.Condition:
    """One of its conditions."""
    return next(one for one in found.status.conditions if one.type == kind)


@asynccontextmanager
async def at_work(world: World, *loops: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """The feed, the cloud and these loops at work, once everything is known."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(world.feed.run()), group.create_task(world.cloud.run())]
        await world.time.advance()
        await world.feed.wait_in_sync()
        tasks += [group.create_task(_awaited(loop)) for loop in loops]
        await world.time.advance()
        yield
        for task in tasks:
            task.cancel()


async def _awaited(loop: Callable[[], Awaitable[None]]) -> None:
    await loop()


def _head(kind: api.Kind, name: str) -> dict[str, Json]:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}}


def _ref() -> Json:
    return {"group": labels.KWOK_GROUP, "kind": KWOK.name, "name": "default"}


class DeafKube(TroubledKube):
    """An API whose watches of claims say nothing for as long as they are told to."""

    def __init__(self, kube: Kube) -> None:
        super().__init__(kube)
        self.hears = asyncio.Event()
        self.hears.set()

    async def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """As the API behind it, late."""
        async for change in super().watch(scope, since=since):
            if scope.kind == NODE_CLAIM:
                await self.hears.wait()
            yield change


class FlakyKube(TroubledKube):
    """An API that fails where it is told to: each failure once."""

    def __init__(self, kube: Kube) -> None:
        super().__init__(kube, self._next)
        self.failures: list[tuple[str, str, Exception]] = []  # kind, subresource or verb, what

    def fail(self, kind: str, where: str, error: Exception) -> None:
        """The next such write fails."""
        self.failures.append((kind, where, error))

    def _next(self, call: ApiCall) -> Trouble | None:
        for one in self.failures:
            if one[:2] == (call.kind, call.subresource or call.verb):
                self.failures.remove(one)
                return Trouble(one[2])
        return None
