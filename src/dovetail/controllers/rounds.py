"""How is what decisions wish for written down beside everything else? In rounds, one after each.

Nobody waits for a round, and what a round does not get done is left to the next: wishes follow
from the cluster, and the next decision has them again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Rounds:
    """Calls `write` after each decision, never twice at a time."""

    def __init__(self, write: Callable[[], Awaitable[None]]) -> None:
        self._write = write
        self._has_decided = asyncio.Event()
        self._is_closing = False
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()

    def begin(self) -> None:
        """There is something to write."""
        self._has_decided.set()

    async def run(self) -> None:
        """Write after each decision, until cancelled."""
        while True:
            await self._has_decided.wait()
            if self._is_closing:
                return
            self._has_decided.clear()
            self._is_at_rest.clear()
            try:
                await self._write()
            finally:
                self._is_at_rest.set()

    async def finish(self) -> None:
        """Begin nothing new, and return when what was begun is done."""
        self._is_closing = True
        self._has_decided.set()
        await self._is_at_rest.wait()
