"""Room that is kept for a buffer is bought once, follows what is cheapest, and then all is calm."""

from __future__ import annotations

from dovetail import api
from dovetail.controllers.cache import NODE_CLAIM
from dovetail.controllers.pools.capacity_buffers import CAPACITY_BUFFER
from dovetail.kube.seam import Ref
from dovetail.testing import virtual_time
from tests.kills.world import World, living, running

N_MINUTES = 20


async def claims_seen(world: World) -> set[str]:
    """Every claim there is within twenty minutes."""
    seen: set[str] = set()
    for _ in range(2 * N_MINUTES):
        await world.pass_(30)
        seen |= set(await world.names(NODE_CLAIM))
    return seen


async def said(world: World) -> dict[str, str]:
    """The reasons of what the buffer says."""
    raw = await world.api.get(Ref(CAPACITY_BUFFER, "spare", "default"))
    held = api.decode(api.CapacityBuffer, raw).status.conditions
    return {one.type: one.reason for one in held}


async def bought_once() -> None:
    """A buffer for two pods, and a workload beside it."""
    world = World()
    async with living(world), running(world):
        await world.node_class()
        await world.pool("first", after="10s")
        await world.workload("web", 1, "3")
        await world.buffer("spare", 2, "1500m")
        seen = await claims_seen(world)
        assert sorted(seen) == sorted(await world.names(NODE_CLAIM))
        assert await said(world) == {
            "ReadyForProvisioning": "Resolved",
            "Provisioning": "FitsExistingCapacity",
        }


async def moved_once() -> None:
    """A pod and the room of a buffer on one node, from which the pod goes away."""
    world = World()
    async with living(world), running(world):
        await world.node_class()
        await world.pool("first", after="10s", buys=("on-demand",))
        await world.workload("web", 1, "2500m")
        await world.buffer("spare", 1, "1")
        await world.pass_(60)
        [large] = await world.names(NODE_CLAIM)
        await world.dismiss("web")
        seen = await claims_seen(world) - {large}
        assert len(seen) == 1
        assert sorted(seen) == await world.names(NODE_CLAIM)
        assert (await said(world))["Provisioning"] == "FitsExistingCapacity"


def test_room_for_a_buffer_is_bought_once() -> None:
    """And is neither taken for an empty node nor bought again."""
    virtual_time.run(bought_once())


def test_room_for_a_buffer_moves_to_a_cheaper_node_once() -> None:
    """A node that only holds the room of a buffer is too large for it."""
    virtual_time.run(moved_once())
