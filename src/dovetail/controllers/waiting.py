"""How does a loop wait for something to happen, but not for ever?"""

from __future__ import annotations

import asyncio

from dovetail.clock import Timer


async def happens_within(event: asyncio.Event, seconds: float | None, timer: Timer) -> bool:
    """Wait until the event is set or the time is up; whether it is set. None waits for ever."""
    if event.is_set() or seconds is None:
        await event.wait()
        return True
    async with asyncio.TaskGroup() as group:
        nap = group.create_task(timer.sleep(max(seconds, 0.0)))
        happening = group.create_task(event.wait())
        await asyncio.wait({nap, happening}, return_when=asyncio.FIRST_COMPLETED)
        nap.cancel()
        happening.cancel()
    return event.is_set()
