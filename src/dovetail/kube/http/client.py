"""Implements the seam over HTTP, for a real API server.

async with HttpKube(access, world) as kube:
    page = await kube.list(Scope(pods), limit=500)

Paths and queries are spelled as Kubernetes spells them. A line of a watch may come in many chunks
and a chunk may hold many lines; every byte is looked at once and copied at most twice, however they
fall.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Final, Self
from urllib.parse import quote, urlencode

import msgspec

from dovetail import api
from dovetail.kube.errors import UnavailableError
from dovetail.kube.http import answers, retry
from dovetail.kube.http.plugin import Access
from dovetail.kube.http.retry import Repeat
from dovetail.kube.http.transport import HttpSettings, Request, Transport, World
from dovetail.kube.seam import Body, Deletion, Json, Page, Patch, PatchType, Ref, Scope, WatchEvent

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
        request = Request("GET", single(ref), Repeat.FREELY, is_urgent=_is_urgent(ref.kind))
        return await self._transport.answer(request, answers.object_of)

    async def version(self) -> str:
        """The version of the server, such as `v1.35.2`."""
        request = Request("GET", "/version", Repeat.FREELY)
        return await self._transport.answer(request, answers.version_of)

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects, in the order of their keys; `limit` 0 means all at once."""
        path = listing(scope, limit=limit, token=token)
        return await self._transport.answer(Request("GET", path, Repeat.FREELY), answers.page_of)

    async def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """Every change after a resource version, until the server ends it or falls silent.

        Raises GoneError when that version is too old: list again.
        """
        span = self._settings.shortest_watch_seconds * (1 + self._chance())
        path = watching(scope, since=since, timeout_seconds=max(1, round(span)))
        async with self._transport.stream(Request("GET", path, Repeat.FREELY)) as chunks:
            async for line in lines(chunks):
                yield answers.change_of(line)

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Make an object. Raises AlreadyExistsError, InvalidError."""
        request = Request(
            "POST",
            collection(kind, namespace) + query({"fieldManager": MANAGER}),
            Repeat.ONCE,
            msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.name, **body}),
            is_urgent=_is_urgent(kind),
        )
        return await self._transport.answer(request, answers.object_of)

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Change an object. A resource version in the patch must match, else ConflictError."""
        request = Request(
            "PATCH",
            patching(ref, patch),
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
            "DELETE", single(ref), retry.repeat_of_deletion(how), msgspec.json.encode(options)
        )
        await self._transport.answer(request, _ignore)

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
            single(ref, "eviction"),
            retry.repeat_of_eviction(how),
            msgspec.json.encode(eviction),
        )
        await self._transport.answer(request, _ignore)


def _is_urgent(kind: api.Kind) -> bool:
    """A lease that waits behind thousands of evictions would be lost."""
    return kind.group == _LEASES


def _ignore(_: bytes) -> None:
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


LONGEST_LINE_BYTES: Final = 64 << 20  # objects are a few MB at most


async def lines(
    chunks: AsyncIterator[bytes], longest_bytes: int = LONGEST_LINE_BYTES
) -> AsyncIterator[bytes]:
    """Every line that is not blank. Raises UnavailableError if the stream ends within one."""
    result: list[bytes] = []
    n_held = 0
    async for chunk in chunks:
        head, *ends = chunk.split(b"\n")
        result.append(head)
        n_held += len(head)
        if n_held > longest_bytes:
            msg = f"watching: an event is longer than {longest_bytes} bytes"
            raise UnavailableError(0, "", msg)
        for tail in ends:
            line = b"".join(result)
            result, n_held = [tail], len(tail)
            if line.strip():
                yield line
    if b"".join(result).strip():
        msg = "watching: the stream was cut within an event"
        raise UnavailableError(0, "", msg)


def collection(kind: api.Kind, namespace: str = "") -> str:
    """All objects of a kind, of one namespace or of all."""
    root = f"/apis/{kind.group}" if kind.group else "/api"
    within = f"/namespaces/{_segment(namespace)}" if namespace and kind.is_namespaced else ""
    return f"{root}/{kind.version}{within}/{kind.plural}"


def single(ref: Ref, subresource: str = "") -> str:
    """One object, or a part of it."""
    path = f"{collection(ref.kind, ref.namespace)}/{_segment(ref.name)}"
    return f"{path}/{_segment(subresource)}" if subresource else path


def _segment(name: str) -> str:
    return quote(name, safe="")


def query(parameters: Mapping[str, str]) -> str:
    """The query with its question mark, without what is empty; nothing if all is."""
    given = {key: value for key, value in parameters.items() if value}
    return "?" + urlencode(given, quote_via=quote) if given else ""


def listing(scope: Scope, *, limit: int, token: str) -> str:
    """Path and query of one page."""
    parameters = {**_selectors(scope), "limit": str(limit) if limit else "", "continue": token}
    return collection(scope.kind, scope.namespace) + query(parameters)


def watching(scope: Scope, *, since: str, timeout_seconds: int) -> str:
    """Path and query of a watch that the server ends by itself; without a version to go on from,
    of one that streams everything first.
    """
    parameters = {
        **_selectors(scope),
        "watch": "1",
        "resourceVersion": since,
        "sendInitialEvents": "" if since else "true",
        "resourceVersionMatch": "" if since else "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(timeout_seconds),
    }
    return collection(scope.kind, scope.namespace) + query(parameters)


def _selectors(scope: Scope) -> dict[str, str]:
    return {"labelSelector": scope.labels, "fieldSelector": scope.fields}


def patching(ref: Ref, patch: Patch) -> str:
    """Path and query of a patch. Only server-side apply may be forced."""
    is_forced = patch.force and patch.type is PatchType.APPLY
    parameters = {"fieldManager": patch.manager, "force": "true" if is_forced else ""}
    return single(ref, patch.subresource) + query(parameters)
