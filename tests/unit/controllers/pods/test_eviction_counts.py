"""Evictions are remembered by whoever leads next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec

from dovetail.controllers.pods.eviction_counts import (
    CONFIG_MAP,
    NAME,
    PAUSE_SECONDS,
    EvictionCountStore,
)
from dovetail.decide.lifecycle.step import EnqueueEviction
from dovetail.kube.errors import NotFoundError, UnavailableError
from dovetail.kube.seam import Deletion, Patch, Ref
from dovetail.state.evictions import Tally
from tests.unit.controllers.leaving import Process, World, running

WEB, DB = "Deployment/default/web", "StatefulSet/default/db"
PLACE = Ref(CONFIG_MAP, NAME, "kube-system")


class Replica:
    """One replica's tally and memory; `process` has the API that it sees."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.tally = Tally()
        self.memory = EvictionCountStore(process.dependencies, self.tally, "kube-system")
        self._n_evicted = 0

    def evict(self, workload: str, n_times: int = 1) -> None:
        """Pods are evicted."""
        for _ in range(n_times):
            self._n_evicted += 1
            uid = f"{id(self)}-{self._n_evicted}"
            self.tally.add(workload, uid, self.process.dependencies.clock.now())

    def cache(self) -> dict[str, int]:
        """How often workloads were evicted, as far as it knows."""
        counts = self.tally.counts(self.process.dependencies.clock.now())
        return {workload: n for (workload, _), n in sorted(counts.items())}

    def moments(self) -> list[float]:
        """When it wrote."""
        return [at for at, verb, _ in self.process.kube.calls if verb in {"create", "patch"}]


@asynccontextmanager
async def leading(world: World) -> AsyncIterator[Replica]:
    """A replica that leads until the block ends, and is killed then."""
    async with running(world) as process, asyncio.TaskGroup() as group:
        process.kube.calls.clear()
        replica = Replica(process)
        await replica.memory.recall()
        task = group.create_task(replica.memory.run())
        yield replica
        task.cancel()


async def stored(world: World) -> str:
    """What the API holds."""
    found = msgspec.json.decode(await world.kube.get(PLACE))
    return str(found["data"]["evictions"])


async def test_the_next_leader_knows_how_often_pods_were_evicted() -> None:
    """Without a word from the one before, who was killed."""
    world = World()
    async with leading(world) as first:
        first.evict(WEB, 2)
        await world.pass_(1)
    async with leading(world) as second:
        assert second.cache() == {WEB: 2}
        second.evict(WEB)
        second.evict(DB)
        await world.pass_(1)
    async with leading(world) as third:
        assert third.cache() == {WEB: 3, DB: 1}


async def test_a_kill_loses_the_last_seconds_at_most() -> None:
    """What was counted before the last pause is there."""
    world = World()
    async with leading(world) as first:
        first.evict(WEB)
        await world.pass_(1)
        first.evict(WEB)
        await world.pass_(PAUSE_SECONDS)
        first.evict(WEB)
        await world.pass_(PAUSE_SECONDS - 2)
    async with leading(world) as second:
        assert second.cache() == {WEB: 2}


async def test_it_is_written_at_once_and_then_seldom() -> None:
    """And not at all when nothing has happened."""
    world = World()
    async with leading(world) as replica:
        await world.pass_(60)
        assert replica.moments() == []
        started = replica.process.dependencies.timer.elapsed_seconds()
        for _ in range(100):
            replica.evict(WEB)
            await world.pass_(0.1)
        await world.pass_(60)
        assert [round(at - started) for at in replica.moments()] == [0, 5, 10]
        assert replica.cache() == {WEB: 100}


async def test_what_is_left_is_written_at_the_end() -> None:
    """Whoever stops in order loses nothing."""
    world = World()
    async with leading(world) as first:
        first.evict(WEB)
        await world.pass_(1)
        first.evict(WEB)
        await first.memory.finish()
        await first.memory.finish()
        assert len(first.moments()) == 2
    async with leading(world) as second:
        assert second.cache() == {WEB: 2}


async def test_two_writers_add_up() -> None:
    """Neither overwrites what the other has counted, and each learns of it."""
    world = World()
    async with leading(world) as one, leading(world) as other:
        one.evict(WEB)
        await world.pass_(1)
        other.evict(WEB, 3)
        await world.pass_(PAUSE_SECONDS)
        one.evict(DB)
        await world.pass_(PAUSE_SECONDS)
        assert one.cache() == {WEB: 4, DB: 1}
    async with leading(world) as third:
        assert third.cache() == {WEB: 4, DB: 1}


async def test_an_api_that_fails_is_asked_again() -> None:
    """At the start as well as later; nothing is lost, and nothing is overwritten unread."""
    world = World()
    async with leading(world) as first:
        first.evict(WEB)
        await world.pass_(1)
    async with running(world) as process, asyncio.TaskGroup() as group:

        def refuse(_verb: str, _ref: Ref) -> None:
            raise UnavailableError(503, "", "away")

        process.kube.refuse = refuse
        second = Replica(process)
        await second.memory.recall()
        assert second.cache() == {}
        task = group.create_task(second.memory.run())
        second.evict(WEB)
        await world.pass_(30)
        process.kube.refuse = lambda _verb, _ref: None
        await world.pass_(PAUSE_SECONDS)
        assert second.cache() == {WEB: 2}
        task.cancel()
    async with leading(world) as third:
        assert third.cache() == {WEB: 2}


async def test_a_memory_that_somebody_deleted_is_written_again() -> None:
    """With all that is known."""
    world = World()
    async with leading(world) as replica:
        replica.evict(WEB)
        await world.pass_(1)
        await world.kube.delete(PLACE, Deletion())
        replica.evict(WEB)
        await world.pass_(PAUSE_SECONDS)
        assert WEB + '":2' in await stored(world)


async def test_a_memory_that_makes_no_sense_is_begun_anew() -> None:
    """And said."""
    world = World()
    async with leading(world) as first:
        first.evict(WEB)
        await world.pass_(1)
    await world.kube.patch(PLACE, Patch({"data": {"evictions": "a lot"}}))
    async with leading(world) as second:
        assert second.cache() == {}
        assert second.process.said("WARN") == ["what was evicted makes no sense and is forgotten"]
        second.evict(DB)
        await world.pass_(1)
    async with leading(world) as third:
        assert third.cache() == {DB: 1}


async def test_nothing_is_written_where_nothing_was_evicted() -> None:
    """Neither at the start nor at the end."""
    world = World()
    async with leading(world) as replica:
        await replica.memory.finish()
    try:
        await stored(world)
    except NotFoundError:
        return
    msg = "there should be nothing"
    raise AssertionError(msg)


async def test_what_is_a_day_old_is_not_written_any_more() -> None:
    """So it stays small."""
    world = World()
    async with leading(world) as replica:
        replica.evict(WEB)
        await world.pass_(timedelta(hours=26).total_seconds())
        replica.evict(DB)
        await world.pass_(1)
        assert WEB not in await stored(world)
        assert DB in await stored(world)


async def test_an_eviction_by_our_drains_is_counted() -> None:
    """By the owner that the pod names."""
    world = World()
    await world.pod("a", "n")
    async with running(world) as process:
        [pod] = await world.pods()
        process.evictions.enqueue(
            EnqueueEviction("default/a", pod.metadata.uid, "n", None, "Empty")
        )
        await world.pass_()
        counted = process.cache.cluster.snapshot(world.time.now()).ledger.evictions
        assert [(one.workload, one.n_evictions) for one in counted] == [("ReplicaSet/default/o", 1)]
