"""A whole world: kubelets, a scheduler, a cloud, and our whole controller at work in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from dovetail.controllers.controller import Controller, Setup
from dovetail.decide import decide
from dovetail.model.plan import Plan, Yield
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.sim.kubelets import Habits
from dovetail.sim.world import run_world
from tests.unit.controllers.worlds import World

_HABITS: Final = Habits(ready_after_seconds=1.0, start_pod_seconds=1.0, lease_seconds=0)


class Leader:
    """Decides, and notes what was decided; `wanted` are nodes that pods should keep off, and
    `yielding` those whose pods may go first, if that is not left to be decided.
    """

    def __init__(
        self,
        *,
        wanted: tuple[str, ...] | None = None,
        yielding: tuple[Yield, ...] | None = None,
    ) -> None:
        self.wanted = wanted
        self.yielding = yielding
        self.plans: list[Plan] = []

    async def compute(self, snapshot: Snapshot, now: datetime) -> Plan:
        """Decide."""
        plan = decide(snapshot, now)
        if self.wanted is not None:
            plan = replace(plan, discouraged=self.wanted)
        return plan if self.yielding is None else replace(plan, yielding=self.yielding)

    def witness(self, _snapshot: Snapshot, plan: Plan, _now: datetime, _took: float) -> None:
        """Note it."""
        self.plans.append(plan)


@asynccontextmanager
async def living(
    world: World, policy: Policy, leader: Leader | None = None
) -> AsyncIterator[Leader]:
    """The world with a controller, until that is killed."""
    leader = leader or Leader()
    mark = f"run-{id(leader)}"
    setup = Setup(mark=mark, compute=leader.compute, witness=leader.witness, policy=policy)
    controller = Controller(world.dependencies, setup)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(run_world(world.api, world.time, world.time, habits=_HABITS)),
            group.create_task(world.cloud.run()),
            group.create_task(controller.follow()),
            group.create_task(controller.lead()),
        ]
        await world.pass_(1)
        yield leader
        for task in tasks:
            task.cancel()
