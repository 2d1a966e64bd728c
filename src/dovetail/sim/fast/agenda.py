"""Runs events in the order of their time, then in the order in which they were added."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import datetime, timedelta

Deed = Callable[[], None]


class Agenda:
    """Virtual time, which moves from one event to the next."""

    def __init__(self, start: datetime) -> None:
        self.now = start
        self._start = start
        self._events: list[tuple[datetime, int, Deed]] = []
        self._n_planned = 0

    @property
    def elapsed(self) -> timedelta:
        """How long it has been since the beginning."""
        return self.now - self._start

    def at(self, moment: datetime, do: Deed) -> None:
        """Do this then; at once if that has passed."""
        self._n_planned += 1
        heapq.heappush(self._events, (max(moment, self.now), self._n_planned, do))

    def after(self, span: timedelta, do: Deed) -> None:
        """Do this so much later."""
        self.at(self.now + span, do)

    def since_start(self, span: timedelta, do: Deed) -> None:
        """Do this so long after the beginning."""
        self.at(self._start + span, do)

    def run_until(self, end: datetime) -> None:
        """Let everything happen up to a moment."""
        while self._events and self._events[0][0] <= end:
            self.now, _, do = heapq.heappop(self._events)
            do()
        self.now = end
