"""Time that passes faster, slower or not at all."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from dovetail.sim.tempo import FASTEST, Tempo

START = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)


async def test_a_long_sleep_is_short_when_time_flies() -> None:
    """And the clock has moved by as much at least."""
    tempo = Tempo(START, FASTEST)
    await tempo.sleep(20)
    assert tempo.elapsed_seconds() >= 20
    assert tempo.now() >= START + timedelta(seconds=20)


async def test_who_sleeps_is_woken_in_time_when_the_tempo_changes() -> None:
    """Otherwise this would take an hour."""
    tempo = Tempo(START, 1.0)
    async with asyncio.TaskGroup() as group:
        asleep = group.create_task(tempo.sleep(3600))
        await asyncio.sleep(0)
        tempo.change(0.0)
        stood_at = tempo.elapsed_seconds()
        await asyncio.sleep(0)
        assert not asleep.done()
        assert tempo.elapsed_seconds() == stood_at
        tempo.change(1e9)
        assert tempo.rate == FASTEST
    assert tempo.elapsed_seconds() >= 3600


async def test_who_is_cancelled_in_its_sleep_is_forgotten() -> None:
    """A change of tempo does not stir the dead."""
    tempo = Tempo(START, 1.0)
    async with asyncio.TaskGroup() as group:
        asleep = group.create_task(tempo.sleep(3600))
        await asyncio.sleep(0)
        asleep.cancel()
    tempo.change(2.0)
    assert asleep.cancelled()


async def test_time_never_runs_backwards() -> None:
    """Whatever tempo is asked for."""
    tempo = Tempo(START, 1.0)
    seen = []
    for rate in (5.0, -3.0, 0.0, 100.0):
        tempo.change(rate)
        seen.append(tempo.elapsed_seconds())
    assert seen == sorted(seen)
