"""At most one replica works, and soon another when it does not any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from time import monotonic

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.apiserver.server import MemoryKube
from dovetail.clock import LoopTimer, SystemClock
from dovetail.controllers.leadership.election import (
    LEASE,
    ElectionDependencies,
    LeaderCandidate,
    LeaseSpec,
    Terms,
    namespace,
)
from dovetail.kube.seam import Deletion, Json, Patch
from dovetail.testing.virtual_time import START
from tests.unit.controllers.replicas import NAME, Fleet, Notes, fleet

FAILOVER_SECONDS = 15 + 2.4 + 0.5


async def test_the_first_replica_makes_the_lease_and_leads() -> None:
    """With the fields that other implementations read."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        assert world.leaders == [one]
        assert one.n_working == 1
        lease = await world.lease()
        assert (lease.holder_identity, lease.lease_duration_seconds) == (one.identity, 15)
        assert (lease.acquire_time, lease.renew_time) == (START, START)
        assert lease.lease_transitions == 0


async def test_renewing_keeps_who_and_since_when() -> None:
    """Only the time of the renewal moves, and no renewal reads first."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        first, n_calls = await world.lease(), one.process.n_calls
        await world.pass_seconds(60)
        last = await world.lease()
        assert last == msgspec.structs.replace(first, renew_time=last.renew_time)
        assert last.renew_time is not None
        assert world.time.now() - last.renew_time <= timedelta(seconds=2.5)
        assert 60 / 2.4 - 1 <= one.process.n_calls - n_calls <= 30


async def test_a_second_replica_waits_and_says_for_whom() -> None:
    """It does not work meanwhile."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        two = world.start()
        await world.pass_seconds(120)
        assert world.leaders == [one]
        assert two.n_working == 0
        assert two.candidate.leader == one.identity
        assert two.notes.messages == ["another replica leads"]


async def test_after_a_kill_another_takes_over_once_the_lease_is_over() -> None:
    """Not before, and at most one retry later."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        two = world.start()
        await world.pass_seconds(10)
        world.kill(one)
        await world.pass_seconds(12)
        assert world.leaders == []
        await world.pass_seconds(FAILOVER_SECONDS - 12)
        assert world.leaders == [two]
        lease = await world.lease()
        assert (lease.holder_identity, lease.lease_transitions) == (two.identity, 1)


async def test_who_stops_hands_over_within_a_retry() -> None:
    """The lease is let go when the work is done, and free at once."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        two = world.start()
        await world.pass_seconds(9)
        one.stopping.set()
        await world.pass_seconds(2.5)
        assert one.has_ended
        assert not one.is_lost
        assert world.leaders == [two]
        assert one.notes.messages == ["became leader", "released lease"]


async def test_a_released_lease_names_nobody() -> None:
    """And lasts as short as a lease may."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(5)
        one.stopping.set()
        await world.pass_seconds(0.5)
        lease = await world.lease()
        assert (lease.holder_identity, lease.lease_duration_seconds) == ("", 1)
        assert lease.lease_transitions == 0


async def test_a_lease_is_let_go_even_when_a_renewal_is_cut_short_by_the_end() -> None:
    """What the server made of that renewal is read first."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        one.process.delay_seconds = 0.2
        one.process.answer_delay_seconds = 0.2
        n_calls = one.process.n_calls
        while one.process.n_calls == n_calls:
            await world.time.advance(timedelta(seconds=0.05))
        one.stopping.set()
        await world.pass_seconds(2)
        assert (await world.lease()).holder_identity == ""


async def test_while_the_work_finishes_the_lease_is_kept() -> None:
    """Stopping is not over before the work is."""
    async with fleet() as world:
        kept = asyncio.Event()
        one = world.start()

        async def slow() -> None:
            await one.stopping.wait()
            await kept.wait()

        one._work = slow  # type: ignore[method-assign]  # noqa: SLF001  work that takes its time
        await world.pass_seconds(1)
        two = world.start()
        one.stopping.set()
        await world.pass_seconds(60)
        assert world.leaders == [one]
        kept.set()
        await world.pass_seconds(2.5)
        assert world.leaders == [two]


async def test_who_waits_to_be_elected_can_be_stopped() -> None:
    """At once."""
    async with fleet() as world:
        world.start()
        await world.pass_seconds(1)
        two = world.start()
        await world.pass_seconds(5)
        two.stopping.set()
        await world.time.advance()
        assert two.has_ended
        assert two.notes.messages == ["another replica leads"]


