"""NodeClaims are named for the revision of a decision: looking does not move it, and a restart does
not reuse it.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from dovetail import api
from dovetail.testing import virtual_time
from dovetail.web.dashboard.lookout import Lookout
from tests.doubles.troubled_kube import When
from tests.kills.world import Process, World, living, running

DAY = timedelta(days=1).total_seconds()
LOOKS_EVERY_SECONDS = 30.0


async def read_page(world: World, process: Process, revisions: list[int]) -> None:
    """A page that is open: it reads the cluster again and again."""
    lookout = Lookout()
    while True:
        snapshot = process.view()
        lookout.look(snapshot, world.time.now())
        revisions.append(snapshot.revision)
        await world.time.sleep(LOOKS_EVERY_SECONDS)


async def surge(world: World, name: str) -> None:
    """Pods come for which a node is launched, and go again."""
    await world.workload(name, 1, "1500m")
    await world.pass_(60)
    await world.dismiss(name)
    await world.pass_(120)


def claim_names(world: World) -> set[str]:
    """The names of all claims that there ever were."""
    happened = (one.object for one in world.history)
    return {one.metadata.name for one in happened if isinstance(one, api.NodeClaim)}


def claim_uids(world: World) -> set[str]:
    """Which claims there ever were."""
    happened = (one.object for one in world.history)
    return {one.metadata.uid for one in happened if isinstance(one, api.NodeClaim)}


def test_a_page_open_for_a_week_moves_no_revision_and_a_restart_reuses_no_name() -> None:
    """Each day a node is launched. After the week the controller starts again, twice at once."""
    decided: list[int] = []
    read: list[int] = []

    async def week() -> None:
        world = World()
        async with living(world):
            async with running(world) as process, asyncio.TaskGroup() as group:
                page = group.create_task(read_page(world, process, read))
                await world.node_class()
                await world.pool(after="30s")
                for day in range(7):
                    await surge(world, f"day-{day}")
                    await world.pass_(DAY)
                    process.mortal.begin_counting(None, When.BEFORE)  # a day has many calls
                decided.extend(process.revisions)
                page.cancel()
            for start in range(2):
                async with running(world) as process:
                    await surge(world, f"start-{start}")
                    decided.extend(process.revisions)
            assert len(claim_names(world)) == len(claim_uids(world)) >= 9

    virtual_time.run(week())
    assert len(read) > 7 * DAY / LOOKS_EVERY_SECONDS
    assert set(read) <= {0, *decided}
    assert len(set(decided)) == len(decided)
