"""Launches that fail without a word on what is sold out do not make claims without end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from dovetail import api
from dovetail.controllers.cache import NODE_CLAIM
from dovetail.providers.kwok.faults import ErrorClass, FailedLaunch
from dovetail.testing import virtual_time
from tests.kills.laws import AtRest
from tests.kills.world import World, living, running

MINUTE = 60


def failing(
    error: ErrorClass, *, times: int | None = None, ends_at: datetime | None = None
) -> FailedLaunch:
    """Launches of the first pool end like this."""
    return FailedLaunch(error=error, node_pool="first", times=times, ends_at=ends_at)


def claims_made(world: World) -> int:
    """How many claims there ever were."""
    return len({one.object.metadata.uid for one in world.history if _is_claim(one.object)})


def _is_claim(found: api.Object) -> bool:
    return isinstance(found, api.NodeClaim)


def lived(play: Callable[[World], Awaitable[None]]) -> None:
    """Let this happen in a world with a controller."""

    async def living_world() -> None:
        world = World()
        async with living(world), running(world):
            await world.node_class()
            await play(world)

    virtual_time.run(living_world())


@pytest.mark.parametrize(
    "error", [ErrorClass.INSUFFICIENT_CAPACITY, ErrorClass.NODE_CLASS_NOT_READY]
)
def test_what_fails_without_a_word_is_tried_ever_more_seldom(error: ErrorClass) -> None:
    """A few claims in ten minutes, and the pods run soon after it is over."""

    async def play(world: World) -> None:
        over_at = world.time.now() + timedelta(minutes=10)
        world.faults.order(failing(error, ends_at=over_at))
        await world.pool("first")
        await world.workload("web", 2, "1500m")
        await world.pass_(10 * MINUTE)
        assert 3 <= claims_made(world) <= 20
        await world.pass_(4 * MINUTE)
        assert await AtRest(world).complaints() == []

    lived(play)


def test_other_pools_do_not_wait() -> None:
    """What the first pool cannot have, another one is asked for at once."""

    async def play(world: World) -> None:
        world.faults.order(failing(ErrorClass.INSUFFICIENT_CAPACITY))
        await world.pool("first", weight=10)
        await world.pool("second")
        await world.workload("web", 2, "1500m")
        await world.pass_(30)
        assert await AtRest(world).complaints() == []
        assert {one.partition("-")[0] for one in await world.names(NODE_CLAIM)} == {"second"}

    lived(play)


def test_many_that_fail_together_are_one_failure() -> None:
    """They are tried again as soon as one alone would be."""

    async def play(world: World) -> None:
        world.faults.order(failing(ErrorClass.INSUFFICIENT_CAPACITY, times=6))
        await world.pool("first")
        await world.workload("large", 6, "3")
        await world.pass_(40)
        assert await AtRest(world).complaints() == []

    lived(play)
