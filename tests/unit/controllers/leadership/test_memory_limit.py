"""Memory is tidied up before the limit is reached."""

from __future__ import annotations

import asyncio
import gc
import weakref
from datetime import timedelta

from dovetail.controllers.leadership.readiness import resident_bytes, tidy, watch_memory
from dovetail.testing.virtual_time import VirtualTime
from tests.unit.controllers.replicas import Notes


class Knot:
    """Something that only the collector of cycles frees."""

    def __init__(self) -> None:
        self.itself = self


def test_tidying_frees_what_holds_on_to_itself() -> None:
    """Which otherwise waits for the collector's turn."""
    gc.disable()
    try:
        knot = weakref.ref(Knot())
        assert knot() is not None
        tidy()
        assert knot() is None
    finally:
        gc.enable()


async def test_near_the_limit_memory_is_tidied_and_far_from_it_left_alone() -> None:
    """Looked at every ten seconds."""
    for limit, want in ((1, 3), (1 << 50, 0)):
        time, notes = VirtualTime(), Notes()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(watch_memory(limit, time, notes))
            await time.advance(timedelta(seconds=25))
            task.cancel()
        assert notes.messages == ["memory is nearly used up"] * want


def test_this_process_holds_memory() -> None:
    """And the system says how much."""
    assert 1 << 20 < resident_bytes() < 1 << 40
