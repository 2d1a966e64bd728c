"""An API that takes its time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Body, Deletion, Patch, Ref, Scope
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.slow_kube import SlowKube

NAMESPACE = api.KINDS["", "Namespace"]
ONE = Ref(NAMESPACE, "one")
BODY: Body = {"metadata": {"name": "one"}}
SECOND = timedelta(seconds=1)


@asynccontextmanager
async def slow() -> AsyncIterator[tuple[SlowKube, MemoryKube, VirtualTime, asyncio.TaskGroup]]:
    """An API to which every way takes a second."""
    time = VirtualTime()
    server = MemoryKube(time)
    async with asyncio.TaskGroup() as group:
        yield SlowKube(server, time, lambda: 1.0, group), server, time, group


async def test_a_call_takes_its_time_both_ways() -> None:
    """It is carried out after the first and answered after the second."""
    async with slow() as (kube, server, time, group):
        making = group.create_task(kube.create(NAMESPACE, BODY))
        await time.advance(0.5 * SECOND)
        with pytest.raises(NotFoundError):
            await server.get(ONE)
        await time.advance(SECOND)
        await server.get(ONE)
        assert not making.done()
        await time.advance(SECOND)
        assert making.done()


async def test_what_was_sent_arrives_though_nobody_waits_for_it() -> None:
    """The dead leave calls behind."""
    async with slow() as (kube, server, time, group):
        making = group.create_task(kube.create(NAMESPACE, BODY))
        await time.advance()
        making.cancel()
        await time.advance(3 * SECOND)
        await server.get(ONE)


async def test_a_refusal_comes_late_too() -> None:
    """And to whoever asked."""
    async with slow() as (kube, _, time, group):
        asking = group.create_task(asyncio.wait({group.create_task(_refused(kube))}))
        await time.advance(SECOND)
        assert not asking.done()
        await time.advance(SECOND)
        assert asking.done()


async def _refused(kube: SlowKube) -> None:
    with pytest.raises(NotFoundError):
        await kube.get(ONE)


async def test_news_comes_late_and_in_order() -> None:
    """Also of what was changed and deleted."""
    heard: list[str] = []
    async with slow() as (kube, server, time, group):

        async def listen() -> None:
            scope = Scope(NAMESPACE, fields="metadata.name=one")
            async for change in kube.watch(scope, since="0"):
                heard.append(change.type.value)  # noqa: PERF401  others look while it grows

        listening = group.create_task(listen())
        await time.advance(2 * SECOND)
        await server.create(NAMESPACE, BODY)
        await time.advance()
        assert heard == ["BOOKMARK"]
        changing = group.create_task(kube.patch(ONE, Patch({"metadata": {"labels": {"a": "b"}}})))
        await time.advance(3 * SECOND)
        await changing
        deleting = group.create_task(kube.delete(ONE, Deletion()))
        await time.advance(4 * SECOND)
        await deleting
        assert heard[:3] == ["BOOKMARK", "ADDED", "MODIFIED"]
        listening.cancel()
