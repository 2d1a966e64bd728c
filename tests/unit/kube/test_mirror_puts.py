"""What is put in ahead of the watch is not undone by what the watch shows late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.controllers.cache import NODE
from dovetail.kube.mirror import Absent, Mirror, Notice, Pace, Present
from dovetail.kube.seam import Deletion, Json, Patch, Ref, Scope, WatchEvent
from dovetail.kube.typed import Intake
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.troubled_kube import TroubledKube

ONE = Ref(NODE, "one")


class LateKube(TroubledKube):
    """An API whose watches say nothing for as long as they are told to."""

    def __init__(self, kube: MemoryKube) -> None:
        super().__init__(kube)
        self.hears = asyncio.Event()
        self.hears.set()

    async def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """As the API behind it, late."""
        async for change in super().watch(scope, since=since):
            await self.hears.wait()
            yield change


def _node(name: str = "one") -> dict[str, Json]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def _told(notices: list[Notice], uid: str) -> list[str]:
    found = [one for one in notices if isinstance(one, Present | Absent)]
    return [type(one).__name__ for one in found if one.object.metadata.uid == uid]


async def test_an_object_that_was_made_anew_and_read_is_not_lost_to_late_news_of_the_old_one() -> (
    None
):
    """An answer of the API is newer than what the watch still has to show; the new object is told
    once, and later answers about it count too.
    """
    time = VirtualTime()
    memory = MemoryKube(time)
    kube = LateKube(memory)
    notices: list[Notice] = []
    mirror = Mirror(
        kube, Scope(NODE), tell=notices.append, intake=Intake(), pace=Pace(time, lambda: 0.5)
    )
    await memory.create(NODE, _node())
    async with asyncio.TaskGroup() as group:
        following = group.create_task(mirror.run())
        await time.advance()
        kube.hears.clear()
        await memory.patch(ONE, Patch({"metadata": {"labels": {"a": "b"}}}))
        await memory.delete(ONE, Deletion())
        fresh = api.decode(api.Node, await memory.create(NODE, _node()))
        mirror.put(await memory.get(ONE))
        kube.hears.set()
        await time.advance()
        assert _told(notices, fresh.metadata.uid) == ["Present"]

        kube.hears.clear()
        answer = await memory.patch(ONE, Patch({"metadata": {"labels": {"c": "d"}}}))
        mirror.put(answer)
        held = mirror.objects["", "one"]
        assert held.metadata.labels == {"c": "d"}
        following.cancel()
