"""Killed anywhere in a drain, and nothing is lost: the next process finishes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dovetail.controllers.cache import NODE, NODE_CLAIM, POD
from tests.unit.controllers.leaving import World, running

N_AT_ONCE = 5
N_CALLS = 25  # that the drain below takes


@asynccontextmanager
async def a_drain(deleted: str) -> AsyncIterator[World]:
    """A node that is to leave with four pods, one of which its budget holds at first."""
    world = World()
    await world.node("n", grace="300s")
    await world.pod("a", "n")
    await world.pod("kept", "n")
    await world.pod("daemon", "n", owner="DaemonSet")
    await world.pod("critical", "n", priority="system-node-critical")
    await world.budget("b", "kept", 0)
    await world.delete(NODE if deleted == "Node" else NODE_CLAIM, "n")
    async with asyncio.TaskGroup() as group:
        kubelet = group.create_task(world.undertake())
        yield world
        kubelet.cancel()


async def until_over(world: World) -> None:
    """Time enough for the whole drain, if nothing gets in its way."""
    await world.pass_(3)
    if await world.exists(POD, "kept"):
        assert "kept" not in await world.leaving()
        await world.allow("b", 1)
    await world.pass_(9)


async def is_over(world: World) -> bool:
    """Whether nothing is left of Node, claim, pods and instance."""
    is_left = [await world.exists(kind, "n") for kind in (NODE, NODE_CLAIM)]
    return not (any(is_left) or await world.pods() or await world.cloud.list())


@pytest.mark.parametrize("deleted", ["Node", "NodeClaim"])
async def test_a_drain_takes_as_many_calls_as_are_cut_below(deleted: str) -> None:
    """Else some place to die at is left out."""
    async with a_drain(deleted) as world, running(world, ends_claims=True) as process:
        await until_over(world)
        assert await is_over(world)
        assert len(process.kube.calls) == N_CALLS


@pytest.mark.parametrize("first", range(1, N_CALLS, N_AT_ONCE))
@pytest.mark.parametrize("deleted", ["Node", "NodeClaim"])
async def test_a_process_killed_after_any_call_of_a_drain_loses_nothing(
    deleted: str, first: int
) -> None:
    """No pod is evicted against its budget, no finalizer stuck, no instance left."""
    for lives in range(first, first + N_AT_ONCE):
        async with a_drain(deleted) as world:
            async with running(world, lives, ends_claims=True) as process:
                await until_over(world)
                assert process.kube.died.is_set()
            async with running(world, ends_claims=True) as process:
                await world.pass_(30)
                assert await is_over(world)
                assert process.said("ERROR") == []
