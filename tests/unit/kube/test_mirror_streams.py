"""A mirror learns what is there and what happens then in one watch, without a list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.kube.errors import UnavailableError
from dovetail.kube.mirror import Absent, Mirror, Notice, Pace, Present
from dovetail.kube.seam import Deletion, Json, Ref, Scope, WatchEvent
from dovetail.kube.typed import Intake
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube

MINUTE = timedelta(minutes=1)
STORAGE_CLASS = api.KINDS["storage.k8s.io", "StorageClass"]


class BreakingKube(TroubledKube):
    """An API whose next watch breaks after so many changes."""

    n_left: int | None = None

    async def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """As the API behind it, for a while."""
        async for change in super().watch(scope, since=since):
            if self.n_left is not None:
                if not self.n_left:
                    self.n_left = None
                    raise UnavailableError(0, "", "the connection broke")
                self.n_left -= 1
            yield change


class Followed:
    """A mirror of storage classes, and what it told."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.api = MemoryKube(self.time)
        self.calls: list[str] = []
        self.kube = BreakingKube(self.api, self._note)
        self.notices: list[Notice] = []
        self.mirror = Mirror(
            self.kube,
            Scope(STORAGE_CLASS),
            tell=self.notices.append,
            intake=Intake(),
            pace=Pace(self.time, lambda: 0.5),
        )

    def _note(self, call: ApiCall) -> Trouble | None:
        self.calls.append(call.verb)
        return None

    async def make(self, name: str) -> None:
        """A storage class."""
        body: dict[str, Json] = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "somebody",
        }
        await self.api.create(STORAGE_CLASS, body)

    def told(self) -> list[tuple[str, str]]:
        """What was told of whom."""
        found = [one for one in self.notices if isinstance(one, Present | Absent)]
        return [(type(one).__name__, one.object.metadata.name) for one in found]


@asynccontextmanager
async def following(held: Followed) -> AsyncIterator[None]:
    """The mirror at work."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(held.mirror.run())
        await held.time.advance()
        yield
        task.cancel()


async def test_everything_comes_by_one_watch() -> None:
    """No list is asked for."""
    held = Followed()
    await held.make("a")
    await held.make("b")
    async with following(held):
        assert held.mirror.is_in_sync
        assert held.told() == [("Present", "a"), ("Present", "b")]
        await held.make("c")
        await held.time.advance()
        assert held.told()[-1] == ("Present", "c")
    assert held.calls == ["watch"]


async def test_a_stream_that_breaks_in_the_middle_begins_anew_and_repeats_nothing() -> None:
    """Until everything has been told, nobody is in sync."""
    held = Followed()
    for name in ("a", "b", "c"):
        await held.make(name)
    held.kube.n_left = 2
    async with following(held):
        in_sync = [held.mirror.is_in_sync]
        await held.time.advance(MINUTE)
        assert [*in_sync, held.mirror.is_in_sync] == [False, True]
    assert held.told() == [("Present", "a"), ("Present", "b"), ("Present", "c")]


async def test_what_went_unseen_is_told_once_the_stream_has_caught_up() -> None:
    """The API had forgotten how it went."""
    held = Followed()
    await held.make("a")
    await held.make("b")
    async with following(held):
        held.api.cut_watches()
        await held.api.delete(Ref(STORAGE_CLASS, "a"), Deletion())
        held.api.forget_history()
        await held.time.advance(MINUTE)
        assert held.told()[2:] == [("Absent", "a")]
    assert "list" not in held.calls
