"""Remembers how much memory nodes really have, which is more exact than any estimate."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

_KEPT_FOR: Final = timedelta(days=60)

Key = tuple[str, str]  # instance type, and the images of the node class


class DiscoveredMemory:
    """The least memory that nodes of a type and image set have reported, for sixty days."""

    def __init__(self) -> None:
        self._seen: dict[Key, tuple[int, datetime]] = {}

    def see(self, key: Key, memory_bytes: int, now: datetime) -> None:
        """Take note of what a new node reports."""
        known = self.amounts(now).get(key, memory_bytes)
        self._seen[key] = (min(known, memory_bytes), now + _KEPT_FOR)

    def amounts(self, now: datetime) -> dict[Key, int]:
        """What is known now, in bytes, by type and image set."""
        self._seen = {key: entry for key, entry in self._seen.items() if entry[1] > now}
        return {key: amount for key, (amount, _) in sorted(self._seen.items())}
