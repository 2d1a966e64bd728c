"""The whole controller marks nodes as plans say, whoever led before, and can be told not to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec

from dovetail import labels
from dovetail.controllers.known import NODE, NODE_CLAIM
from dovetail.controllers.whole import Controller, Setup
from dovetail.decide import decide
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.model.plan import Plan
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.sim.kubelets import Habits
from dovetail.sim.world import run_world
from tests.unit.controllers.worlds import World

HABITS = Habits(ready_after_seconds=1.0, start_pod_seconds=1.0, lease_seconds=0)
KEPT = ("example.com/kept", "NoSchedule")
MARK = (labels.DISCOURAGED, "PreferNoSchedule")


class Leader:
    """What the controller that leads is to decide; None: whatever is right."""

    def __init__(self, *wanted: str, is_left_to_decide: bool = False) -> None:
        self.wanted: tuple[str, ...] | None = None if is_left_to_decide else wanted
        self.plans: list[Plan] = []

    async def compute(self, snapshot: Snapshot, now: datetime) -> Plan:
        """Decide, but for the nodes that pods should keep off."""
        plan = decide(snapshot, now)
        if self.wanted is None:
            return plan
        return msgspec.structs.replace(plan, discouraged=self.wanted)

    def witness(self, _snapshot: Snapshot, plan: Plan, _now: datetime, _took: float) -> None:
        """Note it."""
        self.plans.append(plan)


@asynccontextmanager
async def led(world: World, leader: Leader, *, discourages: bool = True) -> AsyncIterator[None]:
    """A world with kubelets and our whole controller, until that is killed."""
    setup = Setup(
        mark=f"run-{id(leader)}",
        compute=leader.compute,
        witness=leader.witness,
        policy=Policy(effort=0, keeps_replicas=True, disrupts_for=(), discourages=discourages),
    )
    controller = Controller(world.means, setup)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(run_world(world.api, world.time, world.time, habits=HABITS)),
            group.create_task(world.cloud.run()),
            group.create_task(controller.follow()),
            group.create_task(controller.lead()),
        ]
        await world.pass_(30)
        yield
        for task in tasks:
            task.cancel()


async def built(n_nodes: int) -> World:
    """A world whose pool keeps so many nodes."""
    world = World()
    await world.node_class()
    await world.pool(replicas=n_nodes)
    return world


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
    world, leader = await built(2), Leader()
    async with led(world, leader):
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
    world, before = await built(2), Leader()
    async with led(world, before):
        first, second = await world.names(NODE)
        before.wanted = (first, second)
        await touch(world, first, KEPT)
        assert await bears(world, second) == [MARK]
    async with led(world, Leader(first)):
        assert await bears(world, first) == [KEPT, MARK]
        assert await bears(world, second) == []


async def test_switched_off_all_marks_go() -> None:
    """Those that were there when it started, and any that come."""
    world = await built(2)
    async with led(world, Leader()):
        first, second = await world.names(NODE)
        await touch(world, first)
    for name in (first, second):
        await touch(world, name, KEPT, MARK)
        assert await bears(world, name) == [KEPT, MARK]
    async with led(world, Leader(is_left_to_decide=True), discourages=False):
        assert await bears(world, first) == [KEPT]
        assert await bears(world, second) == [KEPT]
        await touch(world, first, MARK)
        assert await bears(world, first) == []
