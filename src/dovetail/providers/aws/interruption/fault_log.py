"""Reports what cannot be read or asked at most once a minute, for each sort of trouble."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from dovetail.clock import Timer
from dovetail.cloud.context import ProviderLog

EVERY: Final = timedelta(minutes=1)


class FaultLog:
    """Warnings, each sort of them once a minute, with how many were left out since."""

    def __init__(self, log: ProviderLog, timer: Timer) -> None:
        self._log = log
        self._timer = timer
        self._told_at: dict[str, float] = {}  # by message
        self._n_left_out: dict[str, int] = {}

    def warn(self, message: str, /, **fields: object) -> None:
        """Report it, unless the same message was reported less than a minute ago."""
        now = self._timer.elapsed_seconds()
        told_at = self._told_at.get(message)
        if told_at is not None and now - told_at < EVERY.total_seconds():
            self._n_left_out[message] = self._n_left_out.get(message, 0) + 1
            return
        self._told_at[message] = now
        n_left_out = self._n_left_out.pop(message, 0)
        more = {"more_since": n_left_out} if n_left_out else {}
        self._log.warning(message, **fields, **more)
