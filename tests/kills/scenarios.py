"""What the controller is killed in the middle of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from dovetail import api
from dovetail.controllers.known import NODE_CLAIM, NODE_POOL
from dovetail.kube.seam import Deletion, Ref
from dovetail.providers.kwok.faults import NoCapacity
from dovetail.testing.troubled_kube import Call, When
from tests.kills.laws import AtRest, breaches, machines_made
from tests.kills.world import Process, World, living, running

SECONDS_OF_A_RESTART = 3.0
_STEP_SECONDS = 5.0
_LONGEST_SECONDS = 1_200.0
_QUIET_SECONDS = 130.0  # long enough for garbage to be looked for once more


@dataclass(frozen=True)
class Scenario:
    """What is there, what then happens, and what else must be so in the end."""

    name: str
    given: Callable[[World], Awaitable[None]]  # before, with a controller at work
    action: Callable[[World], Awaitable[None]]
    n_nodes: int | None = None  # at rest
    is_scale_up: bool = False
    drain_grace: timedelta | None = None


async def scale_up(world: World) -> None:
    """Pods of three shapes, for four nodes."""
    await world.workload("big", 2, "3")
    await world.workload("mid", 2, "1500m")
    await world.workload("small", 3, "400m")


async def empty_pool(world: World) -> None:
    """A pool that has no nodes yet."""
    await world.node_class()
    await world.pool()


async def two_pools(world: World) -> None:
    """A pool of spot nodes, and one for when there are none."""
    await world.node_class()
    await world.pool("first", buys=("spot",), weight=10)
    await world.pool("second", buys=("on-demand",))


async def two_nodes(world: World, **pool: str) -> None:
    """Two nodes with the pods of one workload, of which a budget lets one at a time go."""
    await world.node_class()
    await world.pool(**pool)
    await world.workload("web", 4, "1800m")
    await world.budget("web", 3)
    await world.pass_(40)


async def with_patience(world: World) -> None:
    """Nodes that drain for as long as it takes."""
    await two_nodes(world)


async def without_patience(world: World) -> None:
    """Nodes that drain for a while; the budget lets nobody go."""
    await world.node_class()
    await world.pool(grace="60s")
    await world.workload("web", 4, "1800m")
    await world.budget("web", 4)
    await world.pass_(40)


async def soon_empty(world: World) -> None:
    """Nodes that go when they are empty."""
    await two_nodes(world, after="10s")


async def drain(world: World) -> None:
    """Somebody deletes a claim."""
    names = await world.names(NODE_CLAIM)
    await world.delete_claim(names[0])


async def lose_work(world: World) -> None:
    """The workload is deleted."""
    await world.dismiss("web")


async def lose_pool(world: World) -> None:
    """The pool is deleted, with nodes out and nowhere to go for their pods."""
    await world.dismiss("web")
    await world.api.delete(Ref(NODE_POOL, "default"), Deletion())


async def sold_out(world: World) -> None:
    """A scale-up, while the first choice cannot be had."""
    world.faults.order(NoCapacity(capacity_type="spot"))
    await scale_up(world)


SCENARIOS = (
    Scenario("scale up", empty_pool, scale_up, n_nodes=4, is_scale_up=True),
    Scenario("drain", with_patience, drain),
    Scenario("drain with a deadline", without_patience, drain, drain_grace=timedelta(seconds=60)),
    Scenario("emptiness", soon_empty, lose_work, n_nodes=0),
    Scenario("pool deleted", with_patience, lose_pool, n_nodes=0),
    Scenario("sold out", two_pools, sold_out, n_nodes=4, is_scale_up=True),
)


async def left_alone(scenario: Scenario) -> tuple[list[Call], list[str]]:
    """What a controller asks API and cloud for that nobody kills, and what is wrong in the end."""
    world = World()
    async with living(world), running(world) as process:
        await _act(scenario, world, process)
        complaints = await judged(scenario, world)
        return process.mortal.calls, complaints


async def killed(scenario: Scenario, dies_at: int, when: When) -> list[str]:
    """Kill the controller at that call and start another; what is wrong in the end."""
    world = World()
    async with living(world):
        async with running(world) as process:
            await _act(scenario, world, process, dies_at, when)
            is_dead = await _died(world, process)
        await world.pass_(SECONDS_OF_A_RESTART)
        async with running(world):
            complaints = await judged(scenario, world)
    return complaints if is_dead else ["the controller did not come to that call"]


async def _act(
    scenario: Scenario,
    world: World,
    process: Process,
    dies_at: int | None = None,
    when: When = When.BEFORE,
) -> None:
    await scenario.given(world)
    await world.pass_(2)
    process.mortal.begin_counting(dies_at, when)
    await scenario.action(world)


async def _died(world: World, process: Process) -> bool:
    for _ in range(int(_LONGEST_SECONDS)):
        if process.mortal.ended.is_set():
            return True
        await world.pass_(1)
    return False


async def judged(scenario: Scenario, world: World) -> list[str]:
    """Wait for rest, and hold what there is and what was to the laws; what is wrong."""
    seen = AtRest(world, scenario.n_nodes)
    complaints = await _unrest(world, seen)
    if complaints:
        return complaints
    excused = None
    if scenario.drain_grace is not None:
        excused = _deadline(world, scenario.drain_grace)
    complaints += breaches(world, excused)
    if scenario.is_scale_up:
        complaints += [f"node {name} was launched in vain" for name in seen.idle_nodes()]
        n_made = len(machines_made(world))
        if n_made != len(seen.nodes):
            complaints.append(f"{n_made} instances were launched for {len(seen.nodes)} nodes")
    return complaints


async def _unrest(world: World, seen: AtRest) -> list[str]:
    """Wait until the cluster is as it should be; what is wrong if it never is, or does not stay."""
    complaints: list[str] = []
    for _ in range(int(_LONGEST_SECONDS / _STEP_SECONDS)):
        await world.pass_(_STEP_SECONDS)
        complaints = await seen.complaints()
        if not complaints:
            await world.pass_(_QUIET_SECONDS)
            return await seen.complaints()
    return complaints


def _deadline(world: World, grace: timedelta) -> datetime | None:
    """From when on pods may be deleted in spite of a budget: their own grace before the node's."""
    for one in world.history:
        deleted_at = one.object.metadata.deletion_timestamp
        if isinstance(one.object, api.NodeClaim) and deleted_at is not None:
            return deleted_at + grace - timedelta(seconds=30)
    return None

