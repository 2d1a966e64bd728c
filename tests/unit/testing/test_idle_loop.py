"""A loop that tells when there is nothing left to do."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from dovetail.testing import virtual_time
from dovetail.testing.virtual_time import IdleLoop, VirtualTime

N_TURNS = 1_000  # more than anybody would guess


async def count(turned: list[int], n_turns: int) -> None:
    """Take so many turns of the loop."""
    for turn in range(n_turns):
        await asyncio.sleep(0)
        turned.append(turn)


def test_whoever_waits_for_idleness_waits_for_everybody() -> None:
    """However many turns they take."""

    async def main() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, IdleLoop)
        turned: list[int] = []
        async with asyncio.TaskGroup() as group:
            group.create_task(count(turned, N_TURNS))
            await loop.idle()
            return len(turned)

    assert virtual_time.run(main()) == N_TURNS


def test_virtual_time_stands_until_everybody_has_done_what_there_is_to_do() -> None:
    """Nobody is overtaken by the clock."""

    async def main() -> int:
        time = VirtualTime()
        turned: list[int] = []
        async with asyncio.TaskGroup() as group:
            group.create_task(count(turned, N_TURNS))
            await time.advance(timedelta(0))
            return len(turned)

    assert virtual_time.run(main()) == N_TURNS


def test_the_outside_is_heard_when_nobody_waits_for_idleness() -> None:
    """A thread's answer comes in, as in any loop."""

    async def main() -> str:
        return await asyncio.to_thread(lambda: "heard")

    assert virtual_time.run(main()) == "heard"
