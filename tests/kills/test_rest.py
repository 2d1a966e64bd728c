"""Nothing is decided over and over where nothing can be done, and what is proposed is not lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from dovetail.model.plan import DisruptionReason, Plan
from dovetail.testing import virtual_time
from tests.kills.moves import (
    drift,
    lose_the_large_ones,
    one_node,
    one_node_that_nobody_may_leave,
    one_node_to_be_kept,
    two_full_nodes,
)
from tests.kills.world import Process, World, living, running

UNTIL_REST_SECONDS = 120.0
MOST_OF_AN_HOUR_SECONDS = 3_000.0
MOST_DECISIONS = 10  # of them

Happens = Callable[[World], Awaitable[None]]


async def nothing(_: World) -> None:
    """Nothing happens."""


@pytest.mark.parametrize(
    ("given", "action"),
    [
        pytest.param(two_full_nodes, nothing, id="nothing to gain"),
        pytest.param(one_node_to_be_kept, drift, id="a budget of none"),
        pytest.param(one_node, drift, id="everything was done"),
        pytest.param(one_node_that_nobody_may_leave, drift, id="a drain that is refused"),
    ],
)
def test_a_cluster_at_rest_is_not_thought_about(given: Happens, action: Happens) -> None:
    """Time alone changes nothing, so nobody looks."""

    async def play() -> list[Plan]:
        world = World()
        async with living(world), running(world) as process:
            await given(world)
            await action(world)
            await world.pass_(UNTIL_REST_SECONDS)
            n_before = len(process.plans)
            await world.pass_(MOST_OF_AN_HOUR_SECONDS)
            return process.plans[n_before:]

    assert len(virtual_time.run(play())) <= MOST_DECISIONS


def test_what_is_proposed_is_done_once_it_has_stood_for_a_while() -> None:
    """Though nothing else happens; the same nodes that were proposed."""

    async def play() -> list[Plan]:
        world = World()
        async with living(world), running(world) as process:
            await two_full_nodes(world)
            await lose_the_large_ones(world)
            return await _until_disrupted(world, process)

    plans = virtual_time.run(play())
    gone = {name for one in plans[-1].disruptions for name in one.nodes}
    proposed = {
        one.node: one.since
        for plan in plans
        for one in plan.proposals
        if one.reason == DisruptionReason.UNDERUTILIZED
    }
    assert gone
    assert gone <= proposed.keys()


async def _until_disrupted(world: World, process: Process) -> list[Plan]:
    for _ in range(120):
        if process.plans and process.plans[-1].disruptions:
            return process.plans
        await world.pass_(1)
    return process.plans
