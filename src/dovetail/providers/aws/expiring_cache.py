"""Keeps values for a limited time, by a clock that is handed in."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from dovetail.clock import Clock

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class ExpiringCache(Generic[KeyT, ValueT]):
    """Values by key; each is forgotten when its time is up."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[KeyT, tuple[datetime, ValueT]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: KeyT) -> ValueT | None:
        """The value, unless it has expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] <= self._clock.now():
            del self._entries[key]
            return None
        return entry[1]

    def put(self, key: KeyT, value: ValueT, *, keep_for: timedelta) -> None:
        """Keep a value from now on."""
        now = self._clock.now()
        self._entries = {known: entry for known, entry in self._entries.items() if entry[0] > now}
        self._entries[key] = (now + keep_for, value)

    def drop(self, is_dropped: Callable[[KeyT], bool]) -> None:
        """Forget the values whose keys are chosen."""
        self._entries = {key: entry for key, entry in self._entries.items() if not is_dropped(key)}

    def current(self) -> dict[KeyT, ValueT]:
        """All values that have not expired."""
        now = self._clock.now()
        return {key: value for key, (until, value) in self._entries.items() if until > now}
