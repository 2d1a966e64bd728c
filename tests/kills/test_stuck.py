"""A pod that can never leave makes no nodes, however long its own has been leaving."""

from __future__ import annotations

import pytest

from dovetail.controllers.cache import NODE_CLAIM, POD
from dovetail.testing import virtual_time
from tests.kills.world import World, living, running

HOUR_SECONDS = 3_600.0


async def claims_seen(n_pods: int, least: int) -> tuple[set[str], list[str], list[str]]:
    """Delete the claim of a node whose pods a budget guards: every claim within an hour, and the
    claims and pods that are there in the end.
    """
    world = World()
    async with living(world), running(world):
        await world.node_class()
        await world.pool("first", after="10s")
        await world.workload("web", n_pods, "100m")
        await world.budget("web", least)
        await world.pass_(40)
        [name] = await world.names(NODE_CLAIM)
        await world.delete_claim(name)
        seen = {name}
        for _ in range(60):
            await world.pass_(HOUR_SECONDS / 60)
            seen |= set(await world.names(NODE_CLAIM))
        return seen, await world.names(NODE_CLAIM), await world.names(POD)


@pytest.mark.parametrize(("n_pods", "least"), [(1, 1), (2, 2), (2, 5)])
def test_a_pod_that_can_never_leave_makes_no_node(n_pods: int, least: int) -> None:
    """Its place would stay empty, be removed, and be made again."""
    seen, left, pods = virtual_time.run(claims_seen(n_pods, least))
    assert len(seen) == 1
    assert left == sorted(seen)
    assert len(pods) == n_pods


def test_a_pod_that_may_leave_makes_one_node() -> None:
    """One is made for both, and the old one goes."""
    seen, left, pods = virtual_time.run(claims_seen(2, 1))
    assert len(seen) == 2
    assert len(left) == 1
    assert len(pods) == 2
