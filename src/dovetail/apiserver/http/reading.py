"""Serves objects, lists and watches over HTTP, and errors as a Status.

Lists are sent in pieces, so that one of 150,000 pods costs little more memory than they do.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Mapping
from typing import Final

import msgspec
from aiohttp import web

from dovetail.apiserver import refusals
from dovetail.apiserver.http import tables
from dovetail.apiserver.http.kinds import Target
from dovetail.apiserver.http.tables import TablePrinter
from dovetail.clock import Clock
from dovetail.kube.errors import ApiError, TooManyRequestsError
from dovetail.kube.seam import Json, Kube, Patch, Scope, WatchEvent, WatchEventType

JSON_TYPE = "application/json"


def status_of(error: ApiError) -> dict[str, Json]:
    """The Status that says it."""
    told = error.details
    details: dict[str, Json] = msgspec.to_builtins(told) if told is not None else {}
    if isinstance(error, TooManyRequestsError):
        if error.retry_after is not None:
            details["retryAfterSeconds"] = math.ceil(error.retry_after.total_seconds())
        if error.cause:
            details.setdefault("causes", [{"reason": error.cause, "message": str(error)}])
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": str(error),
        "reason": error.reason,
        "details": details,
        "code": error.status,
    }


def refusal_response(error: ApiError) -> web.Response:
    """The whole answer."""
    body = status_of(error)
    headers: dict[str, str] = {}
    if isinstance(error, TooManyRequestsError) and error.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after.total_seconds()))
    return web.Response(
        body=msgspec.json.encode(body), status=error.status, headers=headers, content_type=JSON_TYPE
    )


_PIECE: Final = 200  # objects
_ANY_VERSION: Final = ("", "0")
_LONGEST_WATCH_SECONDS: Final = 1800.0
_INITIAL_END: Final = b"k8s.io/initial-events-end"
_TRUE: Final = ("true", "1")


class Reading:
    """Answers what is read."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock

    async def get(self, request: web.Request, target: Target) -> web.StreamResponse:
        """One object, or many, or what happens to them. Raises ApiError."""
        if not target.name:
            if request.query.get("watch") in _TRUE:
                return await self._watch(request, target)
            return await self._list(request, target)
        if target.subresource == "scale":  # to change nothing shows it
            return answer(await self._kube.patch(target.ref, Patch({}, subresource="scale")))
        if target.subresource not in ("", "status"):
            raise refusals.no_such_resource()
        raw = await self._kube.get(target.ref)
        if tables.is_wanted(request.headers.get("Accept", "")):
            return answer(self._tables(request, target).encode([raw]))
        return answer(raw)

    def _tables(self, request: web.Request, target: Target) -> TablePrinter:
        included = request.query.get("includeObject", "")
        return TablePrinter(target.offered, self._clock.now(), included)

    # ---- lists

    async def _list(self, request: web.Request, target: Target) -> web.StreamResponse:
        query = request.query
        limit = query.get("limit", "0")
        if not limit.isdigit():
            msg = f"limit: {limit!r} is no number"
            raise refusals.bad_request(msg)
        page = await self._kube.list(
            scope_of(target, query), limit=int(limit), token=query.get("continue", "")
        )
        meta: dict[str, Json] = {"resourceVersion": page.resource_version}
        if page.token:
            meta["continue"] = page.token
        if tables.is_wanted(request.headers.get("Accept", "")):
            return answer(self._tables(request, target).encode(page.items, meta))
        head = {
            "kind": f"{target.kind.name}List",
            "apiVersion": target.kind.api_version,
            "metadata": meta,
        }
        return await _in_pieces(request, msgspec.json.encode(head), page.items)

    # ---- watches

    async def _watch(self, request: web.Request, target: Target) -> web.StreamResponse:
        query = request.query
        scope = scope_of(target, query)
        since = query.get("resourceVersion", "")
        if since and not since.isdigit():
            msg = f"resourceVersion: Invalid value: {since!r}"
            raise refusals.bad_request(msg)
        await self._kube.list(scope, limit=1)  # selectors that cannot be read are refused at once
        sends_all = query.get("sendInitialEvents") in _TRUE
        changes = self._kube.watch(scope, since="" if sends_all else since)
        response = web.StreamResponse(headers={"Content-Type": JSON_TYPE})
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            async with asyncio.timeout(_seconds(query)):
                await self._tell(response, request, target, changes)
        except TimeoutError:
            pass
        await response.write_eof()
        return response

    async def _tell(
        self,
        response: web.StreamResponse,
        request: web.Request,
        target: Target,
        changes: AsyncIterator[WatchEvent],
    ) -> None:
        """Write every change as a line; what goes wrong is one, too."""
        wants_marks = request.query.get("allowWatchBookmarks") in _TRUE
        sends_all = request.query.get("sendInitialEvents") in _TRUE
        as_table = tables.is_wanted(request.headers.get("Accept", ""))
        try:
            async for change in changes:
                if change.type is WatchEventType.BOOKMARK:
                    is_end = _INITIAL_END in bytes(change.object)
                    if not wants_marks or (is_end and not sends_all):
                        continue
                shown: bytes | msgspec.Raw = change.object
                if as_table and change.type is not WatchEventType.BOOKMARK:
                    shown = self._tables(request, target).encode([change.object])
                await response.write(
                    b'{"type":"%b","object":%b}\n' % (change.type.value.encode(), bytes(shown))
                )
        except ApiError as error:
            event = {"type": "ERROR", "object": status_of(error)}
            await response.write(msgspec.json.encode(event) + b"\n")


def scope_of(target: Target, query: Mapping[str, str]) -> Scope:
    """Which objects are meant."""
    return Scope(
        target.kind,
        target.namespace,
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
    )


def answer(
    body: bytes | msgspec.Raw, status: int = 200, warnings: tuple[str, ...] = ()
) -> web.Response:
    """An object as it is, with warnings that clients show to people."""
    response = web.Response(body=bytes(body), status=status, content_type=JSON_TYPE)
    for warning in warnings:
        response.headers.add("Warning", f"299 - {msgspec.json.encode(warning).decode()}")
    return response


def _seconds(query: Mapping[str, str]) -> float:
    asked = query.get("timeoutSeconds", "")
    return min(float(asked), _LONGEST_WATCH_SECONDS) if asked.isdigit() else _LONGEST_WATCH_SECONDS


async def _in_pieces(
    request: web.Request, head: bytes, items: tuple[msgspec.Raw, ...]
) -> web.StreamResponse:
    """A list, some objects at a time."""
    response = web.StreamResponse(headers={"Content-Type": JSON_TYPE})
    response.enable_chunked_encoding()
    await response.prepare(request)
    lead = head[:-1] + b',"items":['
    for start in range(0, len(items), _PIECE):
        await response.write(lead + b",".join(map(bytes, items[start : start + _PIECE])))
        lead = b","
    await response.write((b"" if items else lead) + b"]}")
    await response.write_eof()
    return response
