"""A cluster in the process, its cloud, and our controller as a process that may die at any call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from random import Random

from dovetail import api, labels
from dovetail.api.crds import crds
from dovetail.apiserver import MemoryKube
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.provider import CloudProvider, CloudWorker
from dovetail.controllers.cache import NODE, NODE_CLAIM, NODE_POOL
from dovetail.controllers.controller import Controller, Setup
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.leadership.election import LEASE, ElectionDependencies, LeaderCandidate
from dovetail.controllers.pools.capacity_buffers import CAPACITY_BUFFER
from dovetail.decide import decide
from dovetail.kube.errors import UnavailableError
from dovetail.kube.seam import Deletion, Json, Kube, Patch, Ref, Scope
from dovetail.model.ending import InstanceEnding
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.observe.events import Recorder
from dovetail.observe.logs import SILENT, Log
from dovetail.observe.meters import Meters
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.faults import Faults
from dovetail.providers.kwok.plugin import PLUGIN as KWOK_PLUGIN
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.providers.kwok.store import recorded_machine
from dovetail.sim.controller_manager.budgets import BUDGET
from dovetail.sim.controller_manager.replicas import REPLICA_SET
from dovetail.sim.controller_manager.workloads import Workloads
from dovetail.sim.kubelets import Habits, Kubelets
from dovetail.sim.scheduler import Scheduler
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.slow_kube import SlowKube
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube
from tests.kills.aloof_cloud import AloofCloud, CloudOfAProcess
from tests.kills.history import History
from tests.kills.mortal import Mortal
from tests.kills.starter import Starter

KWOK = kwok_node_class.KIND
POD_TEMPLATE = api.KINDS["", "PodTemplate"]
TYPES = tuple(
    one
    for one in instance_types()
    if one.name in {"c-2x-amd64-linux", "s-2x-amd64-linux", "c-4x-amd64-linux"}
)
_DEFINITIONS = tuple(crds((KWOK_PLUGIN.extension,)))
_SLOWEST_SECONDS = 0.3
# Plans need not be the best.
_QUICKLY = Policy(
    effort=0,
    disrupts_for=tuple(DisruptionReason),
    keeps_replicas=True,
    eviction_cost=timedelta(0),  # pods are moved here that are minutes old
)
_GATES = {"CapacityBuffer": True, "NodeRepair": True, "StaticCapacity": True}
HABITS = Habits(ready_after_seconds=1.0, start_pod_seconds=1.0, lease_seconds=0)
_METERS = Meters()  # nobody reads them here, and to make them takes long

Decide = Callable[[Snapshot, datetime], Plan]


class World:
    """What outlives any process: time, the API, machines, and everybody else.

    With a seed, whatever goes to the API and comes from it takes some chance time.
    """

    extensions: tuple[api.Extension, ...] = (KWOK_PLUGIN.extension,)
    definitions = _DEFINITIONS
    class_kind = KWOK

    def __init__(
        self, *, is_aloof: bool = False, seed: int | None = None, decide: Decide = decide
    ) -> None:
        self.decide = decide
        self.time = VirtualTime()
        self.api = MemoryKube(self.time, definitions=self.definitions)
        self.faults = Faults()
        self.aloof = AloofCloud(self.api, self.time, self.faults, TYPES) if is_aloof else None
        self.history = History(self.api, self.time)
        self.starter = Starter(self.api)
        self.broken: set[str] = set()  # nodes whose kubelets do not come back
        self.dismissed: set[str] = set()  # labels of pods that the scenario itself sends away
        self.n_started = 0
        self.log: Log = SILENT
        self._chance = None if seed is None else Random(seed)  # noqa: S311  repeatable
        self._network = asyncio.TaskGroup()

    async def run(self) -> None:
        """Be everybody else, until cancelled."""
        async with self._network as group:
            group.create_task(self.history.run())
            group.create_task(self.starter.run())
            for one in (
                Scheduler(self.api, self.time, self.time, chance=halfway),
                self.kubelets(),
                Workloads(self.api, self.time, self.time, chance=halfway),
            ):
                group.create_task(one.run())
            if self.aloof is not None:
                group.create_task(self.aloof.run())

    def kubelets(self) -> CloudWorker:
        """The kubelets of all nodes."""
        kube = TroubledKube(self.api, self._silence)
        return Kubelets(kube, self.time, self.time, chance=halfway, habits=HABITS)

    async def pass_(self, seconds: float = 0.0) -> None:
        """Let time pass."""
        await self.time.advance(timedelta(seconds=seconds))

    def reached(self) -> Kube:
        """The API, as a process reaches it."""
        chance = self._chance
        if chance is None:
            return self.api
        return SlowKube(
            self.api, self.time, lambda: _SLOWEST_SECONDS * chance.random(), self._network
        )

    def cloud(self, context: ProviderContext[Kube], mortal: Mortal) -> CloudProvider:
        """The cloud, as a process reaches it that works with these."""
        if self.aloof is not None:
            return CloudOfAProcess(self.aloof, mortal)
        return KwokProvider(context, types=TYPES, ordered=self.faults)

    async def machines(self) -> dict[str, str]:
        """Every machine that is there: the uid of its claim, by provider id."""
        if self.aloof is not None:
            return {place: one.machine.claim_uid for place, one in self.aloof.held.items()}
        bearers = [
            api.decode(api.Object, raw)
            for kind in (NODE_CLAIM, NODE)
            for raw in (await self.api.list(Scope(kind))).items
        ]
        records = (recorded_machine(bearer.metadata.annotations) for bearer in bearers)
        return {one.provider_id: one.claim_uid for one in records if one is not None}

    def machines_made(self) -> dict[str, set[tuple[str, datetime]]]:
        """Every machine there ever was: name and moment of launch, by its claim's uid."""
        if self.aloof is not None:
            return self.aloof.made
        made: dict[str, set[tuple[str, datetime]]] = {}
        for happened in self.history:
            record = recorded_machine(happened.object.metadata.annotations)
            if record is not None:
                made.setdefault(record.claim_uid, set()).add((record.name, record.launched_at))
        return made

    # ---- what users do

    async def node_class(self, delay: str = "5s") -> None:
        """The node class."""
        body: dict[str, Json] = {**head(KWOK, "default"), "spec": {"nodeRegistrationDelay": delay}}
        await self.api.create(KWOK, body)

    async def pool(
        self,
        name: str = "default",
        *,
        after: str = "Never",
        grace: str = "",
        buys: tuple[str, ...] = ("spot", "on-demand"),
        types: tuple[str, ...] = (),
        weight: int = 1,
        budget: str = "100%",
        replicas: int | None = None,
    ) -> None:
        """A pool; its nodes go when they are empty for so long, and drain for `grace`. One with
        replicas has so many nodes, and no weight.
        """
        wanted: list[Json] = [{"key": labels.CAPACITY_TYPE, "operator": "In", "values": [*buys]}]
        if types:
            wanted.append({"key": labels.INSTANCE_TYPE, "operator": "In", "values": [*types]})
        spec: dict[str, Json] = {
            "nodeClassRef": {
                "group": self.class_kind.group,
                "kind": self.class_kind.name,
                "name": "default",
            },
            "requirements": wanted,
        }
        if grace:
            spec["terminationGracePeriod"] = grace
        disruption: Json = {"consolidateAfter": after, "budgets": [{"nodes": budget}]}
        size: dict[str, Json] = {"weight": weight} if replicas is None else {"replicas": replicas}
        body: dict[str, Json] = {
            **head(NODE_POOL, name),
            "spec": {"template": {"spec": spec}, "disruption": disruption, **size},
        }
        await self.api.create(NODE_POOL, body)

    async def scale(self, pool: str, replicas: int) -> None:
        """From now on the pool has so many nodes."""
        await self.api.patch(Ref(NODE_POOL, pool), Patch({"spec": {"replicas": replicas}}))

    async def break_node(self, name: str) -> None:
        """The kubelet of a node says that it is not well, and nothing more."""
        self.broken.add(name)
        page = await self.api.list(Scope(NODE))
        [node] = [
            one for raw in page.items if (one := api.decode(api.Node, raw)).metadata.name == name
        ]
        since = self.time.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        said: list[Json] = [
            {"type": one.type, "status": one.status, "reason": one.reason}
            for one in node.status.conditions
            if one.type != "Ready"
        ]
        said.append({"type": "Ready", "status": "False", "lastTransitionTime": since})
        await self.api.patch(
            Ref(NODE, name), Patch({"status": {"conditions": said}}, subresource="status")
        )

    def _silence(self, call: ApiCall) -> Trouble | None:
        """Nothing comes of what the kubelet of a broken node would say of it."""
        if call.kind == NODE.name and call.is_write and call.name in self.broken:
            return Trouble(UnavailableError(503, "ServiceUnavailable", "the kubelet hangs"))
        return None

    async def forbid_disruption(self, pool: str) -> None:
        """From now on the pool lets no node go that need not."""
        body: dict[str, Json] = {"spec": {"disruption": {"budgets": [{"nodes": "0"}]}}}
        await self.api.patch(Ref(NODE_POOL, pool), Patch(body))

    async def amend(self, pool: str, **template: Json) -> None:
        """From now on the pool's nodes are made otherwise: `metadata` and `spec` of its template
        change.
        """
        body: dict[str, Json] = {"spec": {"template": template}}
        await self.api.patch(Ref(NODE_POOL, pool), Patch(body))

    async def require(self, pool: str, **wanted: tuple[str, ...]) -> None:
        """From now on the pool makes nodes of these `types`, bought by these `ways`."""
        keys = {"types": labels.INSTANCE_TYPE, "ways": labels.CAPACITY_TYPE}
        lines: list[Json] = [
            {"key": keys[name], "operator": "In", "values": [*values]}
            for name, values in wanted.items()
        ]
        await self.amend(pool, spec={"requirements": lines})

    async def workload(self, name: str, n_pods: int, cpu: str) -> None:
        """So many pods of a shape, which are made again when they go."""
        requests: Json = {"cpu": cpu, "memory": "256Mi"}
        container: Json = {"name": "c", "image": "i", "resources": {"requests": requests}}
        body: dict[str, Json] = {
            **head(REPLICA_SET, name),
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
            **head(BUDGET, app),
            "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": app}}},
        }
        await self.api.create(BUDGET, body, "default")

    async def buffer(self, name: str, n_pods: int, cpu: str) -> None:
        """Room for so many pods of a shape is kept free."""
        requests: Json = {"cpu": cpu, "memory": "256Mi"}
        container: Json = {"name": "c", "image": "i", "resources": {"requests": requests}}
        template: dict[str, Json] = {
            **head(POD_TEMPLATE, name),
            "template": {"spec": {"containers": [container]}},
        }
        await self.api.create(POD_TEMPLATE, template, "default")
        spec: Json = {"podTemplateRef": {"name": name}, "replicas": n_pods}
        body: dict[str, Json] = {**head(CAPACITY_BUFFER, name), "spec": spec}
        await self.api.create(CAPACITY_BUFFER, body, "default")

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

    async def lose(self, place: str) -> None:
        """A machine goes, by itself and at once."""
        assert self.aloof is not None
        await self.aloof.lose(place)

    async def tear_away(self, name: str) -> None:
        """Somebody takes a claim away by force."""
        await self.api.patch(Ref(NODE_CLAIM, name), Patch({"metadata": {"finalizers": None}}))
        await self.delete_claim(name)


