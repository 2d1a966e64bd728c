"""Everything that happened to pods, nodes, claims and budgets, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.controllers.cache import NODE, NODE_CLAIM, POD
from dovetail.kube.seam import Scope, WatchEventType
from dovetail.sim.controller_manager.budgets import BUDGET
from dovetail.testing.virtual_time import VirtualTime

_KINDS = (POD, NODE, NODE_CLAIM, BUDGET)


@dataclass(frozen=True)
class Happened:
    """An object as it became, or as it last was."""

    version: int
    at_seconds: float  # of the timer
    at: datetime  # by the clock
    object: api.Object
    is_gone: bool


class History:
    """A chronicler. What happened is complete whenever everybody else waits."""

    def __init__(self, kube: MemoryKube, time: VirtualTime) -> None:
        self._kube = kube
        self._time = time
        self._noted: list[Happened] = []

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in _KINDS:
                group.create_task(self._follow(kind))

    def __iter__(self) -> Iterator[Happened]:
        """Everything, in the order in which it happened."""
        return iter(sorted(self._noted, key=lambda one: one.version))

    async def _follow(self, kind: api.Kind) -> None:
        page = await self._kube.list(Scope(kind))
        since = page.resource_version
        while True:
            async for change in self._kube.watch(Scope(kind), since=since):
                since = change.resource_version
                if change.type is WatchEventType.BOOKMARK:
                    continue
                self._noted.append(
                    Happened(
                        int(since),
                        self._time.elapsed_seconds(),
                        self._time.now(),
                        api.decode(kind.wire_type, change.object),
                        change.type is WatchEventType.DELETED,
                    )
                )
