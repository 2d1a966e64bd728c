"""Each pod that must leave is asked until it goes, and never against its budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from dovetail import labels
from dovetail.controllers.cache import POD
from dovetail.decide.lifecycle.step import EnqueueEviction
from dovetail.kube.errors import ApiError, TooManyRequestsError, UnavailableError
from dovetail.kube.seam import Ref
from tests.unit.controllers.leaving import BUDGET, Process, World, deaf, running
from tests.unit.observe.scraped import metered

KEY = "default/a"


async def wanted(world: World, deadline_in: float | None = None) -> EnqueueEviction:
    """The order to have the pod leave, by so many seconds from now."""
    pods = {pod.metadata.name: pod.metadata.uid for pod in await world.pods()}
    deadline = None if deadline_in is None else world.time.now() + timedelta(seconds=deadline_in)
    return EnqueueEviction(KEY, pods["a"], "n", deadline, "Empty")


def moments(process: Process, verb: str) -> list[float]:
    """When the API was asked for that."""
    return [moment for moment, asked, _ in process.kube.calls if asked == verb]


def refusing(process: Process, error: Callable[[], ApiError], n_times: int = 10**6) -> None:
    """An API that says this to evictions, so often."""
    left = [n_times]

    def refuse(verb: str, ref: Ref) -> None:
        if verb == "evict" and left[0] > 0:
            left[0] -= 1
            process.kube.calls.append(
                (process.dependencies.timer.elapsed_seconds(), verb, ref.name)
            )
            raise error()

    process.kube.refuse = refuse


async def test_a_pod_is_evicted_once_and_forgotten() -> None:
    """Users hear why."""
    world = World()
    await world.pod("a", "n")
    async with running(world) as process:
        order = await wanted(world)
        process.evictions.enqueue(order)
        process.evictions.enqueue(order)
        assert len(process.evictions) == 1
        await world.pass_()
        assert await world.leaving() == {"a"}
        assert len(process.evictions) == 0
        assert moments(process, "evict") == [0.0]
        assert ("Pod", "a", "Evicted") in await world.events()
        assert process.said("INFO") == ["evicted pod"]
        meters = process.dependencies.meters
        assert metered(meters, "karpenter_pods_eviction_requests_total", code="200") == [1]
        assert metered(meters, "karpenter_pods_drained_total", reason="Empty") == [1]


async def working(world: World, process: Process) -> None:
    """Let the queue be worked off, and nothing else."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(process.evictions.run())
        await world.pass_(1)
        task.cancel()


async def test_a_pod_that_was_evicted_is_known_to_leave_before_the_watch_shows_it() -> None:
    """So that nobody asks again, and its place is not counted on."""
    world = World()
    await world.pod("a", "n")
    process = await deaf(world)
    process.evictions.enqueue(await wanted(world))
    await working(world, process)
    pod = process.cache.cluster.pod(KEY)
    assert pod is not None
    assert pod.deleting_at is not None


async def test_another_pod_of_the_same_name_is_left_alone_though_nobody_has_heard_of_it() -> None:
    """Neither evicted nor deleted: the API is told which one is meant."""
    world = World()
    await world.pod("a", "n")
    for deadline in (None, 5.0):
        process = await deaf(world)
        order = await wanted(world, deadline)
        await world.delete(POD, "a", 0)
        await world.pod("a", "n")
        process.evictions.enqueue(order)
        await working(world, process)
        assert len(process.kube.calls) == 1
        assert await world.leaving() == set()
        assert len(process.evictions) == 0


async def test_a_pod_whose_budget_forbids_it_is_asked_again_after_waits_that_double() -> None:
    """From 100 ms to 10 s; the Node says why."""
    world = World()
    await world.pod("a", "n")
    await world.budget("b", "a", 0)
    async with running(world) as process:
        process.evictions.enqueue(await wanted(world))
        await world.pass_(50)
        asked = moments(process, "evict")
        waits = [round(after - before, 1) for before, after in pairwise(asked)]
        assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0, 10.0]
        assert ("Node", "n", "FailedDraining") in await world.events()
        assert await world.leaving() == set()


async def test_two_budgets_of_one_pod_hold_it_too() -> None:
    """The API cannot tell them apart: an error that is no failure of the server."""
    world = World()
    await world.pod("a", "n")
    await world.budget("b", "a", 1)
    await world.budget("c", "a", 1)
    async with running(world) as process:
        process.evictions.enqueue(await wanted(world))
        await world.pass_(1)
        assert ("Node", "n", "FailedDraining") in await world.events()
        assert process.said("WARN") == []
        await world.delete(BUDGET, "c")
        await world.pass_(2)
        assert await world.leaving() == {"a"}


async def test_a_server_that_is_busy_is_left_alone_as_long_as_it_asks() -> None:
    """That is no word about budgets, so nobody is told that the drain fails."""
    world = World()
    await world.pod("a", "n")
    async with running(world) as process:
        refusing(
            process,
            lambda: TooManyRequestsError(429, "TooManyRequests", "busy", timedelta(seconds=7)),
            n_times=1,
        )
        process.evictions.enqueue(await wanted(world))
        await world.pass_(10)
        assert moments(process, "evict") == [0.0, 7.0]
        assert await world.leaving() == {"a"}
        assert ("Node", "n", "FailedDraining") not in await world.events()