async def test_who_cannot_renew_stops_working_before_anybody_takes_over() -> None:
    """After the renew deadline, and says so."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        two = world.start()
        await world.pass_seconds(4)
        one.process.is_cut = True
        await world.pass_seconds(10)
        assert one.is_lost
        assert one.n_working == 0
        assert world.leaders == []
        await world.pass_seconds(FAILOVER_SECONDS - 10)
        assert world.leaders == [two]


async def test_a_short_outage_costs_nothing() -> None:
    """As long as one renewal comes through in time."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        world.start()
        for _ in range(5):
            one.process.is_cut = True
            await world.pass_seconds(6)
            one.process.is_cut = False
            await world.pass_seconds(4)
        assert world.leaders == [one]
        assert (await world.lease()).lease_transitions == 0


async def test_an_answer_that_never_comes_is_not_waited_for() -> None:
    """The deadline holds, whatever the client does."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        one.process.delay_seconds = 1000
        await world.pass_seconds(12)
        assert one.is_lost


async def test_a_late_answer_does_not_make_the_lease_longer() -> None:
    """It counts from when it was asked for, since others count from when it was written."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(1)
        two = world.start()
        await world.pass_seconds(1)
        one.process.answer_delay_seconds = 7.0
        await world.pass_seconds(9)
        assert world.leaders == [one]
        one.process.is_cut = True
        await world.pass_seconds(FAILOVER_SECONDS)
        assert world.leaders == [two]


@pytest.mark.parametrize("hours", [-24, 24])
async def test_clocks_that_differ_change_nothing(hours: int) -> None:
    """What counts is when a renewal was seen, not what it says."""
    async with fleet() as world:
        one = world.start()
        one.process.skew = timedelta(hours=hours)
        await world.pass_seconds(1)
        two = world.start()
        await world.pass_seconds(60)
        assert world.leaders == [one]
        world.kill(one)
        await world.pass_seconds(FAILOVER_SECONDS)
        assert world.leaders == [two]


async def write(world: Fleet, spec: dict[str, Json]) -> None:
    """Say something else about the lease, as another program does."""
    await world.server.patch(NAME, Patch({"spec": spec}))


async def test_a_lease_of_another_program_is_respected_for_as_long_as_it_says() -> None:
    """Then it is taken, and what it counted goes on."""
    async with fleet() as world:
        await world.server.create(
            LEASE,
            {
                "metadata": {"name": NAME.name},
                "spec": {
                    "holderIdentity": "karpenter-5d8f_1234",
                    "leaseDurationSeconds": 40,
                    "acquireTime": "2025-12-31T23:00:00.000000Z",
                    "renewTime": "2025-12-31T23:00:00.000000Z",
                    "leaseTransitions": 6,
                },
            },
            NAME.namespace,
        )
        one = world.start()
        await world.pass_seconds(39)
        assert world.leaders == []
        await world.pass_seconds(4)
        assert world.leaders == [one]
        assert (await world.lease()).lease_transitions == 7


async def test_who_sees_somebody_else_in_the_lease_stops_at_once() -> None:
    """Not only at the deadline."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(5)
        await write(world, {"holderIdentity": "other", "renewTime": "2026-01-01T00:00:05.000000Z"})
        await world.pass_seconds(3)
        assert one.is_lost
        assert (await world.lease()).holder_identity == "other"


async def test_a_label_on_the_lease_disturbs_nobody() -> None:
    """A version that moved is read, and the renewal goes on."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(5)
        await world.server.patch(NAME, Patch({"metadata": {"labels": {"a": "b"}}}))
        await world.pass_seconds(30)
        assert world.leaders == [one]
        assert (await world.lease()).lease_transitions == 0


async def test_a_lease_that_was_deleted_is_made_again() -> None:
    """By whoever led."""
    async with fleet() as world:
        one = world.start()
        await world.pass_seconds(5)
        await world.server.delete(NAME, Deletion())
        await world.pass_seconds(3)
        assert world.leaders == [one]
        assert (await world.lease()).holder_identity == one.identity


async def test_a_lease_that_cannot_be_read_makes_nobody_leader() -> None:
    """Fields of another type are told, and tried again."""
    async with fleet() as world:
        await world.server.create(
            LEASE, {"metadata": {"name": NAME.name}, "spec": {"renewTime": "now"}}, NAME.namespace
        )
        one = world.start()
        await world.pass_seconds(10)
        assert world.leaders == []
        assert "lease could not be renewed or read" in one.notes.messages


