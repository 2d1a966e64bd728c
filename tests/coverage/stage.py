"""A whole replica in a cluster of stand-ins, in virtual time, and somebody who takes down what
users could have seen: conditions, labels, taints, events, metrics, log lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future
from contextlib import asynccontextmanager
from datetime import timedelta
from io import BytesIO
from typing import ParamSpec, TypeVar

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.cloud.context import ProviderContext
from dovetail.controllers.leadership.supervisor import Loop
from dovetail.kube.seam import Body, Deletion, Json, Kube, Patch, Ref, Scope
from dovetail.live.providing import Provided
from dovetail.live.replica import Outside, Replica
from dovetail.observe.logs import Level, Log, Sink
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.providers.kwok.plugin import PLUGIN, KwokSettings, make
from dovetail.settings.operator import OperatorSettings
from dovetail.sim.kubelets import Habits
from dovetail.sim.world import run_world
from dovetail.testing.virtual_time import VirtualTime

EVENT = api.Kind("", "v1", "Event", "events", api.Object)
KWOK = kwok_node_class.KIND
NODE_POOL = api.KINDS["karpenter.sh", "NodePool"]
NODE_CLAIM = api.KINDS["karpenter.sh", "NodeClaim"]
NODE = api.KINDS["", "Node"]
POD = api.KINDS["", "Pod"]
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
_HABITS = Habits(ready_after_seconds=2.0, start_pod_seconds=1.0, lease_seconds=0.0)
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Inline(Executor):
    """Does at once what it is given: time stands still while a decision is made."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """As any executor."""
        done: Future[_T] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class StagedReplica(Replica):
    """A replica that thinks in virtual time."""

    def __init__(self, outside: Outside, kube: Kube, kwok: KwokSettings) -> None:
        context = ProviderContext(kube=kube, clock=outside.clock, timer=outside.timer)
        provided = Provided(make(context, kwok), (PLUGIN.extension,))
        super().__init__(outside, kube, kube, provided)
        self.think_with(Inline())

    def think_with(self, executor: Executor) -> None:
        """Decide in there."""
        self._thinking = executor

    @property
    def breadth(self) -> float:
        """How many times as much is done at once as on one core."""
        return self._dependencies().breadth


class Seen:
    """Everything that users could have seen, as it went by."""

    def __init__(self) -> None:
        self.conditions: set[tuple[str, str, str, str]] = set()  # kind, type, status, reason
        self.labels: set[tuple[str, str]] = set()  # kind, key
        self.annotations: set[tuple[str, str]] = set()
        self.finalizers: set[tuple[str, str]] = set()
        self.taints: set[tuple[str, str]] = set()  # key, effect
        self.events: set[tuple[str, str, str]] = set()  # kind, type, reason
        self.metrics: dict[str, set[frozenset[tuple[str, str]]]] = {}
        self._series: dict[str, set[str]] = {}  # by heading
        self.logs: list[dict[str, object]] = []

    def look(self, found: msgspec.Raw) -> None:
        """An object as the API shows it."""
        body = msgspec.json.decode(found, type=_Shown)
        kind = body.kind
        self.labels |= {(kind, key) for key in body.metadata.labels}
        self.annotations |= {(kind, key) for key in body.metadata.annotations}
        self.finalizers |= {(kind, name) for name in body.metadata.finalizers}
        self.taints |= {(one.key, one.effect) for one in body.spec.taints if kind == "Node"}
        self.conditions |= {
            (kind, one.type, one.status, one.reason) for one in body.status.conditions
        }

    def scrape(self, text: str) -> None:
        """What Prometheus reads: series that stand for something."""
        heading, is_gauge = "", False
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                heading, is_gauge = line, line.endswith(" gauge")
            series, _, value = line.rpartition(" ")
            if not line.startswith("#") and (is_gauge or float(value)) and "_bucket{" not in line:
                self._series.setdefault(heading, set()).add(series)

    def read_metrics(self) -> None:
        """Take in all that was scraped, by Prometheus' own parser."""
        lines = [
            line
            for heading, found in self._series.items()
            for line in (heading, *(f"{one} 1" for one in sorted(found)))
        ]
        for family in text_string_to_metric_families("\n".join((*lines, ""))):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            held = self.metrics.setdefault(name, set())
            held |= {frozenset(one.labels.items()) for one in family.samples}

    def values(self, metric: str, label: str) -> set[str]:
        """The values of a label among the series of a metric."""
        return {dict(one).get(label, "") for one in self.metrics.get(metric, ())}


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str
    reason: str = ""


class _Taint(msgspec.Struct, frozen=True):
    key: str
    effect: str


class _Spec(msgspec.Struct, frozen=True):
    taints: tuple[_Taint, ...] = ()


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] = ()


class _Meta(msgspec.Struct, frozen=True):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


class _Shown(msgspec.Struct, frozen=True):
    kind: str
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Involved(msgspec.Struct, frozen=True):
    kind: str = ""


class _Source(msgspec.Struct, frozen=True):
    component: str = ""


class Told(msgspec.Struct, frozen=True):
    """An event."""

    type: str
    reason: str
    source: _Source = _Source()
    involved: _Involved = msgspec.field(name="involvedObject", default=_Involved())


