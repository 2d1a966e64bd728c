"""Keeps the last few decisions in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from dovetail.model.plan import Plan
from dovetail.model.snapshot import Decision, Snapshot

_HELD: Final = 256


class RecentDecisions:
    """Adds decisions as a journal does, and forgets the oldest. What did not change between two of
    them is the same object, so that many cost little more than one.
    """

    def __init__(self, n_held: int = _HELD, first_number: int = 1) -> None:
        self._held: deque[Decision] = deque(maxlen=n_held)
        self._number = first_number

    def add(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        """Remember a decision."""
        self.keep(Decision(self._number, now, seconds, snapshot, plan))
        self._number += 1

    def keep(self, decision: Decision) -> None:
        """Remember a decision that has its number already."""
        self._held.append(decision)

    def numbered(self, number: int) -> Decision | None:
        """The decision of that number; None if it is forgotten."""
        return next((decision for decision in self._held if decision.number == number), None)

    def oldest_first(
        self, until: datetime | None = None, since: datetime | None = None
    ) -> Iterator[Decision]:
        """Every decision that is remembered as of now, or those up to a moment, or since one."""
        decisions = (decision for decision in self._held if until is None or decision.now <= until)
        return iter([decision for decision in decisions if since is None or decision.now >= since])

    def newest_first(self, until: datetime | None = None) -> Iterator[Decision]:
        """The same, the last one first."""
        return reversed(list(self.oldest_first(until)))

    def still(self) -> RecentDecisions:
        """What is remembered now, for somebody in another thread while more is added here."""
        copied = RecentDecisions(self._held.maxlen or _HELD, self._number)
        copied._held.extend(self._held)
        return copied
