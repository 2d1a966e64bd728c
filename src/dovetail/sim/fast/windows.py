"""Opens a batch window with a change, and decides when it closes.

It closes when no new pod has come for a while, at the latest after a longer one; where only nodes
or running pods have changed, it is open for longer still. Decisions about waiting pods need not
think about disruption each time: between two looks at it there may be a rest.

The agenda runs events in the order of their time, then in the order in which they were added.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import msgspec

from dovetail.model.plan import Plan


class Rhythm(msgspec.Struct, frozen=True, kw_only=True):
    """A window closes when no new pod has come for `idle`, at the latest after `longest`; where
    only nodes or running pods have changed, it is open for `calm`. Disruption is thought about once
    in `looks_every`, or more rarely: `rests_per_node` for each node that is there.
    """

    idle: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(seconds=10)
    calm: timedelta = timedelta(seconds=10)
    looks_every: timedelta = timedelta(0)
    rests_per_node: timedelta = timedelta(0)

    def rest(self, n_nodes: int) -> timedelta:
        """How long disruption is not thought about."""
        return max(self.looks_every, n_nodes * self.rests_per_node)


class Windows:
    """`decide` is told whether to think about disruption too, and says how many nodes there are."""

    def __init__(
        self, agenda: Agenda, rhythm: Rhythm, decide: Callable[[bool], tuple[Plan, int]]
    ) -> None:
        self._agenda = agenda
        self._rhythm = rhythm
        self._decide = decide
        self._opened_at: datetime | None = None
        self._last_at: datetime | None = None  # when a pod came that waits
        self._decides_at: datetime | None = None
        self._wakes_at: datetime | None = None
        self._rests_until = agenda.now

    def touch(self, *, is_waiting: bool) -> None:
        """Something has changed; perhaps a pod waits that did not."""
        now = self._agenda.now
        self._opened_at = self._opened_at or now
        if is_waiting:
            self._last_at = now
        at = self._closes_at(self._opened_at)
        if at != self._decides_at:
            self._decides_at = at
            self._agenda.at(at, partial(self._close, at))

    def _closes_at(self, opened_at: datetime) -> datetime:
        rhythm = self._rhythm
        if self._last_at is None:
            return max(opened_at + rhythm.calm, self._rests_until)
        at = min(self._last_at + rhythm.idle, opened_at + rhythm.longest)
        return max(at, self._agenda.now)

    def _close(self, at: datetime) -> None:
        if at not in (self._decides_at, self._wakes_at):
            return  # another moment was found better meanwhile
        now = self._agenda.now
        looks = now >= self._rests_until
        self._opened_at = self._last_at = self._decides_at = self._wakes_at = None
        plan, n_nodes = self._decide(looks)
        if looks:
            self._rests_until = now + self._rhythm.rest(n_nodes)
        self._wake(plan, now, looks=looks)

    def _wake(self, plan: Plan, now: datetime, *, looks: bool) -> None:
        """Plan the next decision, should no change bring it about sooner."""
        wakes = [] if looks else [self._rests_until]
        if plan.wake_at is not None:
            wakes.append(max(plan.wake_at, self._rests_until) if looks else plan.wake_at)
        if wakes:
            self._wakes_at = max(min(wakes), now + self._rhythm.idle)
            self._agenda.at(self._wakes_at, partial(self._close, self._wakes_at))


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
