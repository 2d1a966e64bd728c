"""What a demo that runs for days forgets."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.kube.seam import Json, Scope
from dovetail.sim.demo.setting import forget_the_old
from dovetail.testing.virtual_time import VirtualTime

EVENT = api.Kind("", "v1", "Event", "events", api.Object)
DAWN = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)


async def _told(kube: MemoryKube, name: str) -> None:
    about: dict[str, Json] = {"kind": "Pod", "namespace": "default", "name": "p"}
    meta: dict[str, Json] = {"name": name, "namespace": "default"}
    body: dict[str, Json] = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta,
        "involvedObject": about,
    }
    await kube.create(EVENT, body, "default")


async def test_events_are_forgotten_after_an_hour() -> None:
    """As an API server lets them expire; what is new stays."""
    time = VirtualTime(DAWN)
    kube = MemoryKube(time)
    await _told(kube, "old")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(forget_the_old(kube, time, time))
        for minute in range(0, 70, 10):
            await time.advance(timedelta(minutes=10))
            if minute == 40:
                await _told(kube, "new")
        running.cancel()
    page = await kube.list(Scope(EVENT))
    assert [api.decode(api.Object, raw).metadata.name for raw in page.items] == ["new"]
