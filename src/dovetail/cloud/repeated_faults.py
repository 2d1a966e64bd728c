"""Counts faults that repeat themselves, so that a log has one line a minute for each."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dovetail.clock import Clock

QUIET_FOR: Final = timedelta(minutes=1)


class RepeatedFaults:
    """When each fault was last reported, and how often it has happened since."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reported_at: dict[str, datetime] = {}
        self._n_unreported: dict[str, int] = {}

    def n_to_report(self, fault: str) -> int:
        """How often the fault has happened since it was last reported, this time included; 0 if
        that was less than a minute ago.
        """
        now = self._clock.now()
        n_times = self._n_unreported.get(fault, 0) + 1
        reported_at = self._reported_at.get(fault)
        if reported_at is not None and timedelta(0) <= now - reported_at < QUIET_FOR:
            self._n_unreported[fault] = n_times
            return 0
        self._forget_old(now)
        self._reported_at[fault] = now
        self._n_unreported.pop(fault, None)
        return n_times

    def _forget_old(self, now: datetime) -> None:
        """Faults of long ago begin anew; also those of the future, if the clock was set."""
        old = [fault for fault, at in self._reported_at.items() if abs(now - at) >= 2 * QUIET_FOR]
        for fault in old:
            del self._reported_at[fault]
            self._n_unreported.pop(fault, None)
