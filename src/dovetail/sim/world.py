"""Runs scheduler, kubelets and controllers of a whole cluster in one process."""

from __future__ import annotations

import asyncio
from typing import Final

from dovetail.clock import Clock, Timer
from dovetail.kube.seam import Kube
from dovetail.model.backoff import Chance
from dovetail.sim.controller_manager.workloads import Workloads
from dovetail.sim.kubelets import Habits, Kubelets
from dovetail.sim.scheduler import Scheduler

# Nobody reads leases in memory, and to renew them is most of what an idle cluster would do.
_NO_LEASES: Final = Habits(lease_seconds=0.0)


def _half() -> float:
    """Chance that repeats itself."""
    return 0.5


async def run_world(
    kube: Kube, clock: Clock, timer: Timer, *, chance: Chance = _half, habits: Habits = _NO_LEASES
) -> None:
    """Let a cluster live until cancelled."""
    async with asyncio.TaskGroup() as group:
        group.create_task(Scheduler(kube, clock, timer, chance=chance).run())
        group.create_task(Kubelets(kube, clock, timer, chance=chance, habits=habits).run())
        group.create_task(Workloads(kube, clock, timer, chance=chance).run())