class Process:
    """One run of the controller, which leads at once or, among others, when it is elected."""

    def __init__(self, world: World, *, is_elected: bool = False) -> None:
        world.n_started += 1
        self.mortal = Mortal()
        self.plans: list[Plan] = []
        self._decide = world.decide
        self.revisions: list[int] = []  # of the snapshots that were decided upon
        self._time = world.time
        self._chance = Random(world.n_started).random  # noqa: S311  repeatable
        self._mark = f"run-{world.n_started}"
        self._is_elected = is_elected
        kube = TroubledKube(world.reached(), self.mortal.meet)
        self._beside = TroubledKube(world.api, self.mortal.meet_uncounted)
        self._recorder = Recorder(self._beside, world.time, world.time)
        context: ProviderContext[Kube] = ProviderContext(
            kube=kube,
            clock=world.time,
            timer=world.time,
            tell=self._recorder.tell,
            announce=self._announce,
            types_changed=self._refresh_types,
            gates=_GATES,
            log=world.log.named("provider"),
        )
        self._cloud = world.cloud(context, self.mortal)
        means = Dependencies(
            extensions=world.extensions,
            kube=kube,
            cloud=self._cloud,
            clock=world.time,
            timer=world.time,
            chance=self._chance,
            recorder=self._recorder,
            meters=_METERS,
            log=world.log,
        )
        setup = Setup(
            mark=self._mark,
            compute=self._computed,
            witness=_unseen,
            policy=_QUICKLY,
            gates=_GATES,
        )
        self._controller = Controller(means, setup)
        self._candidate = LeaderCandidate(
            Ref(LEASE, "karpenter-leader-election", "kube-system"),
            self._mark,
            ElectionDependencies(self._beside, world.time, world.time, self._chance, SILENT),
        )

    @property
    def is_leading(self) -> bool:
        """Whether it was elected, and still is."""
        return self._candidate.is_leading and not self.mortal.ended.is_set()

    def view(self) -> Snapshot:
        """The cluster as a page reads it."""
        return self._controller.cache.cluster.view(self._time.now())

    async def run(self) -> None:
        """Follow, and lead when it is time, until cancelled or dead."""
        async with asyncio.TaskGroup() as group:
            leading = self._lead_if_elected() if self._is_elected else self._lead()
            tasks = [
                group.create_task(self._controller.follow()),
                group.create_task(leading),
            ]
            await self.mortal.ended.wait()
            for task in tasks:
                task.cancel()

    def _refresh_types(self) -> None:
        self._controller.catalogue.refresh()

    def _announce(self, ending: InstanceEnding) -> None:
        self._controller.announce(ending)

    async def _computed(self, snapshot: Snapshot, now: datetime) -> Plan:
        self.revisions.append(snapshot.revision)
        self.plans.append(self._decide(snapshot, now))
        return self.plans[-1]

    async def _lead_if_elected(self) -> None:
        await self._candidate.lead(self._lead, asyncio.Event())

    async def _lead(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(self._controller.lead())
            if isinstance(self._cloud, CloudWorker):
                group.create_task(self._cloud.run())


@asynccontextmanager
async def living(world: World) -> AsyncIterator[asyncio.TaskGroup]:
    """The world at work; the group is for processes."""
    async with asyncio.TaskGroup() as group:
        others = group.create_task(world.run())
        await world.pass_()
        yield group
        others.cancel()


@asynccontextmanager
async def running(world: World, *, is_elected: bool = False) -> AsyncIterator[Process]:
    """A process at work, until it dies or the block ends."""
    process = Process(world, is_elected=is_elected)
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run())
        await world.pass_()
        yield process
        process.mortal.end()


def _unseen(_: Snapshot, __: Plan, ___: datetime, ____: float) -> None:
    """Nobody looks at decisions here."""


def halfway() -> float:
    """Chance that repeats itself."""
    return 0.5


def head(kind: api.Kind, name: str) -> dict[str, Json]:
    """The first fields of an object."""
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}}
