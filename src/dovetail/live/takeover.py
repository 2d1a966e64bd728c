"""Reads a live cluster for `dovetail check`: its objects, and what Dovetail would save."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from random import SystemRandom

import msgspec

from dovetail.clock import LoopTimer, SystemClock
from dovetail.decide import decide
from dovetail.errors import InputError
from dovetail.kube.errors import ApiError
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.transport import World
from dovetail.live.following import READER, Sighting, Whose, sight
from dovetail.migration.objects import ClusterObjects
from dovetail.migration.reading import read_objects
from dovetail.model.plan import Cost, DisruptionReason
from dovetail.observe.shadow import ShadowTally, reckon
from dovetail.present.installation.choices import Choices
from dovetail.settings import policies


class Takeover(msgspec.Struct, frozen=True):
    """A cluster at a moment. `forecast` is None where it was not asked for, or is impossible for
    the reason in `forecast_problem`.
    """

    objects: ClusterObjects
    now: datetime
    forecast: Forecast | None = None
    forecast_problem: str = ""


class Forecast(msgspec.Struct, frozen=True):
    """The first decision of Dovetail, counted as a dry run counts it."""

    tally: ShadowTally
    cost: Cost
    catalogues: tuple[str, ...] = ()


def read_takeover(whose: Whose, choices: Choices, *, with_forecast: bool) -> Takeover:
    """Read the cluster once. Raises InputError."""
    takeover = Takeover(asyncio.run(_read(whose, choices)), SystemClock().now())
    if not with_forecast:
        return takeover
    try:
        return msgspec.structs.replace(takeover, forecast=forecast_of(sight(whose)))
    except InputError as error:  # what was found is worth reading all the same
        return msgspec.structs.replace(takeover, forecast_problem=str(error))


async def _read(whose: Whose, choices: Choices) -> ClusterObjects:
    access = kubeconfig.load(whose.environment, path=whose.kubeconfig, context=whose.context)
    world = World(SystemClock(), LoopTimer(), SystemRandom().random, whose.environment)
    try:
        async with HttpKube(access, world, READER) as kube:
            return await read_objects(kube, choices)
    except ApiError as error:
        msg = f"{access.server}: {error}"
        raise InputError(msg) from None


def forecast_of(sighting: Sighting) -> Forecast:
    """What Dovetail would do first, and what that saves."""
    policy = msgspec.structs.replace(
        policies.DEFAULT, disrupts_for=tuple(DisruptionReason), confirm_after=timedelta(0)
    )
    snapshot = msgspec.structs.replace(sighting.snapshot, policy=policy)
    plan = decide(snapshot, sighting.now)
    tally, _ = reckon(ShadowTally(), snapshot, plan, sighting.now)
    return Forecast(tally, plan.cost, sighting.catalogues)
