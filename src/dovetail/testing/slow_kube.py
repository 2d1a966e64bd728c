"""What if the API takes its time? A Kubernetes API whose answers and news come late."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import msgspec

from dovetail import api
from dovetail.clock import Timer
from dovetail.kube.seam import Body, Change, Deletion, Kube, Page, Patch, Ref, Scope


class SlowKube:
    """An API in front of another one. `delay` says how many seconds each way takes; what is
    watched comes late too, in its order.
    """

    def __init__(self, kube: Kube, timer: Timer, delay: Callable[[], float]) -> None:
        self._kube = kube
        self._timer = timer
        self._delay = delay

    async def get(self, ref: Ref) -> msgspec.Raw:
        """One object."""
        await self._wait()
        found = await self._kube.get(ref)
        await self._wait()
        return found

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects."""
        await self._wait()
        page = await self._kube.list(scope, limit=limit, token=token)
        await self._wait()
        return page

    async def watch(self, scope: Scope, *, since: str) -> AsyncIterator[Change]:
        """Every change, late."""
        async for change in self._kube.watch(scope, since=since):
            await self._wait()
            yield change

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Make an object."""
        await self._wait()
        made = await self._kube.create(kind, body, namespace)
        await self._wait()
        return made

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Change an object."""
        await self._wait()
        changed = await self._kube.patch(ref, patch)
        await self._wait()
        return changed

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """Delete an object."""
        await self._wait()
        await self._kube.delete(ref, how)
        await self._wait()

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """Evict a pod."""
        await self._wait()
        await self._kube.evict(ref, how)
        await self._wait()

    async def _wait(self) -> None:
        seconds = self._delay()
        if seconds > 0:
            await self._timer.sleep(seconds)
