"""What has lost its other half goes, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail import labels
from dovetail.controllers.cache import NODE, NODE_CLAIM
from dovetail.controllers.claims.garbage_collection import GarbageCollection
from dovetail.kube.seam import Body, Json, Patch, Ref
from dovetail.model.claim import ClaimObject
from dovetail.model.pool import NodeClassRef
from dovetail.providers.kwok.faults import Call, LostInstance, Throttling
from tests.unit.controllers.claiming import Claims, initialized
from tests.unit.controllers.worlds import MINUTE, SECOND, World, at_work

KWOK_REF = NodeClassRef(labels.KWOK_GROUP, "KWOKNodeClass", "default")


@asynccontextmanager
async def tidying(world: World) -> AsyncIterator[None]:
    """A world with a claim loop and a garbage loop."""
    await world.node_class()
    await world.pool()
    claims = Claims(world)
    async with at_work(
        world, claims.loop.run, GarbageCollection(world.dependencies, world.cache).run
    ):
        yield


async def test_a_claim_whose_instance_is_lost_goes() -> None:
    """Within the period, and is counted."""
    world = World()
    world.faults.order(LostInstance(after_seconds=30))
    async with tidying(world):
        await initialized(world)
        await world.time.advance(MINUTE)
        assert await world.names(NODE_CLAIM) == ["one"]
        assert await world.names(NODE) == []
        await world.time.advance(MINUTE + SECOND)
        assert await world.names(NODE_CLAIM) == []
        assert b'reason="garbage_collected"' in world.dependencies.meters.text()


async def test_an_instance_without_a_claim_goes_with_its_node() -> None:
    """Somebody took the claim away by force."""
    world = World()
    async with tidying(world):
        await initialized(world)
        await world.api.patch(Ref(NODE_CLAIM, "one"), Patch({"metadata": {"finalizers": []}}))
        await world.delete(NODE_CLAIM, "one")
        await world.api.patch(Ref(NODE, "one"), Patch({"metadata": {"finalizers": []}}))
        await world.time.advance(10 * SECOND)
        assert len(await world.cloud.list()) == 1
        await world.time.advance(2 * MINUTE)
        assert await world.cloud.list() == ()
        assert await world.names(NODE) == []


async def test_what_is_whole_stays() -> None:
    """Also what is young, what makes no sense, and what is not ours."""
    world = World()
    async with tidying(world):
        await initialized(world)
        await initialized(world, "two")
        foreign: Json = {"group": "example.com", "kind": "Other", "name": "x"}
        await world.claim("foreign", nodeClassRef=foreign)
        joined: Json = {
            "type": "Registered",
            "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        body: Body = {"status": {"providerID": "other://x", "conditions": [joined]}}
        await world.api.patch(Ref(NODE_CLAIM, "foreign"), Patch(body, subresource="status"))
        await world.claim("strange", expireAfter="9999999999h")
        held = (await world.read_claim("strange")).metadata
        await world.cloud.create(ClaimObject(held.name, held.uid, node_class=KWOK_REF))
        await world.time.advance(10 * MINUTE)
        assert await world.names(NODE_CLAIM) == ["foreign", "one", "strange", "two"]
        assert await world.names(NODE) == ["one", "strange", "two"]
        assert (await world.read_claim("foreign")).metadata.finalizers == ()


async def test_a_cloud_that_cannot_be_asked_costs_nothing() -> None:
    """What cannot be listed is not gone."""
    world = World()
    world.faults.order(Throttling(calls=(Call.LIST,)))
    async with tidying(world):
        await initialized(world)
        await world.time.advance(5 * MINUTE)
        assert await world.names(NODE_CLAIM) == ["one"]
