"""A cluster whose nodes leave: API and cloud in the process, in virtual time, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any

import msgspec

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.cloud.context import ProviderContext
from dovetail.controllers.cache import NODE, NODE_CLAIM, NODE_POOL, POD, WatchCache
from dovetail.controllers.claims.loop import ClaimEffects, ClaimLoop
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.disruption.loop import Disruptions
from dovetail.controllers.feed import Feed, watched_kinds
from dovetail.controllers.launching.claim_creation import ClaimCreation, ClaimWriter
from dovetail.controllers.nodes.termination import NodeTermination
from dovetail.controllers.pods.eviction_queue import EvictionQueue
from dovetail.kube.errors import NotFoundError
from dovetail.kube.mirror import Pace
from dovetail.kube.seam import Body, Deletion, Json, Kube, Page, Patch, Ref, Scope, WatchEvent
from dovetail.observe.events import Recorder
from dovetail.observe.logs import Level, Log, Sink
from dovetail.observe.meters import Meters
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.faults import Faults
from dovetail.providers.kwok.plugin import PLUGIN as KWOK_PLUGIN
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.state.changes import Catalogued
from dovetail.state.cluster import Cluster
from dovetail.state.objects import claim_object
from dovetail.testing.virtual_time import VirtualTime
from tests.unit.controllers.worlds import TYPES

KWOK = kwok_node_class.KIND
BUDGET = api.KINDS["policy", "PodDisruptionBudget"]
ATTACHMENT = api.KINDS["storage.k8s.io", "VolumeAttachment"]
VOLUME = api.KINDS["", "PersistentVolume"]
VOLUME_CLAIM = api.KINDS["", "PersistentVolumeClaim"]
EVENT = api.Kind("", "v1", "Event", "events", api.Object)
SECOND = timedelta(seconds=1)
CLASS_LABEL = "karpenter.kwok.sh/kwoknodeclass"
_TRUE_CONDITIONS = ("Launched", "Registered", "Initialized", "Ready")


class MortalKube:
    """An API as one process sees it: after `lives` calls the process hears nothing any more.

    `calls` are what it asked for and when; `refuse` may raise in place of the API.
    """

    def __init__(self, kube: Kube, time: VirtualTime, lives: int | None = None) -> None:
        self._kube = kube
        self._time = time
        self._lives = lives
        self.died = asyncio.Event()
        self.calls: list[tuple[float, str, str]] = []
        self.refuse: Callable[[str, Ref], None] = _allow

    async def _live(self, verb: str, ref: Ref, calling: Callable[[], Awaitable[Any]]) -> Any:
        if self.died.is_set():
            await asyncio.Event().wait()
        self.refuse(verb, ref)
        self.calls.append((self._time.elapsed_seconds(), verb, ref.name))
        answer = await calling()
        if self._lives is not None and len(self.calls) >= self._lives:
            self.died.set()
            await asyncio.Event().wait()
        return answer

    async def get(self, ref: Ref) -> msgspec.Raw:
        """As the API behind it."""
        found: msgspec.Raw = await self._live("get", ref, lambda: self._kube.get(ref))
        return found

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """As the API behind it."""
        ref = Ref(scope.kind, scope.fields)
        page: Page = await self._live(
            "list", ref, lambda: self._kube.list(scope, limit=limit, token=token)
        )
        return page

    def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """As the API behind it."""
        return self._kube.watch(scope, since=since)

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """As the API behind it."""
        ref = Ref(kind, "", namespace)
        made: msgspec.Raw = await self._live(
            "create", ref, lambda: self._kube.create(kind, body, namespace)
        )
        return made

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """As the API behind it."""
        changed: msgspec.Raw = await self._live("patch", ref, lambda: self._kube.patch(ref, patch))
        return changed

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """As the API behind it."""
        await self._live("delete", ref, lambda: self._kube.delete(ref, how))

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """As the API behind it."""
        await self._live("evict", ref, lambda: self._kube.evict(ref, how))


class World:
    """What outlives any process: time, the API, machines, and whoever ends pods."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.kube = MemoryKube(self.time)
        self.faults = Faults()
        self.cloud = self.provider(self.kube)

    def provider(self, kube: Kube) -> KwokProvider:
        """The cloud, as a process that sees this API sees it."""
        around = ProviderContext(kube=kube, clock=self.time, timer=self.time)
        return KwokProvider(around, types=instance_types(), ordered=self.faults)

    async def pass_(self, seconds: float = 0.0) -> None:
        """Let time pass."""
        await self.time.advance(timedelta(seconds=seconds))

    async def node(self, name: str, *, grace: str = "", is_ready: bool = True) -> None:
        """A machine of ours, its claim and its Node, all started up."""
        if not await self.exists(KWOK, "default"):
            node_class: Body = {
                "apiVersion": KWOK.api_version,
                "kind": KWOK.name,
                "metadata": {"name": "default"},
            }
            await self.kube.create(KWOK, node_class)
        if not await self.exists(NODE_POOL, "default"):
            await self._pool()
        wire = await self._claim(name, grace)
        await self.cloud.create(claim_object(wire))
        said: list[Json] = [
            {
                "type": one,
                "status": "True",
                "reason": one,
                "message": "",
                "lastTransitionTime": stamp(self.time.now()),
                "observedGeneration": 1,
            }
            for one in _TRUE_CONDITIONS
        ]
        status: Body = {
            "status": {"providerID": f"kwok://{name}", "nodeName": name, "conditions": said}
        }
        await self.kube.patch(Ref(NODE_CLAIM, name), Patch(status, subresource="status"))
        meta: Json = {
            "finalizers": [labels.TERMINATION_FINALIZER],
            "labels": {labels.REGISTERED: "true", labels.INITIALIZED: "true"},
        }
        await self.kube.patch(Ref(NODE, name), Patch({"metadata": meta, "spec": {"taints": None}}))
        await self.set_ready(name, is_ready=is_ready)

    async def _pool(self) -> None:
        """A NodePool with budgets that allow everything."""
        node_class: Json = {"group": KWOK.group, "kind": KWOK.name, "name": "default"}
        body: Body = {
            "apiVersion": NODE_POOL.api_version,
            "kind": NODE_POOL.name,
            "metadata": {"name": "default"},
            "spec": {
                "disruption": {"budgets": [{"nodes": "100%"}]},
                "template": {"spec": {"nodeClassRef": node_class, "requirements": []}},
            },
        }
        await self.kube.create(NODE_POOL, body)

    async def _claim(self, name: str, grace: str) -> api.NodeClaim:
        spec: dict[str, Json] = {
            "nodeClassRef": {"group": KWOK.group, "kind": KWOK.name, "name": "default"},
            "requirements": [],
            "resources": {"requests": {"cpu": "1"}},
        }
        if grace:
            spec["terminationGracePeriod"] = grace
        meta: Json = {
            "name": name,
            "finalizers": [labels.TERMINATION_FINALIZER],
            "labels": {CLASS_LABEL: "default", labels.NODE_POOL: "default"},
        }
        body: Body = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": meta,
            "spec": spec,
        }
        return api.decode(api.NodeClaim, await self.kube.create(NODE_CLAIM, body))

    async def set_ready(self, name: str, *, is_ready: bool) -> None:
        """What the kubelet of a Node says."""
        said: Json = [{"type": "Ready", "status": str(is_ready)}]
        patch = Patch({"status": {"conditions": said}}, subresource="status")
        await self.kube.patch(Ref(NODE, name), patch)

    async def pod(
        self,
        name: str,
        node: str,
        *,
        priority: str = "",
        owner: str = "ReplicaSet",
        annotations: dict[str, str] | None = None,
        tolerations: Sequence[Json] = (),
        volume: str = "",
        grace: int = 30,
    ) -> None:
        """A pod that runs on a node."""
        spec: dict[str, Json] = {
            "containers": [{"name": "c", "image": "i"}],
            "nodeName": node,
            "terminationGracePeriodSeconds": grace,
            "tolerations": list(tolerations),
        }
        if priority:
            spec["priorityClassName"] = priority
        if volume:
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": volume}}]
        meta: Json = {
            "name": name,
            "namespace": "default",
            "labels": {"app": name},
            "annotations": {**(annotations or {})},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": owner,
                    "name": "o",
                    "uid": "u",
                    "controller": True,
                }
            ],
        }
        body: Body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        await self.kube.create(POD, body, "default")
        running: Body = {
            "status": {
                "phase": "Running",
                "startTime": stamp(self.time.now()),
                "conditions": [{"type": "Ready", "status": "True"}],
            }
        }
        await self.kube.patch(Ref(POD, name, "default"), Patch(running, subresource="status"))

    async def budget(self, name: str, app: str, allowed: int) -> None:
        """A disruption budget for the pods of an app."""
        body: Body = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
        }
        await self.kube.create(BUDGET, body, "default")
        await self.allow(name, allowed)

    async def allow(self, budget: str, allowed: int) -> None:
        """What the disruption controller says of a budget."""
        status: Body = {
            "status": {
                "observedGeneration": 1,
                "disruptionsAllowed": allowed,
                "desiredHealthy": 1,
                "currentHealthy": 1 + allowed,
                "expectedPods": 2,  # one of them may be unwell
            }
        }
        await self.kube.patch(Ref(BUDGET, budget, "default"), Patch(status, subresource="status"))

    async def attach(self, name: str, node: str, volume: str) -> None:
        """A volume that is attached to a node."""
        body: Body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": name},
            "spec": {
                "attacher": "csi",
                "nodeName": node,
                "source": {"persistentVolumeName": volume},
            },
        }
        await self.kube.create(ATTACHMENT, body)

    async def annotate(self, kind: api.Kind, name: str, key: str, value: str | None) -> None:
        """Write an annotation, or take it off."""
        namespace = "default" if kind.is_namespaced else ""
        body: Body = {"metadata": {"annotations": {key: value}}}
        await self.kube.patch(Ref(kind, name, namespace), Patch(body))

    async def delete(self, kind: api.Kind, name: str, grace: int | None = None) -> None:
        """Delete an object, as kubectl does."""
        namespace = "default" if kind.is_namespaced else ""
        await self.kube.delete(Ref(kind, name, namespace), Deletion(grace_seconds=grace))

    async def bury(self) -> None:
        """End every pod that is being deleted, as kubelets do."""
        for pod in await self.pods():
            if pod.metadata.deletion_timestamp is not None:
                await self.delete(POD, pod.metadata.name, 0)

    async def undertake(self) -> None:
        """End pods, each within a second, for ever."""
        while True:
            await self.time.sleep(1.0)
            await self.bury()

    async def exists(self, kind: api.Kind, name: str) -> bool:
        """Whether there is such an object."""
        try:
            await self.kube.get(Ref(kind, name, "default" if kind.is_namespaced else ""))
        except NotFoundError:
            return False
        return True

    async def wire_node(self, name: str) -> api.Node:
        """The Node of that name."""
        return api.decode(api.Node, await self.kube.get(Ref(NODE, name)))

    async def wire_claim(self, name: str) -> api.NodeClaim:
        """The claim of that name."""
        return api.decode(api.NodeClaim, await self.kube.get(Ref(NODE_CLAIM, name)))

    async def condition(self, claim: str, condition: str) -> tuple[str, str]:
        """Status and reason of a claim's condition; empty if nothing was said."""
        wire = await self.wire_claim(claim)
        found = [one for one in wire.status.conditions if one.type == condition]
        return (found[0].status, found[0].reason) if found else ("", "")

    async def pods(self) -> list[api.Pod]:
        """Every pod."""
        page = await self.kube.list(Scope(POD))
        return [api.decode(api.Pod, raw) for raw in page.items]

    async def leaving(self) -> set[str]:
        """Names of pods that are being deleted."""
        return {pod.metadata.name for pod in await self.pods() if pod.metadata.deletion_timestamp}

    async def events(self) -> set[tuple[str, str, str]]:
        """Kind, name and reason of every event that users can see."""
        page = await self.kube.list(Scope(EVENT))
        found = [msgspec.json.decode(raw) for raw in page.items]
        return {
            (one["involvedObject"]["kind"], one["involvedObject"]["name"], one["reason"])
            for one in found
        }


