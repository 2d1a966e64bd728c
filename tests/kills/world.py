"""A cluster in the process, its cloud, and our controller as a process that may die at any call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from random import Random

from dovetail import api, labels
from dovetail.api.crds import crds
from dovetail.cloud.registry import Surroundings
from dovetail.controllers.known import NODE_CLAIM, NODE_POOL
from dovetail.controllers.means import Means
from dovetail.controllers.whole import Controller, Setup
from dovetail.decide import decide
from dovetail.kube.memory import MemoryKube
from dovetail.kube.seam import Deletion, Json, Kube, Ref, Scope
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.events import Recorder
from dovetail.observe.logs import SILENT
from dovetail.observe.meters import Meters
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.faults import Faults
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.sim.kubelets import Habits, Kubelets
from dovetail.testing.troubled_kube import Call, Trouble, TroubledKube, When, no_trouble
from dovetail.testing.virtual_time import VirtualTime
from tests.kills.company import BUDGET, REPLICA_SET, Company
from tests.kills.history import History

KWOK = api.KINDS[labels.KWOK_GROUP, "KWOKNodeClass"]
TYPES = tuple(
    one
    for one in instance_types()
    if one.name in {"c-2x-amd64-linux", "s-2x-amd64-linux", "c-4x-amd64-linux"}
)
_DEFINITIONS = tuple(crds())
_METERS = Meters()  # nobody reads them here, and to make them takes long
_MOST_CALLS = 5_000  # of one process, in any scenario: more is a loop that does not end

Troubles = Callable[[Call], Trouble | None]


class Mortal:
    """A process's life: counts its calls to API and cloud, and ends at one of them, either before
    it has reached the server or after that, before the answer is read. From then on nothing that
    the process does is heard.
    """

    def __init__(self, dies_at: int | None = None, when: When = When.BEFORE) -> None:
        self.calls: list[Call] = []
        self.trouble: Troubles = no_trouble
        self.ended = asyncio.Event()
        self._dies_at = dies_at
        self._when = when

    def begin_counting(self, dies_at: int | None, when: When) -> None:
        """Forget the calls so far; the process dies at this one, counted from now."""
        self.calls = []
        self._dies_at, self._when = dies_at, when

    def end(self) -> None:
        """Now."""
        self.ended.set()

    def meet(self, call: Call) -> Trouble | None:
        """What happens to a call."""
        if self.ended.is_set():
            return Trouble(asyncio.CancelledError())
        self.calls.append(call)
        assert len(self.calls) < _MOST_CALLS, f"a loop that does not end: {self.calls[-20:]}"
        if len(self.calls) == self._dies_at:
            self.end()
            return Trouble(asyncio.CancelledError(), self._when)
        return self.trouble(call)

    def meet_news(self, _: Call) -> Trouble | None:
        """Events are told as long as the process lives; nobody depends on them."""
        return Trouble(asyncio.CancelledError()) if self.ended.is_set() else None


class World:
    """What outlives any process: time, the API, machines, and everybody else."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.api = MemoryKube(self.time, definitions=_DEFINITIONS)
        self.faults = Faults()
        self.history = History(self.api, self.time)
        self.dismissed: set[str] = set()  # labels of pods that the scenario itself sends away
        self.n_started = 0
        self.wrap: Callable[[Kube], Kube] = lambda kube: kube  # how a process reaches the API

    async def run(self) -> None:
        """Be everybody else, until cancelled."""
        habits = Habits(ready_after_seconds=1.0, start_pod_seconds=1.0, lease_seconds=0)
        kubelets = Kubelets(self.api, self.time, self.time, chance=lambda: 0.5, habits=habits)
        company = Company(self.api, self.time)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.history.run())
            group.create_task(kubelets.run())
            group.create_task(company.run())

    async def pass_(self, seconds: float = 0.0) -> None:
        """Let time pass."""
        await self.time.advance(timedelta(seconds=seconds))

    def provider(self, kube: Kube) -> KwokProvider:
        """The cloud, as whoever sees this API sees it."""
        around = Surroundings(kube=kube, clock=self.time, timer=self.time)
        return KwokProvider(around, types=TYPES, ordered=self.faults)

    # ---- what users do

    async def node_class(self, delay: str = "5s") -> None:
        """The node class."""
        body = {**_head(KWOK, "default"), "spec": {"nodeRegistrationDelay": delay}}
        await self.api.create(KWOK, body)

    async def pool(
        self,
        name: str = "default",
        *,
        after: str = "Never",
        grace: str = "",
        buys: tuple[str, ...] = ("spot", "on-demand"),
        weight: int = 1,
    ) -> None:
        """A pool; its nodes go when they are empty for so long, and drain for `grace`."""
        spec: dict[str, Json] = {
            "nodeClassRef": {"group": KWOK.group, "kind": KWOK.name, "name": "default"},
            "requirements": [
                {"key": labels.CAPACITY_TYPE, "operator": "In", "values": [*buys]}
            ],
        }
        if grace:
            spec["terminationGracePeriod"] = grace
        disruption: Json = {"consolidateAfter": after, "budgets": [{"nodes": "100%"}]}
        body: dict[str, Json] = {
            **_head(NODE_POOL, name),
            "spec": {"template": {"spec": spec}, "disruption": disruption, "weight": weight},
        }
        await self.api.create(NODE_POOL, body)

    async def workload(self, name: str, n_pods: int, cpu: str) -> None:
        """So many pods of a shape, which are made again when they go."""
        requests: Json = {"cpu": cpu, "memory": "256Mi"}
        container: Json = {"name": "c", "image": "i", "resources": {"requests": requests}}
        body: dict[str, Json] = {
            **_head(REPLICA_SET, name),
            "spec": {
                "replicas": n_pods,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [container]},
                },
            },
        }
        await self.api.create(REPLICA_SET, body, "default")

    async def budget(self, app: str, least: int) -> None:
        """So many pods of an app must be available."""
        body: dict[str, Json] = {
            **_head(BUDGET, app),
            "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": app}}},
        }
        await self.api.create(BUDGET, body, "default")

    async def dismiss(self, app: str) -> None:
        """A workload is deleted, and its pods with it."""
        self.dismissed.add(app)
        await self.api.delete(Ref(REPLICA_SET, app, "default"), Deletion())

    async def names(self, kind: api.Kind) -> list[str]:
        """Every object of a kind."""
        page = await self.api.list(Scope(kind))
        return [api.decode(api.Object, raw).metadata.name for raw in page.items]

    async def delete_claim(self, name: str) -> None:
        """Somebody wants a node gone."""
        await self.api.delete(Ref(NODE_CLAIM, name), Deletion())


