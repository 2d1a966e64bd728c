"""How long do pods wait for their nodes to be ordered? A surge of pods, watched from outside.

The clock starts when the last pod is marked Unschedulable by kube-scheduler and stops when the last
NodeClaim is created, both as a watch shows them.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from dovetail import api, labels
from dovetail.clock import LoopTimer, SystemClock
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.transport import HttpSettings, World
from dovetail.kube.seam import Json, Scope, WatchEventType
from dovetail.providers.kwok.catalogue import instance_types

POD: Final = api.KINDS["", "Pod"]
NODE: Final = api.KINDS["", "Node"]
NODE_CLAIM: Final = api.KINDS["karpenter.sh", "NodeClaim"]
NAMESPACE: Final = "surge"
_OFFER: Final = (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE)
_QUIET_SECONDS: Final = 8.0  # nobody orders anything for so long: that was all
_SIZES: Final = ((100, 128), (250, 512), (500, 1024), (500, 2048), (1000, 4096), (2000, 8192))
_WEIGHTS: Final = (30, 25, 20, 12, 9, 4)


@asynccontextmanager
async def reaching(path: Path) -> AsyncIterator[HttpKube]:
    """The API, without limits of our own."""
    access = kubeconfig.load({}, path=str(path))
    world = World(SystemClock(), LoopTimer(), random.Random(1).random)
    settings = HttpSettings(requests_per_second=5000.0, burst=5000)
    async with HttpKube(access, world, settings) as kube:
        yield kube


def pods(n_pods: int, seed: int) -> list[dict[str, Json]]:
    """A mix of sizes in twenty deployments, each spread over zones."""
    chance = random.Random(seed)
    return [_pod(f"p-{ordinal:05}", chance) for ordinal in range(n_pods)]


def _pod(name: str, chance: random.Random) -> dict[str, Json]:
    millis, mebis = chance.choices(_SIZES, _WEIGHTS)[0]
    app = f"app-{chance.randrange(20)}"
    requests: dict[str, Json] = {"cpu": f"{millis}m", "memory": f"{mebis}Mi"}
    spread: dict[str, Json] = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": app}},
        "spec": {
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
            "topologySpreadConstraints": [spread],
            "terminationGracePeriodSeconds": 0,
        },
    }


@dataclass
class Seen:
    """When each thing was first seen, in seconds of a steady clock."""

    unschedulable: dict[str, float] = field(default_factory=dict)
    claims: dict[str, float] = field(default_factory=dict)
    node_by_pod: dict[str, str] = field(default_factory=dict)


async def create(kube: HttpKube, bodies: list[dict[str, Json]]) -> None:
    """Make the pods as fast as the API takes them."""
    slots = asyncio.Semaphore(64)

    async def one(body: dict[str, Json]) -> None:
        async with slots:
            await kube.create(POD, body, NAMESPACE)

    async with asyncio.TaskGroup() as group:
        for body in bodies:
            group.create_task(one(body))


async def watch_pods(kube: HttpKube, seen: Seen) -> None:
    """Note pods that cannot be scheduled, and where they are bound."""
    page = await kube.list(Scope(POD, NAMESPACE))
    since = page.resource_version
    while True:
        async for change in kube.watch(Scope(POD, NAMESPACE), since=since):
            since = change.resource_version or since
            found: Any = msgspec.json.decode(change.object)
            _note_pod(found, seen)


def _note_pod(found: Any, seen: Seen) -> None:  # noqa: ANN401  JSON as it comes
    name = found.get("metadata", {}).get("name", "")
    node = found.get("spec", {}).get("nodeName")
    if node:
        seen.node_by_pod[name] = node
    for held in found.get("status", {}).get("conditions", ()):
        if held["type"] == "PodScheduled" and held.get("reason") == "Unschedulable":
            seen.unschedulable.setdefault(name, time.monotonic())


async def watch_claims(kube: HttpKube, seen: Seen) -> None:
    """Note claims as they are made."""
    page = await kube.list(Scope(NODE_CLAIM))
    since = page.resource_version
    while True:
        async for change in kube.watch(Scope(NODE_CLAIM), since=since):
            since = change.resource_version or since
            found: Any = msgspec.json.decode(change.object)
            if change.type is WatchEventType.ADDED:
                seen.claims.setdefault(found["metadata"]["name"], time.monotonic())


class Surge(msgspec.Struct, frozen=True):
    """What a surge came to. `seconds` is from the last pod marked to the last claim made."""

    n_pods: int
    n_claims: int
    seconds: float
    seconds_from_first: float
    usd_per_hour: float


async def surge(path: Path, n_pods: int, *, seed: int = 1) -> Surge:
    """Make pods and wait until nothing more is ordered."""
    seen = Seen()
    async with reaching(path) as kube, asyncio.TaskGroup() as group:
        watches = [
            group.create_task(watch_pods(kube, seen)),
            group.create_task(watch_claims(kube, seen)),
        ]
        await asyncio.sleep(0.5)
        await create(kube, pods(n_pods, seed))
        await _quiet(seen)
        _, price = await claims(kube)
        for one in watches:
            one.cancel()
    return _measured(n_pods, seen, price)


async def claims(kube: HttpKube) -> tuple[int, float]:
    """How many claims there are, and what their nodes cost an hour."""
    page = await kube.list(Scope(NODE_CLAIM))
    prices = {
        (one.name, at.zone, at.capacity_type): at.price_nanousd / 1e9
        for one in instance_types()
        for at in one.offerings
    }
    found: list[Any] = [
        msgspec.json.decode(raw)["metadata"].get("labels", {}) for raw in page.items
    ]
    keys = (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE)
    offers = (tuple(held.get(key, "") for key in keys) for held in found)
    return len(found), sum(prices.get(offer, 0.0) for offer in offers)


async def _quiet(seen: Seen) -> None:
    """Until no pod and no claim has been news for a while."""
    begun = time.monotonic()
    while True:
        await asyncio.sleep(0.25)
        latest = max([begun, *seen.unschedulable.values(), *seen.claims.values()])
        if time.monotonic() - latest > _QUIET_SECONDS and seen.claims:
            return
        if time.monotonic() - begun > 300:
            msg = "nothing was ordered in 5 minutes"
            raise TimeoutError(msg)


def _measured(n_pods: int, seen: Seen, price: float) -> Surge:
    last_claim = max(seen.claims.values())
    return Surge(
        n_pods,
        len(seen.claims),
        last_claim - max(seen.unschedulable.values()),
        last_claim - min(seen.unschedulable.values()),
        price,
    )
