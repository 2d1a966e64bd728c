"""What does the suite need of a server besides the seam? As little as possible.

A server over the network stands beside `MemoryServer` by opening a client. It runs kube-apiserver
with the custom resource definitions, and of the controllers garbage collection and namespaces:
laws about budgets say themselves what the disruption controller would have counted.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol

from dovetail.apiserver import MemoryKube
from dovetail.kube.seam import Kube

_PATIENCE = 10  # seconds; only a law that is broken waits for so long


class Server(Protocol):
    """An API server whose laws are tested."""

    def open(self) -> AbstractAsyncContextManager[Kube]:
        """Begin to talk to it."""
        ...

    async def settle(self) -> None:
        """Give the cluster's own controllers a chance to act."""
        ...


class StoppedClock:
    """Shows the same moment until it is set forward."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self._now += by


class MemoryServer:
    """The server in this process."""

    def __init__(self) -> None:
        self.clock = StoppedClock()
        self.kube = MemoryKube(self.clock)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Kube]:
        """Begin to talk to it."""
        yield self.kube

    async def settle(self) -> None:
        """Give the cluster's own controllers a chance to act."""
        self.kube.collect_garbage()


class Names:
    """Names that no other law uses, since a real server remembers."""

    def __init__(self, law: str) -> None:
        self._law = law
        self._numbers = itertools.count(1)

    def fresh(self) -> str:
        """A name of one's own."""
        return f"{self._law}-{next(self._numbers)}"


async def eventually(server: Server, holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something holds that controllers bring about."""
    async with asyncio.timeout(_PATIENCE):
        while not await holds():
            await server.settle()
            await asyncio.sleep(0)