HAPPENINGS = (
    "pause",
    "resume",
    "kill",
    "stop",
    "start",
    "cut",
    "heal",
    "slow",
    "late",
    "quick",
    "skew",
)


def happen(world: Fleet, what: str, number: int) -> None:
    """Do something to one of the replicas that are alive."""
    alive = [one for one in world.replicas if not one.has_ended and not one.process.is_dead]
    if what == "start" or not alive:
        if len(alive) < 4:
            world.start()
        return
    one = alive[number % len(alive)]
    doings: dict[str, Callable[[], object]] = {
        "pause": one.process.pause,
        "resume": one.process.resume,
        "kill": lambda: world.kill(one),
        "stop": one.stopping.set,
        "cut": lambda: setattr(one.process, "is_cut", True),
        "heal": lambda: setattr(one.process, "is_cut", False),
        "slow": lambda: setattr(one.process, "delay_seconds", 0.4 * (number % 40)),
        "late": lambda: setattr(one.process, "answer_delay_seconds", 0.4 * (number % 40)),
        "quick": one.process.hurry,
        "skew": lambda: setattr(one.process, "skew", timedelta(seconds=(number - 50) * 100)),
    }
    doings[what]()


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from(HAPPENINGS), st.integers(0, 99), st.integers(1, 18)),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_happens_there_is_one_leader_at_most_and_in_the_end_one(
    happenings: list[tuple[str, int, int]],
) -> None:
    """Over pauses, kills, clocks that jump, networks that are slow or cut."""

    async def check() -> None:
        async with fleet() as world:
            for _ in range(3):
                world.start()
            transitions = 0
            for what, number, seconds in happenings:
                happen(world, what, number)
                await world.pass_seconds(seconds, step=1)
                if any(one.process.n_calls for one in world.replicas if not one.process.is_cut):
                    held = (await world.lease()).lease_transitions or 0
                    assert held >= transitions
                    transitions = held
            for one in world.replicas:
                one.process.resume()
                one.process.is_cut = False
                one.process.hurry()
            fresh = world.start()
            await world.pass_seconds(3 * FAILOVER_SECONDS, step=1)
            assert len(world.leaders) == 1
            assert (await world.lease()).holder_identity == world.leaders[0].identity
            assert fresh.candidate.leader == world.leaders[0].identity

    asyncio.run(check())


async def test_renewal_goes_on_while_a_computation_burns_the_processor() -> None:
    """A long decision in a worker thread must not cost the lease: a rival waits in vain."""
    terms = Terms(lease_seconds=2, renew_seconds=1.5, retry_seconds=0.2)
    kube = MemoryKube(SystemClock())
    stopping = asyncio.Event()

    def candidate(name: str) -> LeaderCandidate:
        chance = Random(name).random  # noqa: S311  repeatable
        dependencies = ElectionDependencies(kube, SystemClock(), LoopTimer(), chance, Notes())
        return LeaderCandidate(NAME, name, dependencies, terms)

    def burn() -> int:
        until, n_turns = monotonic() + 1.3 * terms.lease_seconds, 0
        while monotonic() < until:
            n_turns += sum(range(1000))
        return n_turns

    leader, rival = candidate("leader"), candidate("rival")
    seen: list[LeaseSpec] = []

    async def work() -> None:
        rivalry = group.create_task(rival.lead(_nothing, stopping))
        await asyncio.to_thread(burn)
        seen.append(msgspec.convert(msgspec.json.decode(await kube.get(NAME))["spec"], LeaseSpec))
        stopping.set()
        await rivalry

    async with asyncio.TaskGroup() as group:
        await leader.lead(work, stopping)
    (lease,) = seen
    assert (lease.holder_identity, lease.lease_transitions) == ("leader", 0)
    assert lease.renew_time != lease.acquire_time


async def _nothing() -> None:
    """Work that is done at once."""


def test_the_lease_lies_with_the_pod(tmp_path: Path) -> None:
    """Said by the environment, else by the service account, else `default`."""
    assert namespace({"POD_NAMESPACE": "infra"}, str(tmp_path)) == "infra"
    assert namespace({}, str(tmp_path)) == "default"
    (tmp_path / "namespace").write_text("kube-system\n")
    assert namespace({}, str(tmp_path)) == "kube-system"
