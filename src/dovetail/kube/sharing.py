"""How do 150,000 objects that say the same thing hold it once? By tables of what was met lately.

A table is bounded: what has not been met for long is forgotten, and held a second time if it comes
back. So a table costs little even where everything differs, and never outgrows what lives.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """One of each, by key, of about `capacity` that were met last."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._recent: dict[Hashable, T] = {}
        self._older: dict[Hashable, T] = {}

    def __len__(self) -> int:
        return len(self._recent) + len(self._older)

    def get(self, key: Hashable) -> T | None:
        """What is held under this key."""
        held = self._recent.get(key)
        if held is None:
            held = self._older.pop(key, None)
            if held is not None:
                self.put(key, held)
        return held

    def put(self, key: Hashable, value: T) -> None:
        """Hold a value; the older half makes room when the other is full."""
        if len(self._recent) >= self._capacity:
            self._older, self._recent = self._recent, {}
        self._recent[key] = value

    def equal(self, key: Hashable, value: T) -> T:
        """The value first put under this key, if it is equal; else the one given."""
        held = self.get(key)
        if held is None:
            self.put(key, value)
            return value
        return held if held == value else value