class Process:
    """One run of the controller."""

    def __init__(self, world: World) -> None:
        world.n_started += 1
        self.mortal = Mortal()
        reached = world.wrap(world.api)
        self.kube = TroubledKube(reached, self.mortal.meet)
        news = TroubledKube(world.api, self.mortal.meet_news)
        self.cloud = world.provider(self.kube)
        self._recorder = Recorder(news, world.time, world.time)
        means = Means(
            kube=self.kube,
            cloud=self.cloud,
            clock=world.time,
            timer=world.time,
            chance=Random(world.n_started).random,  # noqa: S311  repeatable
            recorder=self._recorder,
            meters=_METERS,
            log=SILENT,
        )
        setup = Setup(mark=f"run-{world.n_started}", compute=_computed, witness=_unseen)
        self.controller = Controller(means, setup)

    async def run(self) -> None:
        """Lead until cancelled or dead."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(one)
                for one in (
                    self.controller.follow(),
                    self._recorder.run(),
                    self.cloud.run(),
                    self.controller.lead(),
                )
            ]
            await self.mortal.ended.wait()
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def living(world: World) -> AsyncIterator[asyncio.TaskGroup]:
    """The world at work; the group is for processes."""
    async with asyncio.TaskGroup() as group:
        others = group.create_task(world.run())
        await world.pass_()
        yield group
        others.cancel()


@asynccontextmanager
async def running(world: World) -> AsyncIterator[Process]:
    """A process at work, until it dies or the block ends."""
    process = Process(world)
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run())
        await world.pass_()
        yield process
        process.mortal.end()


async def _computed(snapshot: Snapshot, now: datetime) -> Plan:
    return decide(snapshot, now)


def _unseen(_: Snapshot, __: Plan, ___: datetime, ____: float) -> None:
    """Nobody looks at decisions here."""


def _head(kind: api.Kind, name: str) -> dict[str, Json]:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}}