class Process:
    """One run of the controllers that take nodes away; `ends_claims` adds the one for claims."""

    def __init__(
        self, world: World, lives: int | None = None, *, ends_claims: bool = False
    ) -> None:
        time = world.time
        self.kube = MortalKube(world.kube, time, lives)
        self._lines = BytesIO()
        sink = Sink(Level.INFO, time)
        sink.outputs = (self._lines,)
        self.recorder = Recorder(world.kube, time, time)
        self.cache = WatchCache(Cluster(), (KWOK,))
        self.cache.cluster.apply(Catalogued("default", TYPES))
        self.dependencies = Dependencies(
            extensions=(KWOK_PLUGIN.extension,),
            kube=self.kube,
            cloud=world.provider(self.kube),
            clock=time,
            timer=time,
            chance=lambda: 1.0,
            recorder=self.recorder,
            meters=Meters(),
            log=Log(sink),
        )
        self.evictions = EvictionQueue(self.dependencies, self.cache)
        self.terminations = NodeTermination(self.dependencies, self.cache, self.evictions)
        orders = ClaimWriter(self.kube, mark="run", timer=time, chance=lambda: 1.0)
        claim_creation = ClaimCreation(self.dependencies, self.cache, orders)
        self.disruptions = Disruptions(self.dependencies, self.cache, claim_creation)
        self.claims = ClaimLoop(self.dependencies, self.cache, ClaimEffects(_steer, _ignore))
        self._ends_claims = ends_claims
        pace = Pace(time, lambda: 0.5)
        kinds = watched_kinds((KWOK,), {})
        self.feed = Feed(world.kube, self.cache, kinds, pace=pace, touched=_ignore)
        self.feed.subscribe(self.evictions.handle)
        self.feed.subscribe(self.terminations.handle)
        self.feed.subscribe(self.disruptions.handle)
        if ends_claims:
            self.feed.subscribe(self.claims.handle)

    def said(self, *levels: str) -> list[str]:
        """What the log says at these levels."""
        lines = [msgspec.json.decode(line) for line in self._lines.getvalue().splitlines()]
        return [one["message"] for one in lines if one["level"] in levels]

    async def run(self) -> None:
        """Run until cancelled, or dead."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.feed.run()), group.create_task(self.recorder.run())]
            await self.feed.wait_in_sync()
            tasks.append(group.create_task(self.evictions.run()))
            tasks.append(group.create_task(self.terminations.run()))
            if self._ends_claims:
                tasks.append(group.create_task(self.claims.run()))
            await self.kube.died.wait()
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def running(
    world: World, lives: int | None = None, *, ends_claims: bool = False
) -> AsyncIterator[Process]:
    """A process at work, until the block ends."""
    process = Process(world, lives, ends_claims=ends_claims)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(process.run())
        await world.pass_()
        yield process
        task.cancel()


async def deaf(world: World) -> Process:
    """A process that knows what is there now, and hears nothing of what comes."""
    process = Process(world)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(process.feed.run())
        await world.pass_()
        task.cancel()
    return process


def stamp(moment: datetime) -> str:
    """As Kubernetes writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _ignore(what: object) -> None:
    """Nobody plans here, nor keeps a record of pools."""


async def _steer(claim: api.NodeClaim, node: api.Node) -> None:
    """No pods wait here."""


def _allow(verb: str, ref: Ref) -> None:
    """Refuse nothing."""
