"""Streams changes to the page as server-sent events: everything once, then what changes.

One look serves everybody who watches; nobody watching, nobody looks. A page that does not keep up
is told everything again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec
from aiohttp import web

from dovetail.model.snapshot import Snapshot
from dovetail.web.dashboard.lookout import Lookout, PageUpdate

_LOOKS_EVERY_SECONDS: Final = 0.4
_RESTS_SECONDS: Final = 5.0  # a sample now and then, also while nobody watches
_BEHIND: Final = 8  # changes that a page may be behind
_PULSE_SECONDS: Final = 15.0
_HEADERS: Final = {"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}
View = Callable[[], tuple[Snapshot, datetime]]


class Stream:
    """Looks for all who watch, and tells them."""

    def __init__(self, lookout: Lookout, view: View) -> None:
        self.lookout = lookout
        self._view = view
        self._watchers: set[_Watcher] = set()
        self._has_come = asyncio.Event()

    async def run(self) -> None:
        """Look until cancelled; real time, whatever time the cluster has."""
        while True:
            self._look()
            self._has_come.clear()
            pause = _LOOKS_EVERY_SECONDS if self._watchers else _RESTS_SECONDS
            try:
                await asyncio.wait_for(self._has_come.wait(), pause)
            except TimeoutError:
                continue

    def _look(self) -> None:
        snapshot, now = self._view()
        text = _event(self.lookout.look(snapshot, now))
        for watcher in self._watchers:
            watcher.tell(text)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Tell a page what happens for as long as it listens."""
        response = web.StreamResponse(headers=_HEADERS)
        await response.prepare(request)
        watcher = _Watcher()
        self._watchers.add(watcher)
        self._has_come.set()
        try:
            while True:
                await response.write(await self._next(watcher))
        except (ConnectionResetError, asyncio.CancelledError):
            return response
        finally:
            self._watchers.discard(watcher)

    async def _next(self, watcher: _Watcher) -> bytes:
        if watcher.is_lost:
            whole = self.lookout.whole()
            if whole is not None:
                watcher.clear()
                return _event(whole)
        try:
            return await asyncio.wait_for(watcher.queue.get(), _PULSE_SECONDS)
        except TimeoutError:
            return b": still here\n\n"


class _Watcher:
    """One page: what it has not been told yet."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes] = asyncio.Queue(_BEHIND)
        self.is_lost = True  # it needs to be told everything

    def tell(self, text: bytes) -> None:
        if self.queue.full():
            self.is_lost = True
        else:
            self.queue.put_nowait(text)

    def clear(self) -> None:
        """It is told everything now, so what waited is old."""
        self.is_lost = False
        while not self.queue.empty():
            self.queue.get_nowait()


def _event(change: PageUpdate) -> bytes:
    return b"data: " + msgspec.json.encode(change) + b"\n\n"
