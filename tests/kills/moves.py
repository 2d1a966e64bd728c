"""What the controller is killed in the middle of while it replaces nodes by others."""

from __future__ import annotations

from datetime import timedelta

from dovetail import api
from dovetail.controllers.cache import NODE
from dovetail.kube.seam import Json, Scope
from tests.kills.kept import KEPT
from tests.kills.scenarios import PLAIN, Scenario
from tests.kills.world import World

_LARGE = ("c-4x-amd64-linux",)
_ALL = ("c-2x-amd64-linux", "c-4x-amd64-linux")
_SMALL = ("c-2x-amd64-linux",)
_HOUR = timedelta(hours=1)
_HINDRANCE: Json = {"key": "example.com/starting", "effect": "NoSchedule"}


async def one_node(world: World) -> None:
    """Two pods of one workload on one node; a budget lets one at a time go."""
    await _one_node(world, least=1)


async def one_unguarded_node(world: World) -> None:
    """The same without a budget: its machine will be lost."""
    await _one_node(world, least=0)


async def one_node_that_nobody_may_leave(world: World) -> None:
    """A budget lets nobody go; the node drains for an hour at most."""
    await _one_node(world, least=2, grace="1h")


async def one_node_to_be_kept(world: World) -> None:
    """The pool lets no node go."""
    await _one_node(world, least=1)
    await world.forbid_disruption("first")


async def _one_node(world: World, *, least: int, grace: str = "") -> None:
    await world.node_class()
    await world.pool("first", types=_LARGE, after="10s", grace=grace)
    await world.workload("web", 2, "1500m")
    await world.budget("web", least)
    await world.pass_(40)


async def two_full_nodes(world: World) -> None:
    """A large and a small pod on each of two nodes."""
    await world.node_class()
    await world.pool("first", types=_LARGE, buys=("on-demand",), after="10s")
    await world.workload("large", 2, "3")
    await world.workload("small", 2, "500m")
    await world.budget("small", 1)
    await world.pass_(40)


async def one_dear_node(world: World) -> None:
    """Two pods on a node that was bought on demand."""
    await world.node_class()
    await world.pool("first", types=_LARGE, buys=("on-demand",), after="10s")
    await world.workload("web", 2, "1500m")
    await world.pass_(40)


async def drift(world: World) -> None:
    """The pool makes its nodes otherwise."""
    await world.amend("first", metadata={"labels": {"generation": "2"}})


async def lose_the_large_ones(world: World) -> None:
    """What is left would fit one node, and a smaller one."""
    await world.require("first", types=_ALL, ways=("on-demand",))
    await world.dismiss("large")


async def offer_small_ones(world: World) -> None:
    """Small nodes may be bought for less."""
    await world.pool("second", types=_SMALL, buys=("spot",), after="10s")


async def forbid(world: World) -> None:
    """No node may go any more."""
    await world.forbid_disruption("first")


async def drift_to_nodes_that_never_start(world: World) -> None:
    """For a quarter of an hour nobody takes the taint off that new nodes have."""
    await world.amend("first", spec={"startupTaints": [_HINDRANCE]})
    await world.pass_(900)
    await world.amend("first", spec={"startupTaints": None})


async def drift_and_lose_a_machine(world: World) -> None:
    """The machine goes while its node drains, if it comes to that."""
    await drift(world)
    for _ in range(60):
        await world.pass_(1)
        page = await world.api.list(Scope(NODE))
        nodes = [api.decode(api.Node, raw) for raw in page.items]
        for node in nodes:
            if node.metadata.deletion_timestamp is not None:
                await world.lose(node.spec.provider_id)
                return


_MOVES = (
    Scenario("drift", one_node, drift, n_nodes=1, is_tried_slowly=True),
    Scenario("drift elsewhere", one_node, drift, n_nodes=1, is_aloof=True),
    Scenario("drift called off", one_node, drift, meanwhile=forbid, is_stuck=True),
    Scenario("merge", two_full_nodes, lose_the_large_ones, n_nodes=1),
    Scenario("split", one_dear_node, offer_small_ones, n_nodes=2),
    Scenario(
        "drift in vain",
        one_node,
        drift_to_nodes_that_never_start,
        n_nodes=1,
        longest_seconds=2 * _HOUR.total_seconds(),
    ),
    Scenario(
        "machine lost in a drain",
        one_unguarded_node,
        drift_and_lose_a_machine,
        n_nodes=1,
        is_aloof=True,
    ),
    Scenario(
        "drain refused for an hour",
        one_node_that_nobody_may_leave,
        drift,
        n_nodes=1,
        drain_grace=_HOUR,
        dies_at_every=25,
        longest_seconds=2 * _HOUR.total_seconds(),
    ),
    Scenario(
        "drift forbidden", one_node_to_be_kept, drift, n_nodes=1, is_scale_up=True, is_stuck=True
    ),
)
SCENARIOS = (*PLAIN, *_MOVES, *KEPT)
