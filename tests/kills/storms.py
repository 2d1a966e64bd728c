"""What goes wrong around a controller, for a while."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from dovetail.kube.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    TooManyRequestsError,
    UnavailableError,
)
from dovetail.providers.kwok.faults import ErrorClass, FailedLaunch, LostInstance, Throttling
from tests.doubles.troubled_kube import ApiCall, Trouble, When, no_trouble
from tests.kills.mortal import Troubles
from tests.kills.world import Process, World

LASTS_SECONDS = 60
_OFTEN = 0.4
_HALF = 0.5
_HOUR = timedelta(hours=1)

Strikes = Callable[[World, Process, Random], Awaitable[None]]


@dataclass(frozen=True)
class Storm:
    """Something that goes wrong for a while.

    Where it does not let steer, a pod may take the room of another. Where it takes machines,
    others are launched for them and budgets cannot be kept. Where it sets the clock, waits for
    moments that were written down before may last as much longer.
    """

    name: str
    strikes: Strikes
    lets_steer: bool = True
    takes_machines: bool = False
    sets_clock: bool = False


def failing(
    *errors: Callable[[], ApiError], writes_only: bool = False, late: bool = False
) -> Strikes:
    """Many calls fail, each in one of these ways; if `late`, sometimes after they were done."""

    async def storm(world: World, process: Process, chance: Random) -> None:
        def trouble(call: ApiCall) -> Trouble | None:
            is_spared = writes_only and not call.is_write
            if is_spared or chance.random() >= _OFTEN:
                return None
            when = When.AFTER if late and chance.random() < _HALF else When.BEFORE
            return Trouble(chance.choice(errors)(), when)

        await _suffer(world, process, trouble)

    return storm


async def _suffer(world: World, process: Process, trouble: Troubles) -> None:
    process.mortal.trouble = trouble
    await world.pass_(LASTS_SECONDS)
    process.mortal.trouble = no_trouble


async def cut(world: World, _: Process, chance: Random) -> None:
    """Every watch ends, again and again."""
    for _second in range(LASTS_SECONDS):
        await world.pass_(2 * chance.random())
        world.api.cut_watches()


async def forgetting(world: World, _: Process, chance: Random) -> None:
    """Every watch ends, and the server does not know any more where it was."""
    for _second in range(LASTS_SECONDS // 2):
        await world.pass_(4 * chance.random())
        world.api.forget_history()
        world.api.cut_watches()


async def restarted(world: World, process: Process, chance: Random) -> None:
    """The API server goes away for a while, and comes back without its memory of changes."""
    for _ in range(LASTS_SECONDS // 20):
        await world.pass_(10 * chance.random())
        process.mortal.trouble = lambda _call: Trouble(broken())
        world.api.cut_watches()
        await world.pass_(10)
        world.api.forget_history()
        process.mortal.trouble = no_trouble


def clock_set(*spans: timedelta) -> Strikes:
    """The clock is set, at some moment each time."""

    async def storm(world: World, _: Process, chance: Random) -> None:
        for span in spans:
            await world.pass_(10 * chance.random())
            world.time.set_clock(span)
        await world.pass_(LASTS_SECONDS)

    return storm


def launches_failing(error: ErrorClass) -> Strikes:
    """Every launch ends in an error."""

    async def storm(world: World, _: Process, __: Random) -> None:
        ends_at = world.time.now() + timedelta(seconds=LASTS_SECONDS)
        world.faults.order(FailedLaunch(error=error, ends_at=ends_at))
        await world.pass_(LASTS_SECONDS)

    return storm


async def throttled(world: World, _: Process, __: Random) -> None:
    """The cloud will not be asked anything."""
    world.faults.order(Throttling(ends_at=world.time.now() + timedelta(seconds=LASTS_SECONDS)))
    await world.pass_(LASTS_SECONDS)


async def machines_lost(world: World, _: Process, __: Random) -> None:
    """Machines that are launched now are lost soon after they have come."""
    world.faults.order(LostInstance(after_seconds=15, times=2))
    await world.pass_(LASTS_SECONDS)


def conflict() -> ApiError:
    """Somebody else was faster."""
    return ConflictError(409, "Conflict", "the object has been modified")


def busy() -> ApiError:
    """The server asks for patience."""
    return TooManyRequestsError(429, "TooManyRequests", "busy", timedelta(seconds=3))


def busier() -> ApiError:
    """It does not even say for how long."""
    return TooManyRequestsError(429, "TooManyRequests", "busy")


def broken() -> ApiError:
    """There was no answer."""
    return UnavailableError(0, "", "the connection broke")


def failed() -> ApiError:
    """The server has a problem of its own."""
    return UnavailableError(500, "InternalError", "etcd is away")


def forbidden() -> ApiError:
    """Somebody has taken our rights."""
    return ForbiddenError(403, "Forbidden", "not allowed")


STORMS = (
    Storm("conflicts", failing(conflict, writes_only=True), lets_steer=False),
    Storm("too many requests", failing(busy, busier), lets_steer=False),
    Storm("server errors", failing(failed), lets_steer=False),
    Storm("broken connections", failing(broken, late=True), lets_steer=False),
    Storm("forbidden", failing(forbidden, writes_only=True), lets_steer=False),
    Storm("everything fails", failing(conflict, busy, failed, broken, late=True), lets_steer=False),
    Storm("watches cut", cut),
    Storm("history forgotten", forgetting),
    Storm("server restarted", restarted, lets_steer=False),
    Storm("the cloud throttles", throttled),
    Storm("machines lost", machines_lost, takes_machines=True, lets_steer=False),
    *(Storm(f"launches end in {one}", launches_failing(one)) for one in ErrorClass),
    Storm("clock ahead", clock_set(_HOUR), sets_clock=True),
    Storm("clock back", clock_set(-_HOUR), sets_clock=True),
    Storm("clock to and fro", clock_set(_HOUR, -2 * _HOUR, _HOUR), sets_clock=True),
)
