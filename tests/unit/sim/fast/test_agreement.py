"""The fast form and the faithful one come to the same: same nodes, same pods, same price."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from dovetail import api, labels
from dovetail.api.crds import crds
from dovetail.apiserver import MemoryKube
from dovetail.cloud.context import ProviderContext
from dovetail.controllers.cache import NODE_POOL
from dovetail.controllers.controller import Controller, Setup
from dovetail.controllers.dependencies import Dependencies
from dovetail.decide import decide
from dovetail.decide.pools import running_price
from dovetail.kube.seam import Patch, Ref, Scope
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.observe.events import Recorder
from dovetail.observe.logs import SILENT
from dovetail.observe.meters import Meters
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.providers.kwok.catalogue import instance_types
from dovetail.providers.kwok.faults import Faults
from dovetail.providers.kwok.plugin import PLUGIN as KWOK_PLUGIN
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.sim.controller_manager.replicas import REPLICA_SET
from dovetail.sim.demand import AppDemand, Demand
from dovetail.sim.fast.machines import MachinePace
from dovetail.sim.fast.run import Ended, Manner, simulate
from dovetail.sim.fast.windows import Rhythm
from dovetail.sim.kubelets import Habits
from dovetail.sim.world import run_world
from dovetail.testing.virtual_time import START, VirtualTime

KWOK = kwok_node_class.KIND
EVENT = api.Kind("", "v1", "Event", "events", api.Object)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
TYPES = tuple(
    one
    for one in instance_types()
    if one.name in {"c-2x-amd64-linux", "s-2x-amd64-linux", "c-4x-amd64-linux", "m-8x-amd64-linux"}
)
_METERS = Meters()

Curve = tuple[tuple[timedelta, int], ...]


@dataclass
class Faithful:
    """A cluster over its API, with the real controllers."""

    curves: dict[str, tuple[str, Curve]]  # cpu and replicas, by app
    policy: Policy
    lasts: timedelta
    time: VirtualTime = field(default_factory=VirtualTime)
    seen: list[Snapshot] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kube = MemoryKube(self.time, definitions=tuple(crds((KWOK_PLUGIN.extension,))))

    async def run(self) -> None:
        """Let it live for as long as it is to."""
        await self._furnish()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in self._lives()]
            await self._follow_curves()
            for task in tasks:
                task.cancel()

    def _lives(self) -> Any:
        around = ProviderContext(kube=self.kube, clock=self.time, timer=self.time)
        cloud = KwokProvider(around, types=TYPES, ordered=Faults())
        recorder = Recorder(self.kube, self.time, self.time)
        means = Dependencies(
            extensions=(KWOK_PLUGIN.extension,),
            kube=self.kube,
            cloud=cloud,
            clock=self.time,
            timer=self.time,
            chance=Random(1).random,  # noqa: S311  repeatable
            recorder=recorder,
            meters=_METERS,
            log=SILENT,
        )
        setup = Setup(mark="run", compute=self._decide, witness=_unseen, policy=self.policy)
        controller = Controller(means, setup)
        habits = Habits(ready_after_seconds=1.0, start_pod_seconds=1.0, lease_seconds=0)
        yield run_world(self.kube, self.time, self.time, habits=habits)
        yield controller.follow()
        yield controller.lead()
        yield recorder.run()
        yield cloud.run()

    async def _decide(self, snapshot: Snapshot, now: datetime) -> Plan:
        self.seen.append(snapshot)
        return decide(snapshot, now)

    async def _furnish(self) -> None:
        body: Any = {**_head(KWOK, "default"), "spec": {"nodeRegistrationDelay": "5s"}}
        await self.kube.create(KWOK, body)
        ref = {"group": KWOK.group, "kind": KWOK.name, "name": "default"}
        wanted = {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]}
        spec: Any = {
            "template": {"spec": {"nodeClassRef": ref, "requirements": [wanted]}},
            "disruption": {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]},
        }
        await self.kube.create(NODE_POOL, {**_head(NODE_POOL, "default"), "spec": spec})
        for app, (cpu, curve) in self.curves.items():
            requests = {"cpu": cpu, "memory": "256Mi"}
            container = {"name": "c", "image": "i", "resources": {"requests": requests}}
            held: Any = {
                "replicas": curve[0][1],
                "selector": {"matchLabels": {"app": app}},
                "template": {
                    "metadata": {"labels": {"app": app}},
                    "spec": {"containers": [container]},
                },
            }
            body = {**_head(REPLICA_SET, app), "spec": held}
            await self.kube.create(REPLICA_SET, body, "default")

    async def _follow_curves(self) -> None:
        steps = sorted(
            (at, app, n_pods) for app, (_, curve) in self.curves.items() for at, n_pods in curve
        )
        for at, app, n_pods in steps:
            await self._pass_until(at)
            change: Any = {"spec": {"replicas": n_pods}}
            await self.kube.patch(Ref(REPLICA_SET, app, "default"), Patch(change))
        await self._pass_until(self.lasts)

    async def _pass_until(self, at: timedelta) -> None:
        await self.time.advance(START + at - self.time.now())

    async def n_evictions(self) -> int:
        """As it was told in events."""
        page = await self.kube.list(Scope(EVENT))
        events = [msgspec.json.decode(raw) for raw in page.items]
        return sum(one.get("reason") == "Evicted" for one in events)


def _unseen(_: Snapshot, __: Plan, ___: datetime, ____: float) -> None:
    """Nobody looks at decisions here."""


def _head(kind: api.Kind, name: str) -> dict[str, Any]:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}}


def fast(faithful: Faithful) -> Ended:
    """The same over decisions alone: pools, types and templates as the faithful form sees them."""
    known = faithful.seen[-1]
    specs = {pod.labels["app"]: pod.spec for one in faithful.seen for pod in one.pods}
    workloads = tuple(
        AppDemand(name=app, spec=specs[app], replicas=curve, ready_after=SECOND, ends_after=SECOND)
        for app, (_, curve) in faithful.curves.items()
    )
    given = msgspec.structs.replace(
        known, pods=(), nodes=(), ledger=type(known.ledger)(), revision=1
    )
    return simulate(
        given,
        Demand(lasts_for=faithful.lasts, workloads=workloads),
        decide,
        manner=Manner(
            start=START,
            rhythm=Rhythm(calm=SECOND),
            pace=MachinePace(starts_after=6 * SECOND, starts_within=7 * SECOND, ends_after=SECOND),
        ),
        chance=lambda: 0.5,
    )


def nodes(cluster: Snapshot) -> Counter[tuple[str, str]]:
    """How many nodes of each type, bought how."""
    return Counter((one.instance_type, one.capacity_type) for one in cluster.nodes)


def pods(cluster: Snapshot) -> Counter[str]:
    """How many pods run, by app."""
    return Counter(one.labels["app"] for one in cluster.pods if one.node_name)


GROWING: dict[str, tuple[str, Curve]] = {
    "web": ("1500m", ((timedelta(0), 5), (8 * MINUTE, 9), (20 * MINUTE, 3))),
    "api": ("400m", ((timedelta(0), 4), (14 * MINUTE, 8))),
}
VANISHING: dict[str, tuple[str, Curve]] = {
    "batch": ("3", ((timedelta(0), 4), (10 * MINUTE, 0))),
    "steady": ("700m", ((timedelta(0), 2),)),
}


@pytest.mark.parametrize("curves", [GROWING, VANISHING], ids=["growing", "vanishing"])
def test_both_forms_end_with_the_same_nodes_the_same_pods_and_the_same_price(
    curves: dict[str, tuple[str, Curve]],
) -> None:
    """Pods come, grow in number and go; nodes are launched, emptied and consolidated."""
    policy = Policy(effort=0, disrupts_for=tuple(DisruptionReason), eviction_cost=timedelta(0))
    faithful = Faithful(curves, policy, 40 * MINUTE)
    asyncio.run(faithful.run())
    known, ended = faithful.seen[-1], fast(faithful)
    assert nodes(ended.snapshot) == nodes(known)
    assert pods(ended.snapshot) == pods(known)
    assert running_price(ended.snapshot) == running_price(known)
    assert ended.report.n_evictions == asyncio.run(faithful.n_evictions()) > 0
