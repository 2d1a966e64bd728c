"""Times and counts every request to the API server (`MeteredKube`), under the names of the
reference's client.

A watch is not a request that ends; it is passed on as it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Final, TypeVar

import msgspec

from dovetail import api
from dovetail.clock import Timer
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Body, Deletion, Kube, Page, Patch, Ref, Scope, WatchEvent
from dovetail.observe.meters import Meters

_T = TypeVar("_T")
_NO_ANSWER: Final = "<error>"  # as the reference's client spells it


class _Request(msgspec.Struct, frozen=True, gc=False):
    """What is asked. `verb` is what it means, `method` how HTTP says it."""

    verb: str
    method: str
    kind: api.Kind
    subresource: str = ""
    code: int = 200  # when all is well


class MeteredKube:
    """An API, each request to which is timed."""

    def __init__(self, kube: Kube, meters: Meters, timer: Timer) -> None:
        self._kube = kube
        self._meters = meters
        self._timer = timer

    async def get(self, ref: Ref) -> msgspec.Raw:
        """One object."""
        return await self._time_request(_Request("GET", "GET", ref.kind), self._kube.get(ref))

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects."""
        call = self._kube.list(scope, limit=limit, token=token)
        return await self._time_request(_Request("LIST", "GET", scope.kind), call)

    def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """Every change after a resource version."""
        return self._kube.watch(scope, since=since)

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Make an object."""
        call = self._kube.create(kind, body, namespace)
        return await self._time_request(_Request("CREATE", "POST", kind, code=201), call)

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Change an object."""
        asked = _Request("PATCH", "PATCH", ref.kind, patch.subresource)
        return await self._time_request(asked, self._kube.patch(ref, patch))

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """Delete an object."""
        asked = _Request("DELETE", "DELETE", ref.kind)
        await self._time_request(asked, self._kube.delete(ref, how))

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """Evict a pod."""
        asked = _Request("CREATE", "POST", ref.kind, "eviction", 201)
        await self._time_request(asked, self._kube.evict(ref, how))

    async def _time_request(self, asked: _Request, call: Awaitable[_T]) -> _T:
        began = self._timer.elapsed_seconds()
        code = str(asked.code)
        try:
            return await call
        except ApiError as error:
            code = str(error.status or _NO_ANSWER)
            raise
        finally:
            self._meters.client_go_request_total.labels(code=code, method=asked.method).inc()
            self._meters.client_go_request_duration_seconds.labels(
                verb=asked.verb,
                group=asked.kind.group,
                version=asked.kind.version,
                kind=asked.kind.plural,
                subresource=asked.subresource,
            ).observe(self._timer.elapsed_seconds() - began)
