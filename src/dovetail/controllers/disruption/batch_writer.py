"""Runs one batch of writes after each decision, beside everything else.

Nothing waits for a batch, and what a batch does not get done is left to the next: what is to be
written follows from the cluster, and the next decision has it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class BatchWriter:
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
