"""Provides a Kubernetes API whose answers and watch events are late.

What was sent arrives, whether or not anybody still waits for the answer: whoever is killed leaves
calls behind that are carried out after its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import msgspec

from dovetail import api
from dovetail.clock import Timer
from dovetail.errors import DovetailError
from dovetail.kube.seam import Body, Deletion, Kube, Page, Patch, Ref, Scope, WatchEvent

_T = TypeVar("_T")


class SlowKube:
    """An API in front of another one. `delay` says how many seconds each way takes; what is
    watched comes late too, in its order. Calls under way are tasks of the `network`.
    """

    def __init__(
        self, kube: Kube, timer: Timer, delay: Callable[[], float], network: asyncio.TaskGroup
    ) -> None:
        self._kube = kube
        self._timer = timer
        self._delay = delay
        self._network = network

    async def get(self, ref: Ref) -> msgspec.Raw:
        """One object."""
        return await self._asked(lambda: self._kube.get(ref))

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects."""
        return await self._asked(lambda: self._kube.list(scope, limit=limit, token=token))

    async def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """Every change, late."""
        async for change in self._kube.watch(scope, since=since):
            await self._timer.sleep(self._delay())
            yield change

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Make an object."""
        return await self._asked(lambda: self._kube.create(kind, body, namespace))

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Change an object."""
        return await self._asked(lambda: self._kube.patch(ref, patch))

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """Delete an object."""
        await self._asked(lambda: self._kube.delete(ref, how))

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """Evict a pod."""
        await self._asked(lambda: self._kube.evict(ref, how))

    async def _asked(self, call: Callable[[], Awaitable[_T]]) -> _T:
        answer: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._network.create_task(self._carried(call, answer))
        return await answer

    async def _carried(self, call: Callable[[], Awaitable[_T]], answer: asyncio.Future[_T]) -> None:
        await self._timer.sleep(self._delay())
        try:
            found = await call()
        except DovetailError as error:
            await self._timer.sleep(self._delay())
            if not answer.done():
                answer.set_exception(error)
            return
        await self._timer.sleep(self._delay())
        if not answer.done():
            answer.set_result(found)
