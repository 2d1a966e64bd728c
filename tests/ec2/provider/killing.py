"""Ends a process at any of its calls to AWS or Kubernetes, or holds it there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from dovetail import api
from dovetail.kube.seam import Body, Deletion, Kube, Page, Patch, Ref, Scope, WatchEvent
from dovetail.providers.aws.apis import AwsApis

Pass = Callable[[str], Awaitable[None]]


class Killed(BaseException):
    """The process is no more."""


class Kill:
    """Lets so many moments pass, one before and one after each call, and then ends the process."""

    def __init__(self, n_moments: int) -> None:
        self._n_left = n_moments
        self.is_dead = False
        self.passed: list[str] = []

    async def __call__(self, moment: str) -> None:
        """Go on, or die."""
        if self._n_left <= 0:
            self.is_dead = True
        if self.is_dead:
            raise Killed(moment)
        self._n_left -= 1
        self.passed.append(moment)


class KillAt:
    """Ends the process at the first moment of this name."""

    def __init__(self, moment: str) -> None:
        self._moment = moment
        self.is_dead = False

    async def __call__(self, moment: str) -> None:
        """Go on, or die."""
        if self.is_dead or moment == self._moment:
            self.is_dead = True
            raise Killed(moment)


class Hold:
    """Holds a process at one moment until it is let go."""

    def __init__(self, moment: str) -> None:
        self._moment = moment
        self.is_there = asyncio.Event()
        self.let_go = asyncio.Event()

    async def __call__(self, moment: str) -> None:
        """Wait, if it is that moment for the first time."""
        if moment == self._moment and not self.is_there.is_set():
            self.is_there.set()
            await self.let_go.wait()


class _Client:
    """A client of AWS whose calls pass through the moments."""

    def __init__(self, client: Any, at: Pass) -> None:
        self._client = client
        self._at = at

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name == "get_paginator":
            return lambda operation: _Paginator(found(operation), operation, self._at)

        async def call(**parameters: Any) -> Any:
            await self._at(f"before {name}")
            answer = await found(**parameters)
            await self._at(f"after {name}")
            return answer

        return call


class _Paginator:
    def __init__(self, paginator: Any, name: str, at: Pass) -> None:
        self._paginator = paginator
        self._name = name
        self._at = at

    async def paginate(self, **parameters: Any) -> AsyncIterator[Any]:
        await self._at(f"before {self._name}")
        async for page in self._paginator.paginate(**parameters):
            await self._at(f"after {self._name}")
            yield page


def interrupted_apis(apis: AwsApis, at: Pass) -> AwsApis:
    """The same clients, for a process that may end at any call."""
    clients: dict[str, Any] = {
        name: _Client(getattr(apis, name), at) for name in AwsApis.__dataclass_fields__
    }
    return AwsApis(**clients)


class InterruptedKube:
    """The same API, for a process that may end at any call."""

    def __init__(self, kube: Kube, at: Pass) -> None:
        self._kube = kube
        self._at = at

    async def get(self, ref: Ref) -> msgspec.Raw:
        """As the API behind it."""
        await self._at(f"before get {ref.kind.name}")
        found = await self._kube.get(ref)
        await self._at(f"after get {ref.kind.name}")
        return found

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """As the API behind it."""
        await self._at(f"before list {scope.kind.name}")
        found = await self._kube.list(scope, limit=limit, token=token)
        await self._at(f"after list {scope.kind.name}")
        return found

    def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """As the API behind it."""
        return self._kube.watch(scope, since=since)

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """As the API behind it."""
        await self._at(f"before create {kind.name}")
        made = await self._kube.create(kind, body, namespace)
        await self._at(f"after create {kind.name}")
        return made

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """As the API behind it."""
        await self._at(f"before patch {ref.kind.name} {ref.name}")
        changed = await self._kube.patch(ref, patch)
        await self._at(f"after patch {ref.kind.name} {ref.name}")
        return changed

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """As the API behind it."""
        await self._at(f"before delete {ref.kind.name}")
        await self._kube.delete(ref, how)
        await self._at(f"after delete {ref.kind.name}")

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """As the API behind it."""
        await self._kube.evict(ref, how)
