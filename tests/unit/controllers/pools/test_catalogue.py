"""What pools could launch is asked, and what overlays make of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail import api, labels
from dovetail.controllers.pools.catalogue import CatalogueGates, CatalogueLoop
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool
from dovetail.providers.kwok.faults import Call, Throttling
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.state.changes import NOTHING, Touched
from dovetail.testing.builders import instance_type
from tests.unit.controllers.worlds import KWOK, MINUTE, SECOND, TYPES, World, at_work

NODE_OVERLAY = api.KINDS["karpenter.sh", "NodeOverlay"]
NODE_POOL = api.KINDS["karpenter.sh", "NodePool"]

OFF = CatalogueGates()


class CountingCloud(KwokProvider):
    """Counts how often it is asked."""

    n_asked = 0

    async def instance_types(self, pool: NodePool) -> tuple[InstanceType, ...]:
        """As any cloud."""
        self.n_asked += 1
        return await super().instance_types(pool)


@asynccontextmanager
async def asking(world: World, gates: CatalogueGates = OFF) -> AsyncIterator[None]:
    """A world with a catalogue loop."""
    loop = CatalogueLoop(world.dependencies, world.cache, touched=world.touch, gates=gates)
    world.subscribe(loop.handle)
    async with at_work(world, loop.run):
        yield


async def test_what_a_pool_could_launch_is_asked_when_it_may_have_changed() -> None:
    """At the start, when the pool or its class changes, and every five minutes."""
    world = World(cloud=CountingCloud)
    cloud = world.cloud
    assert isinstance(cloud, CountingCloud)
    await world.node_class()
    await world.pool()
    async with asking(world):
        assert cloud.n_asked == 1
        assert world.cache.cluster.instance_types("default") == TYPES
        assert world.touched & Touched.POOLS
        world.touched = NOTHING
        await world.time.advance(5 * MINUTE)
        assert cloud.n_asked == 2
        assert not world.touched
        await world.api.patch(Ref(NODE_POOL, "default"), Patch({"spec": {"weight": 2}}))
        await world.time.advance()
        assert cloud.n_asked == 3
        spec: Json = {"nodeRegistrationDelay": "1s"}
        await world.api.patch(Ref(KWOK, "default"), Patch({"spec": spec}))
        await world.time.advance()
        assert cloud.n_asked == 4
        await world.pool("other")
        await world.time.advance()
        assert world.cache.cluster.instance_types("other") == TYPES


async def test_a_cloud_that_cannot_be_asked_is_asked_again() -> None:
    """What is not known yet is not planned with; what is known stays."""
    world = World()
    world.faults.order(Throttling(calls=(Call.INSTANCE_TYPES,), times=1))
    await world.node_class()
    await world.pool()
    async with asking(world):
        assert world.cache.cluster.instance_types("default") == ()
        await world.time.advance(2 * SECOND)
        assert world.cache.cluster.instance_types("default") == TYPES
        world.faults.order(Throttling(calls=(Call.INSTANCE_TYPES,)))
        await world.time.advance(6 * MINUTE)
        assert world.cache.cluster.instance_types("default") == TYPES


async def lay(world: World, name: str, **spec: Json) -> None:
    """Make an overlay."""
    body: dict[str, Json] = {
        "apiVersion": NODE_OVERLAY.api_version,
        "kind": NODE_OVERLAY.name,
        "metadata": {"name": name},
        "spec": {"requirements": [], **spec},
    }
    await world.api.create(NODE_OVERLAY, body)


async def validated(world: World, name: str) -> tuple[str, str]:
    """What the status of an overlay says of it."""
    wire = api.decode(api.NodeOverlay, await world.api.get(Ref(NODE_OVERLAY, name)))
    found = {one.type: one for one in wire.status.conditions}
    assert found["Ready"].status == found["ValidationSucceeded"].status
    return found["ValidationSucceeded"].status, found["ValidationSucceeded"].reason


def prices(world: World) -> set[int]:
    """Of everything that the pool could launch."""
    types = world.cache.cluster.instance_types("default")
    return {at.price_nanousd for one in types for at in one.offerings}


async def test_overlays_change_what_pools_could_launch() -> None:
    """And say in their status whether they count."""
    world = World(gates={"NodeOverlay": True})
    await world.node_class()
    await world.pool()
    async with asking(world, CatalogueGates(overlays=True)):
        before = prices(world)
        await lay(world, "b-dear", price="9")
        await world.time.advance()
        assert prices(world) == {9 * 10**9}
        assert await validated(world, "b-dear") == ("True", "ValidationSucceeded")
        await world.time.advance(6 * MINUTE)
        assert prices(world) == {9 * 10**9}
        await lay(world, "a-cheap", price="1")
        await world.time.advance()
        assert await validated(world, "a-cheap") == ("False", "Conflict")
        assert prices(world) == {9 * 10**9}
        wrong: Json = {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ["free"]}
        await lay(world, "c-wrong", requirements=[wrong], price="2")
        await world.time.advance()
        assert await validated(world, "c-wrong") == ("False", "RuntimeValidation")
        await world.delete(NODE_OVERLAY, "b-dear")
        await world.time.advance()
        assert prices(world) == {10**9}
        assert await validated(world, "a-cheap") == ("True", "ValidationSucceeded")
        await world.delete(NODE_OVERLAY, "a-cheap")
        await world.time.advance()
        assert prices(world) == before


async def test_overlays_count_only_where_their_gate_is_on() -> None:
    """Though they are there."""
    world = World(gates={"NodeOverlay": True})
    await world.node_class()
    await world.pool()
    async with asking(world):
        await lay(world, "dear", price="9")
        await world.time.advance()
        assert 9 * 10**9 not in prices(world)


async def test_overlays_are_not_told_where_nothing_may_be_written() -> None:
    """They count all the same, also those that were there before."""
    world = World(gates={"NodeOverlay": True})
    await world.node_class()
    await world.pool()
    await lay(world, "dear", price="9")
    async with asking(world, CatalogueGates(overlays=True, tells=False)):
        await world.time.advance()
        assert prices(world) == {9 * 10**9}
        wire = api.decode(api.NodeOverlay, await world.api.get(Ref(NODE_OVERLAY, "dear")))
        assert wire.status.conditions == ()


async def test_reservations_count_only_where_their_gate_is_on() -> None:
    """Without it, what is reserved is not on offer."""
    reserved = instance_type(
        "r",
        offerings=[
            {"zone": "a", "capacity_type": "reserved", "price": 0, "reservation_id": "x"},
            {"zone": "a", "capacity_type": "on-demand", "price": 1},
        ],
    )
    for is_on, want in ((True, ["on-demand", "reserved"]), (False, ["on-demand"])):
        world = World(types=(reserved,))
        await world.node_class()
        await world.pool()
        async with asking(world, CatalogueGates(reservations=is_on)):
            (found,) = world.cluster.instance_types("default")
            assert sorted(one.capacity_type for one in found.offerings) == want
