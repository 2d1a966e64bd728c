"""Plays a day: a web tier that follows the sun, nightly batch, a GPU job, and failures.

06:00  the shop opens its eyes          13:20  a spot machine is taken back 10:00  a GPU training
job               15:00  no spot capacity in one zone, until 17:30 01:00  nightly reports
20:40  another spot machine is taken back
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.clock import Clock, Timer
from dovetail.kube.seam import Json, Kube, Patch, Ref, Scope
from dovetail.model.backoff import Chance
from dovetail.model.ending import InstanceEnding
from dovetail.providers.kwok.faults import Faults, NoCapacity
from dovetail.sim.weather import NOTICE

DAWN: Final = timedelta(hours=6)
_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_STEP: Final = timedelta(minutes=10)
_QUIETEST: Final = 4.0  # o'clock
_DEPLOYMENT: Final = api.KINDS["apps", "Deployment"]
_JOB: Final = api.KINDS["batch", "Job"]
_NODE_CLAIM: Final = api.KINDS["karpenter.sh", "NodeClaim"]
_POD: Final = api.KINDS["", "Pod"]
_NAMESPACE: Final = "demo-shop"
_SHORT_ZONE: Final = "us-west-2a"

Tell = Callable[[datetime, str], None]


class Tide(msgspec.Struct, frozen=True):
    """A Deployment whose replicas follow the day."""

    name: str
    lowest: int
    highest: int


_TIDES: Final = (Tide("web", 10, 64), Tide("api", 6, 40))


class Story:
    """Lets the day happen, again and again. `jobs` are templates by name; `tell` hears the news,
    `announce` which instances will be gone.
    """

    def __init__(  # noqa: PLR0913  all that a day takes
        self,
        kube: Kube,
        clock: Clock,
        timer: Timer,
        *,
        chance: Chance,
        faults: Faults,
        jobs: Mapping[str, dict[str, Json]],
        tell: Tell,
        announce: Callable[[InstanceEnding], None],
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._timer = timer
        self._chance = chance
        self._faults = faults
        self._jobs = jobs
        self._tell = tell
        self._announce = announce
        self._start = clock.now()
        self._n_jobs = 0
        self._dates: tuple[tuple[timedelta, Callable[[], Awaitable[None]]], ...] = (
            (timedelta(hours=1), self._reports),
            (timedelta(hours=10), self._begin_training),
            (timedelta(hours=13, minutes=20), self._interruption),
            (timedelta(hours=15), self._shortage),
            (timedelta(hours=20, minutes=40), self._interruption),
        )

    async def run(self) -> None:
        """Day after day, until cancelled."""
        last = self._clock.now()
        while True:
            await self._timer.sleep(_STEP.total_seconds())
            now = self._clock.now()
            for at, happen in self._dates:
                if _has_struck(at, last, now):
                    await happen()
            for tide in _TIDES:
                await self._follow(tide, now)
            last = now

    async def _follow(self, tide: Tide, now: datetime) -> None:
        """As many replicas as this hour needs, give or take a few."""
        share = daylight(now)
        wobble = 1 + 0.12 * (self._chance() - 0.5)
        wanted = round((tide.lowest + (tide.highest - tide.lowest) * share) * wobble)
        ref = Ref(_DEPLOYMENT, tide.name, _NAMESPACE)
        await self._kube.patch(ref, Patch({"spec": {"replicas": max(wanted, 1)}}))

    async def _reports(self) -> None:
        self._tell(self._clock.now(), "Nightly reports begin: 40 pods that require spot nodes")
        await self._begin("reports")

    async def _begin_training(self) -> None:
        self._tell(self._clock.now(), "A training job requests three GPUs")
        await self._begin("training")

    async def _begin(self, name: str) -> None:
        body = self._jobs[name]
        self._n_jobs += 1
        meta = body["metadata"]
        named = {**meta, "name": f"{name}-{self._n_jobs}"} if isinstance(meta, dict) else meta
        namespace = str(named["namespace"]) if isinstance(named, dict) else ""
        await self._kube.create(_JOB, {**body, "metadata": named}, namespace)

    async def _shortage(self) -> None:
        now = self._clock.now()
        self._tell(now, f"No spot capacity in {_SHORT_ZONE} until 17:30")
        fault = NoCapacity(
            starts_at=now, ends_at=now + 2.5 * _HOUR, zone=_SHORT_ZONE, capacity_type=labels.SPOT
        )
        self._faults.order(fault)

    async def _interruption(self) -> None:
        """The fullest spot machine is to go in two minutes."""
        page = await self._kube.list(Scope(_NODE_CLAIM, labels=f"{labels.CAPACITY_TYPE}=spot"))
        claims = [api.read(_NODE_CLAIM, bytes(raw)) for raw in page.items]
        pods = await self._kube.list(Scope(_POD, namespace=_NAMESPACE))
        n_by_node: dict[str, int] = {}
        for raw in pods.items:
            node = api.decode(api.Pod, raw).spec.node_name
            n_by_node[node] = n_by_node.get(node, 0) + 1
        staying = [
            claim
            for claim in claims
            if isinstance(claim, api.NodeClaim) and claim.metadata.deletion_timestamp is None
        ]
        if not staying:
            return
        fullest = max(staying, key=lambda claim: n_by_node.get(claim.status.node_name, 0))
        name = fullest.metadata.name
        now = self._clock.now()
        self._tell(now, f"The cloud interrupts the spot instance of {name}")
        place, message = fullest.status.provider_id, "The cloud takes the spot instance back"
        self._announce(InstanceEnding(place, "SpotInterrupted", message, at=now + NOTICE))


def daylight(now: datetime) -> float:
    """From 0 in the small hours to 1 in the afternoon, with a second wave in the evening."""
    hour = now.hour + now.minute / 60
    sun = 0.5 - 0.5 * math.cos((hour - _QUIETEST) / 24 * 2 * math.pi)
    evening = 0.35 * math.exp(-(((hour - 20.5) / 1.8) ** 2))
    return min(1.0, math.pow(sun, 1.4) + evening)


def _has_struck(at: timedelta, last: datetime, now: datetime) -> bool:
    """Whether this time of the day came between two moments."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return any(last < day + at <= now for day in (midnight - _DAY, midnight))
