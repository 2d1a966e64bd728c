"""Random worlds to kill the controller in: a few nodes, pods and budgets, and what then happens.

Everything is drawn from a number, so that a world can be made again. Whatever happens, all pods
find a place in the end: somebody always sells what the largest of them needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Final

from dovetail import api, labels
from dovetail.controllers.cache import NODE_CLAIM
from dovetail.decide.lifecycle.conditions import DISRUPTION_REASON, INSTANCE_TERMINATING
from dovetail.kube.seam import Json
from dovetail.providers.kwok.faults import ErrorClass, FailedLaunch, NoCapacity, SlowLaunch
from dovetail.sim import wire
from tests.kills.scenarios import Scenario
from tests.kills.starter import TAINT
from tests.kills.world import World

LARGE: Final = "c-4x-amd64-linux"
SMALL: Final = ("c-2x-amd64-linux", "s-2x-amd64-linux")
LONGEST_SECONDS: Final = 3 * 3_600.0
CALM_SECONDS: Final = 200.0
# Moves come one after another, each as soon as the last has settled; and what could not be had is
# asked for again after three minutes.
RESTS_AFTER_SECONDS: Final = 400.0
_HINDRANCE: Final[Json] = {"key": TAINT, "effect": "NoSchedule"}

Event = Callable[[World, Random], Awaitable[None]]


@dataclass(frozen=True)
class Pool:
    """A pool of the plot."""

    name: str
    types: tuple[str, ...]
    buys: tuple[str, ...]
    after: str
    budget: str
    weight: int
    replicas: int | None = None


@dataclass(frozen=True)
class Work:
    """A workload of the plot, and how many of its pods must be available."""

    name: str
    n_pods: int
    cpu: str
    least: int


@dataclass(frozen=True)
class Plot:
    """What is there, and what then happens."""

    seed: int
    pools: tuple[Pool, ...]
    works: tuple[Work, ...]
    events: tuple[Event, ...]
    is_aloof: bool
    keeps_somebody: bool  # for ever, by a budget that lets nobody go

    async def given(self, world: World) -> None:
        """Pools, workloads, and the nodes that were made for them."""
        await world.node_class()
        for pool in self.pools:
            await world.pool(
                pool.name,
                types=pool.types,
                buys=pool.buys,
                after=pool.after,
                budget=pool.budget,
                weight=pool.weight,
                replicas=pool.replicas,
            )
        for work in self.works:
            await world.workload(work.name, work.n_pods, work.cpu)
            if work.least:
                await world.budget(work.name, work.least)
            await world.pass_(10)
        await world.pass_(40)

    async def action(self, world: World) -> None:
        """One thing after the other."""
        chance = Random(self.seed)  # noqa: S311  repeatable
        for event in self.events:
            await event(world, chance)
            await world.pass_(chance.choice((0, 1, 12)))

    async def laws(self, world: World) -> list[str]:
        """Budgets of pools were kept, and no node comes or goes any more."""
        before = await world.names(NODE_CLAIM)
        await world.pass_(CALM_SECONDS)
        found = overdrawn(world, {pool.name: pool.budget for pool in self.pools})
        if await world.names(NODE_CLAIM) != before:
            found.append(f"{before} became {await world.names(NODE_CLAIM)}")
        return found


def scenario_of(seed: int) -> Scenario:
    """The world of this number."""
    plot = plot_of(seed)
    names = [event.__name__ for event in plot.events]
    return Scenario(
        f"world {seed}: {', '.join(names)}",
        plot.given,
        plot.action,
        is_aloof=plot.is_aloof,
        is_stuck=plot.keeps_somebody,
        longest_seconds=LONGEST_SECONDS,
        rests_after_seconds=RESTS_AFTER_SECONDS,
        laws=plot.laws,
    )


def plot_of(seed: int) -> Plot:
    """What there is in the world of this number, and what happens there."""
    chance = Random(seed)  # noqa: S311  repeatable
    keeps_somebody = chance.random() < 0.15
    pools = tuple(_pool(chance, number) for number in range(chance.randint(1, 2)))
    works = tuple(
        _work(chance, number, keeps_all=keeps_somebody and not number)
        for number in range(chance.randint(1, 3))
    )
    events = [_EVENTS[chance.randrange(len(_EVENTS))] for _ in range(chance.randint(1, 2))]
    if keeps_somebody:  # a node that is deleted by hand would never go
        events = [one for one in events if one is not delete_a_claim] or [drift]
    is_aloof = chance.random() < 0.3
    if len(pools) > 1 and chance.random() < 0.3:  # drawn last, so that other worlds stay
        n_nodes = chance.randint(1, 2)
        pools = (replace(pools[0], replicas=n_nodes), replace(pools[1], buys=("on-demand",)))
    return Plot(seed, pools, works, tuple(events), is_aloof, keeps_somebody)


def _pool(chance: Random, number: int) -> Pool:
    small = chance.choice(((), SMALL[:1], SMALL))
    ways = (("spot", "on-demand"), ("spot", "on-demand"), ("on-demand",), ("spot",))
    return Pool(
        name=f"pool-{number}",
        types=(LARGE, *small),
        buys=chance.choice(ways),
        after=chance.choice(("10s", "10s", "30s", "Never")),
        budget=chance.choice(("1", "1", "2", "100%")),
        weight=chance.choice((1, 1, 10)),
    )


def _work(chance: Random, number: int, *, keeps_all: bool) -> Work:
    n_pods = chance.randint(1, 4)
    least = chance.choice((0, 0, 1, n_pods - 1))
    least = n_pods if keeps_all else min(least, n_pods - 1)
    return Work(f"work-{number}", n_pods, chance.choice(("400m", "900m", "1500m", "3")), least)


# ------------------------------------------------------------------ what happens


async def drift(world: World, chance: Random) -> None:
    """A pool makes its nodes otherwise."""
    mark = f"{chance.randrange(10**6)}"
    await world.amend("pool-0", metadata={"labels": {"generation": mark}})


async def retype(world: World, chance: Random) -> None:
    """A pool makes nodes of other types, or buys them in another way."""
    types = chance.choice(((LARGE,), (LARGE, *SMALL)))
    ways = chance.choice((("on-demand",), ("spot",), ("spot", "on-demand")))
    await world.require("pool-0", types=types, ways=ways)


async def lose_work(world: World, _: Random) -> None:
    """A workload is deleted."""
    await world.dismiss("work-0")


async def gain_work(world: World, chance: Random) -> None:
    """Another workload comes."""
    name = f"more-{chance.randrange(10**6)}"
    await world.workload(name, chance.randint(1, 3), chance.choice(("900m", "1500m", "3")))


async def offer_more(world: World, chance: Random) -> None:
    """Another pool sells small nodes, on the spot market."""
    name = f"cheap-{chance.randrange(10**6)}"
    weight = chance.choice((1, 20))
    await world.pool(name, types=(LARGE, *SMALL), buys=("spot",), after="10s", weight=weight)


async def delete_a_claim(world: World, chance: Random) -> None:
    """Somebody deletes a claim."""
    names = await world.names(NODE_CLAIM)
    if names:
        await world.delete_claim(chance.choice(sorted(names)))


async def sell_out(world: World, chance: Random) -> None:
    """For a while there is no spot capacity, and nodes are made otherwise."""
    ends_at = world.time.now() + timedelta(seconds=chance.choice((30, 300)))
    world.faults.order(NoCapacity(capacity_type="spot", ends_at=ends_at))
    await drift(world, chance)


async def fail_launches(world: World, chance: Random) -> None:
    """Some launches fail, and nodes are made otherwise."""
    error = chance.choice((ErrorClass.CREATE, ErrorClass.INSUFFICIENT_CAPACITY))
    world.faults.order(FailedLaunch(error=error, times=chance.randint(1, 3)))
    await drift(world, chance)


async def launch_slowly(world: World, chance: Random) -> None:
    """Launches take their time, and nodes are made otherwise."""
    world.faults.order(SlowLaunch(seconds=chance.choice((20, 60)), times=2))
    await drift(world, chance)


async def hinder(world: World, chance: Random) -> None:
    """For a while nobody takes the taint off that new nodes have: replacements never start."""
    world.starter.hinder()
    await world.amend("pool-0", spec={"startupTaints": [_HINDRANCE]})
    await world.pass_(chance.choice((30, 200, 900)))
    await world.amend("pool-0", spec={"startupTaints": None})
    await world.starter.resume()


_EVENTS: Final[tuple[Event, ...]] = (
    drift,
    drift,
    retype,
    retype,
    lose_work,
    gain_work,
    offer_more,
    delete_a_claim,
    sell_out,
    fail_launches,
    launch_slowly,
    hinder,
)


# ------------------------------------------------------------------ laws


def overdrawn(world: World, budgets: dict[str, str]) -> list[str]:
    """Whenever more nodes of a pool were being disrupted than its budget allows; not counted are
    those whose instance is being ended.
    """
    claims: dict[str, str] = {}  # pools of those that are disrupted by choice, by uid
    found = set()
    for one in world.history:
        if not isinstance(one.object, api.NodeClaim):
            continue
        meta, pool = one.object.metadata, one.object.metadata.labels.get(labels.NODE_POOL, "")
        claims.pop(meta.uid, None)
        said = one.object.status.conditions
        is_ending = one.is_gone or wire.is_true(said, INSTANCE_TERMINATING)
        if wire.is_true(said, DISRUPTION_REASON) and not is_ending:
            claims[meta.uid] = pool
        n_going = sum(name == pool for name in claims.values())
        budget = budgets.get(pool, "100%")
        if not budget.endswith("%") and n_going > int(budget):
            found.add(f"{n_going} nodes of {pool} were disrupted at once")
    return sorted(found)
