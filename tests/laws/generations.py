"""A cluster in which pods, claims and nodes come and go, and a count of all that is remembered."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from types import MethodType
from typing import Any

import msgspec

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.cloud.context import ProviderContext
from dovetail.controllers.cache import NODE, NODE_CLAIM, NODE_POOL, POD
from dovetail.controllers.controller import Controller, Setup
from dovetail.controllers.dependencies import Dependencies
from dovetail.decide import decide
from dovetail.kube.seam import Deletion, Json, Ref, Scope
from dovetail.kube.typed import Shared
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.events import Recorder, Repeats
from dovetail.observe.logs import SILENT
from dovetail.observe.meters import Meters
from dovetail.observe.onlooker import Onlooker
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.faults import Faults
from dovetail.providers.kwok.plugin import PLUGIN as KWOK_PLUGIN
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.sim.world import run_world
from dovetail.state.specs import Templates
from dovetail.testing.virtual_time import VirtualTime

REPLICA_SET = api.KINDS["apps", "ReplicaSet"]
KWOK = kwok_node_class.KIND
TYPES = tuple(one for one in instance_types() if one.name == "c-2x-amd64-linux")
# These are bounded by themselves, and fill up before they forget.
_BOUNDED = (Shared, Repeats, Templates)
_BOUNDED_NAMES = ("._buried", "._limits._templates")
_OURS = ("dovetail", "prometheus_client")


class Generations:
    """The cluster, and the controller with all that it remembers."""

    def __init__(self, *, leads: bool = True) -> None:
        self.time = VirtualTime()
        self.kube = MemoryKube(self.time)
        self.leads = leads
        self.latest = Snapshot()
        around = ProviderContext(kube=self.kube, clock=self.time, timer=self.time)
        self.cloud = cloud = KwokProvider(around, types=TYPES, ordered=Faults())
        recorder = Recorder(self.kube, self.time, self.time)
        meters = Meters()
        self.means = Dependencies(
            extensions=(KWOK_PLUGIN.extension,),
            kube=self.kube,
            cloud=cloud,
            clock=self.time,
            timer=self.time,
            chance=lambda: 0.5,
            recorder=recorder,
            meters=meters,
            log=SILENT,
        )
        self.onlooker = Onlooker(meters, recorder.tell, self.time)
        self.controller = Controller(
            self.means, Setup(mark="m", compute=_compute, witness=self._witness)
        )

    def _witness(self, snapshot: Snapshot, plan: Plan, _now: datetime, _took: float) -> None:
        self.latest = snapshot
        self.onlooker.note_plan(plan)

    async def run(self) -> None:
        """Live until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(run_world(self.kube, self.time, self.time))
            group.create_task(self.cloud.run())
            group.create_task(self.means.recorder.run())
            group.create_task(self.controller.follow())
            if self.leads:
                self.controller.feed.subscribe(self.onlooker.hear)
                group.create_task(self.controller.lead())

    async def live(self, generation: int, n_pods: int) -> None:
        """One generation of pods comes, runs where there is room for it, and goes."""
        for at in range(n_pods):
            await self.kube.create(POD, _pod(f"p-{generation}-{at}", generation), "default")
        await self.kube.create(POD, _pod(f"huge-{generation}", generation, "1000"), "default")
        await self.kube.create(REPLICA_SET, _replica_set(generation), "default")
        await self.kube.create(NODE_POOL, _pool(f"pool-{generation}"))
        await self.time.advance(timedelta(seconds=30))
        await self.kube.delete(Ref(NODE_POOL, f"pool-{generation}"), Deletion())
        await self.kube.delete(Ref(REPLICA_SET, f"r-{generation}", "default"), Deletion())
        if self.leads:
            assert len(await self._names(NODE)) > 0
        for name in await self._names(POD):
            how = Deletion(grace_seconds=0)
            await self.kube.delete(Ref(POD, name, "default"), how)
        await self.time.advance(timedelta(minutes=3))
        for _ in self.onlooker.scrape(self.latest):
            pass
        assert await self._names(NODE) == []
        assert await self._names(NODE_CLAIM) == []

    async def _names(self, kind: api.Kind) -> list[str]:
        page = await self.kube.list(Scope(kind))
        return [api.decode(api.Object, raw).metadata.name for raw in page.items]

    def remembered(self) -> Counter[str]:
        """How much is in every table, by where it is."""
        return Counter(dict(_counted(self.controller, "controller"))) + Counter(
            dict(_counted(self.onlooker, "onlooker"))
        )


@asynccontextmanager
async def generations(*, leads: bool = True) -> AsyncIterator[Generations]:
    """A cluster with a pool."""
    world = Generations(leads=leads)
    await world.kube.create(
        KWOK,
        {"apiVersion": KWOK.api_version, "kind": KWOK.name, "metadata": {"name": "default"}},
    )
    await world.kube.create(NODE_POOL, _pool("default"))
    async with asyncio.TaskGroup() as group:
        living = group.create_task(world.run())
        await world.time.advance(timedelta(seconds=5))
        yield world
        living.cancel()


async def _compute(snapshot: Snapshot, now: datetime) -> Plan:
    return decide(snapshot, now)


def _pool(name: str) -> dict[str, Json]:
    ref: Json = {"group": labels.KWOK_GROUP, "kind": KWOK.name, "name": "default"}
    return {
        "apiVersion": NODE_POOL.api_version,
        "kind": NODE_POOL.name,
        "metadata": {"name": name},
        "spec": {
            "template": {"spec": {"nodeClassRef": ref, "requirements": []}},
            "disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]},
        },
    }


def _replica_set(generation: int) -> dict[str, Json]:
    name = f"r-{generation}"
    pod = _pod(name, generation)
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"name": name}},
            "template": {"metadata": {"labels": {"name": name}}, "spec": pod["spec"]},
        },
    }


def _pod(name: str, generation: int, cpu: str = "400m") -> dict[str, Json]:
    """Each generation is of another make."""
    asked: Json = {"requests": {"cpu": cpu, "memory": f"{100 + generation}Mi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"name": name}},
        "spec": {"containers": [{"name": "c", "image": f"i:{generation}", "resources": asked}]},
    }


def _counted(root: object, name: str) -> Iterator[tuple[str, int]]:
    """The size of every container that can be reached, summed up by the way there."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    waiting: deque[tuple[str, Any]] = deque([(name, root)])
    while waiting:
        path, held = waiting.popleft()
        if id(held) in seen or isinstance(held, _BOUNDED):
            continue
        seen.add(id(held))
        if isinstance(held, deque) and held.maxlen is not None:
            continue
        if isinstance(held, dict | list | set | deque):
            found[path] += len(held)
        waiting.extend(_within(path, held))
    return iter(found.items())


def _within(path: str, held: Any) -> Iterator[tuple[str, Any]]:
    match held:
        case dict():
            yield from ((f"{path}[]", one) for one in held.values())
        case list() | set() | tuple() | deque() | frozenset():
            yield from ((f"{path}[]", one) for one in held)
        case MethodType():
            yield path, held.__self__
        case msgspec.Struct():
            yield from ((f"{path}.{one}", getattr(held, one)) for one in held.__struct_fields__)
        case MemoryKube():
            return
        case _ if type(held).__module__.startswith(_OURS):
            named = ((f"{path}.{name}", one) for name, one in getattr(held, "__dict__", {}).items())
            yield from (one for one in named if not one[0].endswith(_BOUNDED_NAMES))
