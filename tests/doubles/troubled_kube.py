"""Provides a Kubernetes API that fails wherever a test says so.

Every call is shown to `trouble` first. It may answer with an error to raise, either before anything
was done or after it was: the caller cannot tell which, as with a connection that breaks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from enum import StrEnum

import msgspec

from dovetail import api
from dovetail.kube.seam import Body, Deletion, Kube, Page, Patch, Ref, Scope, WatchEvent


class ApiCall(msgspec.Struct, frozen=True, gc=False):
    """A call to the API; `n` counts all of them from 1."""

    n: int
    verb: str
    kind: str
    name: str = ""
    subresource: str = ""

    @property
    def is_write(self) -> bool:
        """Whether it changes anything."""
        return self.verb in {"create", "patch", "delete", "evict"}


class When(StrEnum):
    """Whether the API has done what it was asked by the time that it fails."""

    BEFORE = "before"
    AFTER = "after"


class Trouble(msgspec.Struct, frozen=True):
    """What goes wrong with a call."""

    error: BaseException
    when: When = When.BEFORE


def no_trouble(_: ApiCall) -> None:
    """All is well."""


class TroubledKube:
    """An API in front of another one."""

    def __init__(
        self, kube: Kube, trouble: Callable[[ApiCall], Trouble | None] = no_trouble
    ) -> None:
        self.trouble = trouble
        self.n_calls = 0
        self._kube = kube

    async def get(self, ref: Ref) -> msgspec.Raw:
        """One object."""
        trouble = self._meet("get", ref.kind, ref.name)
        raw = await self._kube.get(ref)
        _fail_late(trouble)
        return raw

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects."""
        trouble = self._meet("list", scope.kind)
        page = await self._kube.list(scope, limit=limit, token=token)
        _fail_late(trouble)
        return page

    async def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """Every change; the call fails or not when it begins."""
        self._meet("watch", scope.kind)
        async for change in self._kube.watch(scope, since=since):
            yield change

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Make an object."""
        trouble = self._meet("create", kind, _name(body))
        made = await self._kube.create(kind, body, namespace)
        _fail_late(trouble)
        return made

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Change an object."""
        trouble = self._meet("patch", ref.kind, ref.name, patch.subresource)
        changed = await self._kube.patch(ref, patch)
        _fail_late(trouble)
        return changed

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """Delete an object."""
        trouble = self._meet("delete", ref.kind, ref.name)
        await self._kube.delete(ref, how)
        _fail_late(trouble)

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """Evict a pod."""
        trouble = self._meet("evict", ref.kind, ref.name)
        await self._kube.evict(ref, how)
        _fail_late(trouble)

    def _meet(self, verb: str, kind: api.Kind, name: str = "", sub: str = "") -> Trouble | None:
        """What is to go wrong later; what goes wrong at once is raised."""
        self.n_calls += 1
        trouble = self.trouble(ApiCall(self.n_calls, verb, kind.name, name, sub))
        if trouble is not None and trouble.when is When.BEFORE:
            raise trouble.error
        return trouble


def _fail_late(trouble: Trouble | None) -> None:
    if trouble is not None:
        raise trouble.error


def _name(body: Body) -> str:
    meta = body.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    return name if isinstance(name, str) else ""
