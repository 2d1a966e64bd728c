"""What the controller is killed in the middle of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from dovetail.controllers.cache import NODE_CLAIM, NODE_POOL
from dovetail.kube.seam import Deletion, Ref
from dovetail.providers.kwok.faults import NoCapacity
from tests.kills.world import World

LONGEST_SECONDS = 1_200.0
_LARGE = ("c-4x-amd64-linux",)


@dataclass(frozen=True)
class Scenario:
    """What is there, what then happens, and what else must be so in the end."""

    name: str
    given: Callable[[World], Awaitable[None]]  # before, with a controller at work
    action: Callable[[World], Awaitable[None]]
    n_nodes: int | None = None  # at rest
    is_scale_up: bool = False
    drain_grace: timedelta | None = None
    is_aloof: bool = False  # the cloud keeps its machines to itself
    has_budgets: bool = True  # that can be kept
    longest_seconds: float = LONGEST_SECONDS  # until rest
    rests_after_seconds: float = 0.0  # that no node comes or goes, if pauses are not rest
    is_tried_slowly: bool = False  # also where calls take their time
    meanwhile: Callable[[World], Awaitable[None]] | None = None  # while there is no controller
    is_stuck: bool = False  # nodes that should be replaced stay
    dies_at_every: int = 1  # where it takes long, not at all calls but at every so many
    laws: Callable[[World], Awaitable[list[str]]] | None = None  # of its own; what is wrong
    n_made: int | None = None  # instances in all


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


async def two_nodes(world: World) -> None:
    """Two pods of one workload on each of two nodes; a budget lets one at a time go."""
    await _two_nodes(world, least=3)


async def two_unguarded_nodes(world: World) -> None:
    """The same without a budget: an instance that is nobody's is ended, whoever is on it."""
    await _two_nodes(world, least=0)


async def two_nodes_in_haste(world: World) -> None:
    """Nodes that drain for a minute; a budget lets nobody go."""
    await _two_nodes(world, least=4, grace="60s")


async def two_nodes_for_now(world: World) -> None:
    """Nodes that go when they are empty."""
    await _two_nodes(world, least=3, after="10s")


async def two_nodes_of_the_first_pool(world: World) -> None:
    """Nodes of a pool, and another pool with room for as many."""
    await _two_nodes(world, least=3, weight=10)
    await world.pool("second", types=_LARGE)


async def _two_nodes(
    world: World, *, least: int, after: str = "Never", grace: str = "", weight: int = 1
) -> None:
    await world.node_class()
    await world.pool("first", types=_LARGE, after=after, grace=grace, weight=weight)
    await world.workload("web", 4, "1500m")
    await world.budget("web", least)
    await world.pass_(40)


async def drain(world: World) -> None:
    """Somebody deletes a claim."""
    names = await world.names(NODE_CLAIM)
    await world.delete_claim(names[0])


async def tear_claim(world: World) -> None:
    """Somebody takes a claim away by force: its instance is nobody's."""
    names = await world.names(NODE_CLAIM)
    await world.tear_away(names[0])


async def delete_the_first_claim(world: World) -> None:
    """Somebody deletes a claim, if there is any yet."""
    for name in (await world.names(NODE_CLAIM))[:1]:
        await world.delete_claim(name)


async def more_work(world: World) -> None:
    """Another workload comes, which needs the nodes that are not gone yet, and no more may go."""
    await world.forbid_disruption("first")
    await world.workload("more", 4, "1500m")


async def lose_work(world: World) -> None:
    """The workload is deleted."""
    await world.dismiss("web")


async def lose_pool(world: World) -> None:
    """The pool is deleted, with nodes out."""
    await world.api.delete(Ref(NODE_POOL, "first"), Deletion())
    world.api.collect_garbage()


async def sold_out(world: World) -> None:
    """A scale-up, while the first choice cannot be had."""
    world.faults.order(NoCapacity(capacity_type="spot"))
    await scale_up(world)


_MINUTE = timedelta(minutes=1)
_KWOK = (
    Scenario("scale up", empty_pool, scale_up, n_nodes=4, is_scale_up=True, is_tried_slowly=True),
    Scenario("drain", two_nodes, drain, n_nodes=2, is_tried_slowly=True),
    Scenario(
        "drain in haste",
        two_nodes_in_haste,
        drain,
        n_nodes=2,
        drain_grace=_MINUTE,
        is_tried_slowly=True,
    ),
    Scenario("emptiness", two_nodes_for_now, lose_work, n_nodes=0),
    Scenario(
        "emptiness called off",
        two_nodes_for_now,
        lose_work,
        meanwhile=more_work,
        is_tried_slowly=True,
    ),
    Scenario("pool deleted", two_nodes_of_the_first_pool, lose_pool, n_nodes=2),
    Scenario("sold out", two_pools, sold_out, n_nodes=4, is_scale_up=True),
    Scenario("claim deleted", empty_pool, scale_up, meanwhile=delete_the_first_claim),
)
_ALOOF = (
    Scenario("scale up elsewhere", empty_pool, scale_up, n_nodes=4, is_scale_up=True),
    Scenario("drain elsewhere", two_nodes, drain, n_nodes=2, is_tried_slowly=True),
    Scenario(
        "sold out elsewhere",
        two_pools,
        sold_out,
        n_nodes=4,
        is_scale_up=True,
        is_tried_slowly=True,
    ),
    Scenario("emptiness elsewhere", two_nodes_for_now, lose_work, n_nodes=0),
    Scenario("claim torn away", two_unguarded_nodes, tear_claim, n_nodes=2),
)
PLAIN = (*_KWOK, *(replace(one, is_aloof=True) for one in _ALOOF))
