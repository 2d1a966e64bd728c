"""What the controller is killed in the middle of while it keeps things as they should be: pools at
their replicas, room for buffers, nodes in good health.
"""

from __future__ import annotations

from dovetail.controllers.cache import NODE
from tests.kills.scenarios import Scenario
from tests.kills.world import World

_LARGE = ("c-4x-amd64-linux",)


async def one_static_node(world: World) -> None:
    """A pool of one node, and a pod on it."""
    await _static(world, replicas=1, n_pods=1)


async def three_static_nodes(world: World) -> None:
    """A pool of three nodes, and a pod on one of them."""
    await _static(world, replicas=3, n_pods=1)


async def two_full_static_nodes(world: World) -> None:
    """Two pods on each of two nodes; a budget lets one at a time go."""
    await _static(world, replicas=2, n_pods=4)
    await world.budget("web", 3)


async def _static(world: World, *, replicas: int, n_pods: int) -> None:
    await world.node_class()
    await world.pool("first", types=_LARGE, buys=("on-demand",), replicas=replicas)
    await world.workload("web", n_pods, "1500m")
    await world.pass_(40)


async def two_nodes_with_pods(world: World) -> None:
    """Two pods on each of two nodes."""
    await world.node_class()
    await world.pool("first", types=_LARGE)
    await world.workload("web", 4, "1500m")
    await world.pass_(40)


async def empty_pool_for_now(world: World) -> None:
    """A pool whose nodes go when nobody needs them."""
    await world.node_class()
    await world.pool("first", types=_LARGE, after="10s")


async def scale_to_three(world: World) -> None:
    """The pool is to have three nodes."""
    await world.scale("first", 3)


async def scale_to_one(world: World) -> None:
    """The pool is to have one node."""
    await world.scale("first", 1)


async def drift(world: World) -> None:
    """The pool makes its nodes otherwise."""
    await world.amend("first", metadata={"labels": {"generation": "2"}})


async def keep_room(world: World) -> None:
    """A pod, and room for two more: one beside it, and one on a node of its own."""
    await world.workload("web", 1, "1500m")
    await world.buffer("spare", 2, "1500m")


async def break_one(world: World) -> None:
    """The kubelet of a node hangs, and has for nearly as long as that is put up with."""
    names = sorted(await world.names(NODE))
    await world.break_node(names[0])
    await world.pass_(595)


KEPT = (
    Scenario("static scale up", one_static_node, scale_to_three, n_nodes=3, n_made=3),
    Scenario("static scale down", three_static_nodes, scale_to_one, n_nodes=1, n_made=3),
    Scenario(
        "static drift",
        two_full_static_nodes,
        drift,
        n_nodes=2,
        n_made=4,
        is_tried_slowly=True,
    ),
    Scenario("static drift elsewhere", two_full_static_nodes, drift, n_nodes=2, is_aloof=True),
    Scenario("room for a buffer", empty_pool_for_now, keep_room, n_nodes=2, n_made=2),
    Scenario("repair", two_nodes_with_pods, break_one, n_nodes=2, n_made=3),
)
