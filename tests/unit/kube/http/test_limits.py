"""The rate limit: a burst, then one by one, in order."""

from __future__ import annotations

import asyncio

from dovetail.kube.http.transport import RateLimit
from tests.unit.kube.surroundings import VirtualTimer


async def test_a_burst_passes_at_once_and_the_rest_one_by_one() -> None:
    """Five tokens at once, then ten a second."""
    timer = VirtualTimer()
    limit = RateLimit(10, 5, timer)
    for _ in range(8):
        await limit.take()
    assert [round(slept, 6) for slept in timer.slept] == [0.1, 0.1, 0.1]


async def test_a_pause_fills_the_bucket_but_no_further_than_the_burst() -> None:
    """Nobody saves up more than a burst."""
    timer = VirtualTimer()
    limit = RateLimit(10, 5, timer)
    for _ in range(5):
        await limit.take()
    timer.seconds = 1000
    for _ in range(6):
        await limit.take()
    assert round(sum(timer.slept), 6) == 0.1


async def test_who_asks_first_is_served_first() -> None:
    """Each waits for a later token than the one before."""
    timer = VirtualTimer()
    limit = RateLimit(10, 1, timer)
    await asyncio.gather(*(limit.take() for _ in range(4)))
    assert [round(slept, 6) for slept in timer.slept] == [0.1, 0.2, 0.3]