class Stage:
    """The cluster, the replica, and what was seen."""

    def __init__(
        self,
        settings: OperatorSettings | None = None,
        kwok: KwokSettings | None = None,
        *,
        held: Stage | None = None,
        wrap: Callable[[Kube], Kube] = lambda kube: kube,
    ) -> None:
        self.time: VirtualTime = VirtualTime() if held is None else held.time
        self.api: MemoryKube = MemoryKube(self.time) if held is None else held.api
        self.seen = Seen()
        self._lines = BytesIO()
        sink = Sink(Level.DEBUG, self.time)
        sink.outputs = (self._lines,)
        self.stopping = asyncio.Event()
        outside = Outside(
            settings=settings or OperatorSettings(),
            environment={},
            clock=self.time,
            timer=self.time,
            chance=lambda: 0.5,
            log=Log(sink),
            stopping=self.stopping,
        )
        self.replica = StagedReplica(outside, wrap(self.api), kwok or KwokSettings())

    # ---- what users do

    async def make(self, kind: api.Kind, name: str, spec: Json = None, **meta: Json) -> None:
        """An object as `kubectl apply` makes it."""
        namespace = "default" if kind.is_namespaced else ""
        body: dict[str, Json] = {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {"name": name, **meta},
            "spec": spec if spec is not None else {},
        }
        await self.api.create(kind, body, namespace)

    async def pool(
        self, name: str, *, template: dict[str, Json] | None = None, **spec: Json
    ) -> None:
        """A NodePool, quick to let its nodes go."""
        ref: Json = {"group": KWOK.group, "kind": KWOK.name, "name": "default"}
        disruption: Json = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]}
        whole: dict[str, Json] = {"nodeClassRef": ref, "requirements": []}
        made: dict[str, Json] = {
            "template": {"spec": {**whole, **(template or {})}},
            "disruption": disruption,
        }
        await self.make(NODE_POOL, name, {**made, **spec})

    async def pod(
        self, name: str, pool: str = "", *, cpu: str = "500m", spec: Json = None, **meta: Json
    ) -> None:
        """A pod that wants a node, of a pool if one is named."""
        asked: Json = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
        whole: dict[str, Json] = {
            "containers": [{"name": "c", "image": "i", "resources": asked}],
            **({"nodeSelector": {labels.NODE_POOL: pool}} if pool else {}),
            **(spec if isinstance(spec, dict) else {}),
        }
        await self.make(POD, name, whole, **meta)

    async def patch(self, kind: api.Kind, name: str, body: Body, subresource: str = "") -> None:
        """A change as `kubectl patch` makes it."""
        namespace = "default" if kind.is_namespaced else ""
        await self.api.patch(Ref(kind, name, namespace), Patch(body, subresource=subresource))

    async def delete(self, kind: api.Kind, name: str) -> None:
        """As `kubectl delete` does."""
        namespace = "default" if kind.is_namespaced else ""
        await self.api.delete(Ref(kind, name, namespace), Deletion())

    async def claims_of(self, pool: str) -> list[str]:
        """Names of a pool's claims."""
        found = [api.decode(api.NodeClaim, raw) for raw in await self._raw(NODE_CLAIM)]
        return sorted(
            one.metadata.name for one in found if one.metadata.labels.get(labels.NODE_POOL) == pool
        )

    async def names(self, kind: api.Kind) -> list[str]:
        """Names of everything of a kind."""
        return [api.decode(api.Object, raw).metadata.name for raw in await self._raw(kind)]

    async def told(self) -> list[Told]:
        """Every event."""
        return [msgspec.json.decode(raw, type=Told) for raw in await self._raw(EVENT)]

    def said(self, message: str) -> list[dict[str, object]]:
        """What the log says under this message."""
        lines = [msgspec.json.decode(line) for line in self._lines.getvalue().splitlines()]
        return [one for one in lines if one["message"] == message]

    async def _raw(self, kind: api.Kind) -> tuple[msgspec.Raw, ...]:
        return (await self.api.list(Scope(kind))).items

    async def pass_(self, seconds: float, *, n_scrapes: int = 1) -> None:
        """Let time pass, with a scrape now and then."""
        for _ in range(n_scrapes):
            await self.time.advance(timedelta(seconds=seconds / n_scrapes))
            self.scrape()

    def scrape(self) -> str:
        """Scrape once."""
        text = b"".join(self.replica.scrape()).decode()
        self.seen.scrape(text)
        return text

    # ---- who takes it down

    async def watch(self, kind: api.Kind) -> None:
        """See every version of every object of a kind."""
        page = await self.api.list(Scope(kind))
        for raw in page.items:
            self.seen.look(raw)
        async for change in self.api.watch(Scope(kind), since=page.resource_version):
            self.seen.look(change.object)

    async def take_down(self) -> None:
        """What was told, in the cluster and in the log."""
        for one in await self.told():
            self.seen.events.add((one.involved.kind, one.type, one.reason))
        self.seen.read_metrics()
        self.seen.logs = [msgspec.json.decode(line) for line in self._lines.getvalue().splitlines()]


@asynccontextmanager
async def playing(
    stage: Stage, *, leads: bool = True, has_world: bool = True
) -> AsyncIterator[Stage]:
    """The cluster lives and the replica works, for as long as the block lasts."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(stage.watch(one)) for one in (NODE_POOL, NODE_CLAIM, NODE)]
        tasks += [group.create_task(_running(one)) for one in stage.replica.background()]
        if has_world:
            world = run_world(stage.api, stage.time, stage.time, habits=_HABITS)
            tasks.append(group.create_task(world))
        await stage.time.advance()
        if leads:
            assert await stage.replica.taken_over()
            tasks += [group.create_task(_running(one)) for one in stage.replica.leader_loops()]
        await stage.time.advance()
        yield stage
        await stage.take_down()
        for task in tasks:
            task.cancel()


async def _running(loop: Loop) -> None:
    await loop.run()
