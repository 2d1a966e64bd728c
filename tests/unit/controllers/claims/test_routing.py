"""Only what matters to claims makes them be looked at."""

from __future__ import annotations

from dovetail import api, labels
from dovetail.controllers.claims.routing import ClaimRouter, Routed
from dovetail.kube.mirror import Absent, Present
from tests.unit.controllers.worlds import World, at_work


async def test_a_pool_that_only_counts_its_nodes_wakes_no_claim() -> None:
    """But a pool that changes wakes all of its own."""
    world = World()
    await world.pool()
    async with at_work(world):
        for name in ("a", "b"):
            await world.claim(name)
        await world.claim("alone", pool="")
        await world.time.advance()
        hearing = ClaimRouter(world.cache, world.time)
        pool = await world.read_pool()
        assert hearing.route(Present(pool)) == Routed(("a", "b"))
        assert hearing.route(Present(pool)) == Routed()
        marked = {labels.NODE_POOL_HASH: "1"}
        meta = api.ObjectMeta(name="default", uid=pool.metadata.uid, annotations=marked)
        hashed = api.NodePool(kind="NodePool", metadata=meta, spec=pool.spec)
        assert hearing.route(Present(hashed)) == Routed(("a", "b"))


async def test_what_is_gone_is_named_by_its_uid() -> None:
    """So that nothing is remembered of it."""
    world = World()
    async with at_work(world):
        await world.claim("a", pool="")
        await world.time.advance()
        claim = await world.read_claim("a")
        hearing = ClaimRouter(world.cache, world.time)
        assert hearing.route(Absent(claim)) == Routed(("a",), gone_uid=claim.metadata.uid)
