"""Provides an event loop that reports when all tasks are idle."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # a name that only type checkers know
    from _typeshed import FileDescriptorLike

_T = TypeVar("_T")


class _Selector(selectors.BaseSelector):
    """Waits for the outside, unless somebody waits for nothing else to be left to do."""

    def __init__(self) -> None:
        self._within = selectors.DefaultSelector()
        self.resting: list[asyncio.Future[None]] = []

    def register(
        self, fileobj: FileDescriptorLike, events: int, data: object = None
    ) -> selectors.SelectorKey:
        """As any selector."""
        return self._within.register(fileobj, events, data)

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        """As any selector."""
        return self._within.unregister(fileobj)

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        """As any selector."""
        return self._within.get_map()

    def close(self) -> None:
        """As any selector."""
        self._within.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What has come from the outside; a loop with nothing to do asks with time to spare."""
        is_idle = timeout is None or timeout > 0
        if not is_idle or not self.resting:
            return self._within.select(timeout)
        resting, self.resting = self.resting, []
        for item in resting:
            if not item.done():
                item.set_result(None)
        return []


class IdleLoop(asyncio.SelectorEventLoop):
    """An event loop that one can wait in until all others wait."""

    def __init__(self) -> None:
        self._told = _Selector()
        super().__init__(self._told)

    async def idle(self) -> None:
        """Return when nobody has anything to do but wait; whoever waits for the outside, waits."""
        resting = self.create_future()
        self._told.resting.append(resting)
        await resting


def run(main: Coroutine[None, None, _T]) -> _T:
    """Like asyncio.run, in such a loop."""
    with asyncio.Runner(loop_factory=IdleLoop) as runner:
        return runner.run(main)
