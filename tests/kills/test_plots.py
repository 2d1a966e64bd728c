"""Killed anywhere in random worlds. `make fuzz` asks the same of hundreds of them."""

from __future__ import annotations

import pytest

from dovetail.testing import virtual_time
from tests.fuzz.kills import wrong
from tests.kills.plots import overdrawn
from tests.kills.world import World, living, running

N_WORLDS, N_KILLS = 10, 6
RESTLESS = (184,)  # pods took each other's room, and nodes came and went for ever


@pytest.mark.parametrize("seed", [*range(N_WORLDS), *RESTLESS])
def test_nothing_is_lost_in_a_random_world(seed: int) -> None:
    """Every law holds once the next controller has brought the cluster to rest, budgets of pools
    were kept all the way, and in the end no node comes or goes any more.
    """
    assert wrong(seed, N_KILLS) == []


def test_a_pool_whose_budget_is_overdrawn_is_found() -> None:
    """Two nodes that drift at once, judged as if only one might go."""

    async def live() -> tuple[list[str], list[str]]:
        world = World()
        async with living(world), running(world):
            await world.node_class()
            await world.pool("first", types=("c-4x-amd64-linux",), budget="2")
            await world.workload("web", 4, "1500m")
            await world.pass_(40)
            await world.amend("first", metadata={"labels": {"generation": "2"}})
            await world.pass_(120)
        return overdrawn(world, {"first": "1"}), overdrawn(world, {"first": "2"})

    too_tight, right = virtual_time.run(live())
    assert too_tight
    assert right == []
