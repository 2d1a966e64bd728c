"""A page whose cluster a test makes up, and changes while somebody looks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

from dovetail.errors import InputError
from dovetail.model.snapshot import Snapshot
from dovetail.present.explanation import Explanation
from dovetail.web.dashboard.lookout import Lookout
from dovetail.web.dashboard.server import DashboardContent, ListenAddress, serving
from dovetail.web.dashboard.stream import Stream

START = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
_PATIENCE_SECONDS = 30


class Stage:
    """What is shown; `cluster` and `now` may be set at any time."""

    def __init__(self, cluster: Snapshot) -> None:
        self.cluster = cluster
        self.now = START
        self.lookout = Lookout()
        self.port = 0
        self._is_up = Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = asyncio.Event()

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.port}/"

    def passes(self, span: timedelta) -> None:
        """Let time pass."""
        self.now += span

    def tell(self, title: str) -> None:
        """A line of the timeline."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self.lookout.note, self.now, title)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Serve it; again on the same port when that is done a second time."""
        self._is_up.clear()
        thread = Thread(target=lambda: asyncio.run(self._serve()))
        thread.start()
        assert self._is_up.wait(_PATIENCE_SECONDS)
        try:
            yield
        finally:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._ending.set)
            thread.join(_PATIENCE_SECONDS)

    async def _serve(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        stream = Stream(self.lookout, lambda: (self.cluster, self.now))
        async with (
            serving(DashboardContent(stream, _explain), ListenAddress(self.port)) as self.port,
            asyncio.TaskGroup() as group,
        ):
            looking = group.create_task(stream.run())
            self._is_up.set()
            await self._ending.wait()
            looking.cancel()


async def _explain(what: str) -> Explanation:
    msg = f"nobody answers about {what} here"
    raise InputError(msg)
