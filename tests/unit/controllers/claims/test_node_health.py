"""Broken nodes are repaired where that is wanted, and never too many at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail import api, labels
from dovetail.controllers.cache import NODE
from dovetail.controllers.claims.loop import ClaimEffects, ClaimLoop
from dovetail.kube.seam import Body
from tests.unit.controllers.worlds import MINUTE, World, at_work
from tests.unit.observe.scraped import metered

BLOCKED = "NodeRepairBlocked"


@asynccontextmanager
async def tending(world: World, *, repairs: bool = True) -> AsyncIterator[None]:
    """A world with a pool and a claim loop that repairs by kwok's policies, or does not."""
    await world.node_class()
    await world.pool()
    effects = ClaimEffects(_steer, lambda _: None, world.cloud.repair_policies if repairs else ())
    loop = ClaimLoop(world.dependencies, world.cache, effects)
    world.subscribe(loop.handle)
    async with at_work(world, loop.run):
        yield


async def _steer(claim: api.NodeClaim, node: api.Node) -> None:
    """Nobody waits here."""


async def started(world: World, *names: str, pool: str = "default", **spec: str) -> None:
    """Nodes that have come all the way, drained for as long as it takes."""
    for name in names:
        await world.claim(name, pool, **spec)
        await world.time.advance()
        await world.ready(name)
        await world.time.advance()


async def gone(world: World, *names: str) -> list[str]:
    """Those of the claims that are being deleted."""
    found = [await world.read_claim(name) for name in names]
    return [one.metadata.name for one in found if one.metadata.deletion_timestamp]


async def test_a_node_that_is_not_ready_for_ten_minutes_goes_at_once() -> None:
    """Not a second earlier; its grace period is cut short, and it is counted by its condition."""
    world = World()
    async with tending(world):
        await started(world, "one", "two", "three", terminationGracePeriod="2h")
        await world.ready("one", status="False")
        await world.pass_(599)
        assert await gone(world, "one", "two", "three") == []
        await world.pass_(1)
        assert await gone(world, "one", "two", "three") == ["one"]
        claim = await world.read_claim("one")
        now = world.time.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        assert claim.metadata.annotations[labels.TERMINATION_TIMESTAMP] == now
        told = {"nodepool": "default", "capacity_type": "spot"}
        disrupted = "karpenter_nodeclaims_disrupted_total"
        assert metered(world.dependencies.meters, disrupted, reason="unhealthy", **told) == [1]
        unhealthy = "karpenter_nodeclaims_unhealthy_disrupted_total"
        assert metered(world.dependencies.meters, unhealthy, condition="ready", **told) == [1]


async def test_a_node_that_recovers_in_time_stays() -> None:
    """Its time begins anew when it fails again."""
    world = World()
    async with tending(world):
        await started(world, "one", "two")
        await world.ready("one", status="Unknown")
        await world.pass_(590)
        await world.ready("one")
        await world.pass_(20)
        await world.ready("one", status="False")
        await world.pass_(590)
        assert await gone(world, "one", "two") == []
        await world.pass_(10)
        assert await gone(world, "one", "two") == ["one"]


async def test_without_policies_nothing_is_repaired() -> None:
    """The feature is off by default."""
    world = World()
    async with tending(world, repairs=False):
        await started(world, "one")
        await world.ready("one", status="False")
        await world.pass_(3600)
        assert await gone(world, "one") == []


async def test_more_than_a_fifth_of_a_pool_is_not_repaired() -> None:
    """That is told of each Node once in a quarter of an hour, and repaired once others are well."""
    world = World()
    async with tending(world):
        await started(world, "one", "two", "three")
        for name in ("one", "two"):
            await world.ready(name, status="False")
        await world.pass_(600)
        assert await gone(world, "one", "two", "three") == []
        assert BLOCKED in world.told.reasons("one")
        assert BLOCKED in world.told.reasons("two")
        await world.ready("two")
        await world.pass_(300)
        assert await gone(world, "one", "two", "three") == ["one"]


async def test_a_claim_that_stands_alone_is_judged_among_all_nodes() -> None:
    """Nodes that are not ours count too."""
    world = World()
    async with tending(world):
        await started(world, "alone", pool="")
        for number in range(5):
            node: Body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}"}}
            await world.api.create(NODE, node)
            await world.ready(f"n{number}", status="False" if number < 2 else "True")
        await world.ready("alone", status="False")
        await world.pass_(600)
        assert await gone(world, "alone") == []
        assert BLOCKED in world.told.reasons("alone")
        await world.ready("n0")
        await world.pass_(5 * MINUTE.total_seconds())
        assert await gone(world, "alone") == ["alone"]
