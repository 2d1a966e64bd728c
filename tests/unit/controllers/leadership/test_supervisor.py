"""Loops run side by side, survive each other's bugs, and end in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from dovetail.controllers.leadership.supervisor import Loop, Supervisor
from dovetail.testing.virtual_time import VirtualTime
from tests.unit.controllers.replicas import Notes


class Bench:
    """A supervisor in a time of its own."""

    def __init__(self, *loops: Loop) -> None:
        self.time = VirtualTime()
        self.notes = Notes()
        self.supervisor = Supervisor(
            loops, timer=self.time, chance=lambda: 1.0, log=self.notes, grace_seconds=20
        )
        self.has_ended = False

    async def run(self) -> None:
        """Run it to its end."""
        await self.supervisor.run()
        self.has_ended = True

    async def pass_seconds(self, seconds: float) -> None:
        """Let time pass."""
        await self.time.advance(timedelta(seconds=seconds))


@asynccontextmanager
async def running(*loops: Loop) -> AsyncIterator[Bench]:
    """These loops, running."""
    bench = Bench(*loops)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.run())
        await bench.pass_seconds(0)
        try:
            yield bench
        finally:
            task.cancel()


async def forever() -> None:
    """A loop that never ends by itself."""
    await asyncio.Event().wait()


async def test_a_loop_that_fails_starts_again_and_the_others_do_not_notice() -> None:
    """After waits that double, each told with what was raised and where."""
    starts: list[float] = []
    n_beats = 0

    async def failing() -> None:
        starts.append(bench.time.elapsed_seconds())
        msg = "a bug"
        raise RuntimeError(msg)

    async def beating() -> None:
        nonlocal n_beats
        while True:
            n_beats += 1
            await bench.time.sleep(1)

    bench = Bench(Loop("failing", failing), Loop("beating", beating))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.run())
        await bench.pass_seconds(10)
        task.cancel()
    assert starts == [0, 1, 3, 7]
    assert n_beats == 11
    _, message, fields = bench.notes.lines[0]
    assert message == "loop failed and starts again"
    assert fields["loop"] == "failing"
    assert "RuntimeError: a bug at " in str(fields["problem"])


async def test_after_a_long_good_time_the_waits_are_short_again() -> None:
    """What failed yesterday does not count today."""
    starts: list[float] = []

    async def failing_late() -> None:
        starts.append(bench.time.elapsed_seconds())
        await bench.time.sleep(100)
        raise RuntimeError

    bench = Bench(Loop("late", failing_late))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.run())
        await bench.pass_seconds(404)
        task.cancel()
    assert starts == [0, 101, 202, 303, 404]


async def test_errors_inside_groups_are_told_one_by_one() -> None:
    """A loop that is a group of tasks says what went wrong in each."""

    async def group_of_two() -> None:
        msg = "both"
        raise ExceptionGroup(msg, [ValueError("one"), KeyError("two")])

    async with running(Loop("group", group_of_two)) as bench:
        problem = str(bench.notes.lines[0][2]["problem"])
        assert "ValueError: one" in problem
        assert "KeyError: 'two'" in problem


async def test_when_every_loop_has_returned_it_is_over() -> None:
    """Also when there is none."""

    async def once() -> None:
        await bench.time.sleep(5)

    bench = Bench(Loop("once", once), Loop("other", once))
    async with asyncio.TaskGroup() as group:
        group.create_task(bench.run())
        await bench.pass_seconds(5)
    assert bench.has_ended


async def test_stopping_lets_loops_finish_and_cuts_those_with_nothing_to_lose() -> None:
    """Nothing is cut while somebody still finishes within the grace period."""
    done: list[str] = []
    asked = asyncio.Event()

    async def careful() -> None:
        await asked.wait()
        await bench.time.sleep(10)
        done.append("finished")

    async def careless() -> None:
        try:
            await forever()
        finally:
            done.append("cut")

    async with running(Loop("careful", careful, asked.set), Loop("careless", careless)) as bench:
        bench.supervisor.stop()
        await bench.pass_seconds(9)
        assert (done, bench.has_ended) == (["cut"], False)
        await bench.pass_seconds(1)
        assert (done, bench.has_ended) == (["cut", "finished"], True)
        assert bench.notes.messages == []


async def test_past_the_grace_period_everything_is_cut_and_told() -> None:
    """An end is an end."""
    async with running(Loop("stuck", forever, lambda: None)) as bench:
        bench.supervisor.stop()
        await bench.pass_seconds(19)
        assert bench.notes.lines == []
        await bench.pass_seconds(1)
        assert bench.notes.lines == [("warning", "loop was cut off at the end", {"loop": "stuck"})]
        assert bench.has_ended


async def test_a_loop_that_waits_to_start_again_does_not_start_while_stopping() -> None:
    """Its wait ends at once."""
    n_starts = 0

    async def failing() -> None:
        nonlocal n_starts
        n_starts += 1
        raise RuntimeError

    async with running(Loop("failing", failing, lambda: None)) as bench:
        bench.supervisor.stop()
        await bench.pass_seconds(0)
        assert (bench.has_ended, n_starts) == (True, 1)


async def test_a_loop_that_cannot_be_asked_does_not_keep_the_others_from_ending() -> None:
    """It is cut after the grace period."""

    def broken() -> None:
        raise RuntimeError

    asked = asyncio.Event()

    async def careful() -> None:
        await asked.wait()

    async with running(
        Loop("broken", forever, broken), Loop("careful", careful, asked.set)
    ) as bench:
        bench.supervisor.stop()
        await bench.pass_seconds(0)
        assert asked.is_set()
        await bench.pass_seconds(20)
        assert bench.has_ended


async def test_who_is_cancelled_takes_all_loops_along() -> None:
    """No loop outlives its supervisor."""
    ended: list[str] = []

    async def loop() -> None:
        try:
            await forever()
        finally:
            ended.append("ended")

    async with running(Loop("one", loop), Loop("two", loop, lambda: None)):
        pass
    assert ended == ["ended", "ended"]
