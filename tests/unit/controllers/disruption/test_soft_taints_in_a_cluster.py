"""The whole controller marks nodes as plans say, whoever led before, and can be told not to."""

from __future__ import annotations

from msgspec.structs import replace

from dovetail import labels
from dovetail.controllers.cache import NODE, NODE_CLAIM
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.model.plan import DisruptionReason
from dovetail.model.policy import Policy
from tests.unit.controllers.living import Leader, living
from tests.unit.controllers.worlds import World

KEPT = ("example.com/kept", "NoSchedule")
MARK = (labels.DISCOURAGED, "PreferNoSchedule")


QUIET = Policy(effort=0, keeps_replicas=True, disrupts_for=())
SAVING = Policy(effort=0, disrupts_for=(DisruptionReason.UNDERUTILIZED,))


async def built(n_nodes: int) -> World:
    """A world whose pool keeps so many nodes."""
    world = World()
    await world.node_class()
    await world.pool(replicas=n_nodes)
    return world


async def marked(world: World) -> list[str]:
    """The Nodes that bear the mark."""
    return [name for name in await world.names(NODE) if MARK in await bears(world, name)]


async def bears(world: World, name: str) -> list[tuple[str, str]]:
    """The taints of a Node."""
    node = await world.read_node(name)
    return [(one.key, one.effect) for one in node.spec.taints]


async def touch(world: World, name: str, *taints: tuple[str, str]) -> None:
    """Somebody gives a Node these taints, after which there is a decision."""
    said: list[Json] = [{"key": key, "effect": effect} for key, effect in taints]
    await world.api.patch(Ref(NODE, name), Patch({"spec": {"taints": said}}))
    await world.pass_(10)


async def test_marks_come_and_go_with_decisions() -> None:
    """And are seen by the next: nothing else about the nodes changes."""
    world = await built(2)
    async with living(world, QUIET, Leader(wanted=())) as leader:
        await world.pass_(30)
        first, second = await world.names(NODE)
        leader.wanted = (first,)
        await touch(world, first, KEPT)
        assert await bears(world, first) == [KEPT, MARK]
        assert await bears(world, second) == []
        n_plans = len(leader.plans)
        await world.pass_(10)
        assert len(leader.plans) <= n_plans + 2, "marks lead to decisions for ever"
        leader.wanted = ()
        await touch(world, second, KEPT)
        assert await bears(world, first) == [KEPT]
        assert await bears(world, second) == [KEPT]
        assert len(await world.names(NODE_CLAIM)) == 2


async def test_whoever_leads_next_goes_on_from_the_marks_that_are_there() -> None:
    """What the one before marked stays or goes as the first decision says."""
    world = await built(2)
    async with living(world, QUIET, Leader(wanted=())) as before:
        await world.pass_(30)
        first, second = await world.names(NODE)
        before.wanted = (first, second)
        await touch(world, first, KEPT)
        assert await bears(world, second) == [MARK]
    async with living(world, QUIET, Leader(wanted=(first,))):
        await world.pass_(30)
        assert await bears(world, first) == [KEPT, MARK]
        assert await bears(world, second) == []


async def test_the_emptiest_nodes_of_a_pool_are_marked_unless_that_is_switched_off() -> None:
    """Switched off, all marks go: those that were there when it started, and any that come."""
    world = World()
    await world.node_class()
    await world.pool(disruption={"consolidateAfter": "1s"})
    for name, cpu in (("large", "1500m"), ("small", "1100m")):
        await world.pod(name, cpu=cpu)
    async with living(world, SAVING):
        await world.pass_(60)
        assert await marked(world) == [(await world.read_pod("small")).spec.node_name]
    async with living(world, replace(SAVING, discourages=False)):
        await world.pass_(30)
        assert await marked(world) == []
        for name in await world.names(NODE):
            await touch(world, name, MARK)
            assert await marked(world) == []