async def test_any_other_failure_is_tried_again() -> None:
    """And told in the log."""
    world = World()
    await world.pod("a", "n")
    async with running(world) as process:
        refusing(process, lambda: UnavailableError(503, "", "no"), n_times=3)
        process.evictions.enqueue(await wanted(world))
        await world.pass_(5)
        assert len(moments(process, "evict")) == 4
        assert process.said("WARN") == ["evicting pod failed"] * 3
        assert metered(
            process.dependencies.meters, "karpenter_pods_eviction_requests_total", code="503"
        ) == [3]
        assert await world.leaving() == {"a"}


@pytest.mark.parametrize("comes_back", [True, False], ids=["replaced", "gone"])
async def test_a_pod_that_is_gone_is_forgotten(comes_back: bool) -> None:  # noqa: FBT001  a table's column
    """Another of its name is left alone, also while nobody has heard of it."""
    world = World()
    await world.pod("a", "n")
    async with running(world) as process:
        order = await wanted(world)
        await world.delete(POD, "a", 0)
        if comes_back:
            await world.pod("a", "n")
        process.evictions.enqueue(order)
        await world.pass_(5)
        assert len(process.evictions) == 0
        assert await world.leaving() == set()
        assert [pod.metadata.name for pod in await world.pods()] == ["a"] * comes_back


async def test_a_pod_that_leaves_by_itself_is_forgotten_at_once() -> None:
    """Its budget was in the way until then."""
    world = World()
    await world.pod("a", "n")
    await world.budget("b", "a", 0)
    async with running(world) as process:
        process.evictions.enqueue(await wanted(world))
        await world.pass_(5)
        await world.delete(POD, "a", 0)
        await world.pass_()
        assert len(process.evictions) == 0
        n_asked = len(process.kube.calls)
        await world.pass_(60)
        assert len(process.kube.calls) == n_asked


async def test_the_earliest_deadline_counts() -> None:
    """Also when it comes last."""
    world = World()
    await world.pod("a", "n", grace=10)
    await world.budget("b", "a", 0)
    async with running(world) as process:
        for seconds in (300, 60, 200):
            process.evictions.enqueue(await wanted(world, seconds))
        await world.pass_(49)
        assert await world.leaving() == set()
        await world.pass_(2)
        assert await world.leaving() == {"a"}
        assert ("Pod", "a", "Disrupted") in await world.events()
        (pod,) = await world.pods()
        assert pod.metadata.deletion_timestamp is not None
        assert pod.metadata.deletion_timestamp <= (await wanted(world, 9)).deadline  # type: ignore[operator]  # it has one


async def test_a_pod_that_would_end_too_late_is_deleted_with_what_time_is_left() -> None:
    """It was deleted before, with a grace period past the deadline."""
    world = World()
    await world.pod("a", "n", grace=600)
    await world.delete(POD, "a")
    async with running(world) as process:
        process.evictions.enqueue(await wanted(world, 20))
        await world.pass_(1)
        (pod,) = await world.pods()
        assert pod.metadata.deletion_timestamp is not None
        assert (pod.metadata.deletion_timestamp - world.time.now()).total_seconds() <= 20
        assert moments(process, "delete") == [0.0]
        assert not moments(process, "evict")


async def test_a_pod_that_is_deleted_at_its_deadline_counts_as_evicted() -> None:
    """Its workload suffers the same; but not where it was leaving already."""
    world = World()
    await world.pod("a", "n", owner="ReplicaSet")
    await world.budget("b", "a", 0)
    async with running(world) as process:
        process.evictions.enqueue(await wanted(world, 60))
        await world.pass_(61)
        assert await world.leaving() == {"a"}
        [counted] = process.cache.cluster.snapshot(world.time.now()).ledger.evictions
        assert counted.n_evictions == 1
    world = World()
    await world.pod("a", "n", grace=600, owner="ReplicaSet")
    await world.delete(POD, "a")
    async with running(world) as process:
        process.evictions.enqueue(await wanted(world, 20))
        await world.pass_(1)
        assert moments(process, "delete") == [0.0]
        assert process.cache.cluster.snapshot(world.time.now()).ledger.evictions == ()


async def test_a_pod_under_timed_protection_goes_when_that_ends() -> None:
    """And users hear when that will be, and that it was."""
    world = World()
    await world.pod("a", "n", annotations={labels.DO_NOT_DISRUPT: "30s"})
    async with running(world) as process:
        process.evictions.enqueue(await wanted(world))
        await world.pass_(29)
        assert await world.leaving() == set()
        assert ("Pod", "a", "DoNotDisruptUntil") in await world.events()
        await world.pass_(2)
        assert await world.leaving() == {"a"}
        assert ("Pod", "a", "DoNotDisruptGracePeriodElapsed") in await world.events()


async def test_an_annotation_that_makes_no_sense_protects_nothing_and_is_told() -> None:
    """Rather than hold a node for ever."""
    world = World()
    await world.pod("a", "n", annotations={labels.DO_NOT_DISRUPT: "yes"})
    async with running(world) as process:
        process.evictions.enqueue(await wanted(world))
        await world.pass_(1)
        assert await world.leaving() == {"a"}
        assert ("Pod", "a", "InvalidDoNotDisruptAnnotation") in await world.events()


async def test_what_was_begun_is_finished() -> None:
    """A clean end begins nothing new."""
    world = World()
    await world.pod("a", "n")
    async with running(world) as process:
        await process.evictions.finish()
        process.evictions.enqueue(await wanted(world))
        await world.pass_(5)
        assert await world.leaving() == set()
