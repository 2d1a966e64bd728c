"""A process that may die at any call that it makes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.doubles.troubled_kube import ApiCall, Trouble, When, no_trouble

_MOST_CALLS = 5_000  # of one process, in any scenario: more is a loop that does not end

Troubles = Callable[[ApiCall], Trouble | None]


class Mortal:
    """A process's life: counts its calls to API and cloud, and ends at one of them, either before
    it has reached the server or after that, before the answer is read. From then on nothing that
    the process does is heard.
    """

    def __init__(self, dies_at: int | None = None, when: When = When.BEFORE) -> None:
        self.calls: list[ApiCall] = []
        self.trouble: Troubles = no_trouble
        self.ended = asyncio.Event()
        self._dies_at = dies_at
        self._when = when

    def begin_counting(self, dies_at: int | None, when: When) -> None:
        """Forget the calls so far; the process dies at this one, counted from now."""
        self.calls = []
        self._dies_at, self._when = dies_at, when

    def end(self) -> None:
        """Now."""
        self.ended.set()

    def meet(self, call: ApiCall) -> Trouble | None:
        """What happens to a call."""
        if self.ended.is_set():
            return Trouble(asyncio.CancelledError())
        self.calls.append(call)
        assert len(self.calls) < _MOST_CALLS, f"a loop that does not end: {self.calls[-20:]}"
        if len(self.calls) == self._dies_at:
            self.end()
            return Trouble(asyncio.CancelledError(), self._when)
        return self.trouble(call)

    def meet_uncounted(self, _: ApiCall) -> Trouble | None:
        """Events are told and the lease is renewed as long as the process lives."""
        return Trouble(asyncio.CancelledError()) if self.ended.is_set() else None
