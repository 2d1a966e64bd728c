"""Implements the seam over HTTP, for a real API server.

async with HttpKube(access, world) as kube:
    page = await kube.list(Scope(pods), limit=500)
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, Self

import msgspec

from dovetail import api
from dovetail.kube.http import answers, paths, retry, streams
from dovetail.kube.http.access import Access
from dovetail.kube.http.retry import Repeat
from dovetail.kube.http.transport import HttpSettings, Request, Transport, World
from dovetail.kube.seam import Body, Deletion, Json, Page, Patch, Ref, Scope, WatchEvent

MANAGER: Final = "dovetail"
_LEASES: Final = "coordination.k8s.io"


class HttpKube:
    """A Kubernetes API over HTTP; implements `seam.Kube`. Use it as a context manager."""

    def __init__(self, access: Access, world: World, settings: HttpSettings | None = None) -> None:
        self._settings = settings or HttpSettings()
        self._transport = Transport(access, world, self._settings)
        self._chance = world.chance

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._transport.__aexit__(*raised)

    async def get(self, ref: Ref) -> msgspec.Raw:
        """One object. Raises NotFoundError."""
        request = Request("GET", paths.single(ref), Repeat.FREELY, is_urgent=_is_urgent(ref.kind))
        return await self._transport.answer(request, answers.object_of)

    async def version(self) -> str:
        """The version of the server, such as `v1.35.2`."""
        request = Request("GET", paths.VERSION, Repeat.FREELY)
        return await self._transport.answer(request, answers.version_of)

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects, in the order of their keys; `limit` 0 means all at once."""
        path = paths.listing(scope, limit=limit, token=token)
        return await self._transport.answer(Request("GET", path, Repeat.FREELY), answers.page_of)

    async def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """Every change after a resource version, until the server ends it or falls silent.

        Raises GoneError when that version is too old: list again.
        """
        span = self._settings.shortest_watch_seconds * (1 + self._chance())
        path = paths.watching(scope, since=since, timeout_seconds=max(1, round(span)))
        async with self._transport.stream(Request("GET", path, Repeat.FREELY)) as chunks:
            async for line in streams.lines(chunks):
                yield answers.change_of(line)

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Make an object. Raises AlreadyExistsError, InvalidError."""
        request = Request(
            "POST",
            paths.collection(kind, namespace) + paths.query({"fieldManager": MANAGER}),
            Repeat.ONCE,
            msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.name, **body}),
            is_urgent=_is_urgent(kind),
        )
        return await self._transport.answer(request, answers.object_of)

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Change an object. A resource version in the patch must match, else ConflictError."""
        request = Request(
            "PATCH",
            paths.patching(ref, patch),
            retry.repeat_of_patch(patch),
            msgspec.json.encode(patch.body),
            patch.type.value,
            _is_urgent(ref.kind),
        )
        return await self._transport.answer(request, answers.object_of)

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """Delete an object, or mark it as going while finalizers hold it. Raises NotFoundError."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", **_options(how)}
        request = Request(
            "DELETE",
            paths.single(ref),
            retry.repeat_of_deletion(how),
            msgspec.json.encode(options),
        )
        await self._transport.answer(request, _nothing)

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """Evict a pod. Raises TooManyRequestsError while a disruption budget forbids it."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": ref.name, "namespace": ref.namespace},
            "deleteOptions": _options(how),
        }
        request = Request(
            "POST",
            paths.single(ref, "eviction"),
            retry.repeat_of_eviction(how),
            msgspec.json.encode(eviction),
        )
        await self._transport.answer(request, _nothing)


def _is_urgent(kind: api.Kind) -> bool:
    """A lease that waits behind thousands of evictions would be lost."""
    return kind.group == _LEASES


def _nothing(_: bytes) -> None:
    """What is read of an answer that only says that it is done."""


def _options(how: Deletion) -> dict[str, Json]:
    options: dict[str, Json] = {"propagationPolicy": how.propagation.value}
    preconditions: dict[str, Json] = {"uid": how.uid, "resourceVersion": how.resource_version}
    given: dict[str, Json] = {key: value for key, value in preconditions.items() if value}
    if given:
        options["preconditions"] = given
    if how.grace_seconds is not None:
        options["gracePeriodSeconds"] = how.grace_seconds
    return options
