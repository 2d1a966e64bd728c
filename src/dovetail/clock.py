"""What time is it? Asked once per decision, at the edge, of a clock that is handed in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)  # noqa: TID251  the one place that reads the machine's clock
