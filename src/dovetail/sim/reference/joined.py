"""What satisfies two sets of requirements? Worked out once: the same two give the same object."""

from __future__ import annotations

from dovetail.model.requirements import Requirement, Requirements

_Pair = tuple[Requirements, Requirements | None]


class Joined:
    """Requirements joined with others. What is equal is one object, so that menus know it again."""

    def __init__(self) -> None:
        self._interned: dict[Requirements, Requirements] = {}
        self._both: dict[tuple[int, int], tuple[Requirements, _Pair]] = {}
        self._narrowed: dict[tuple[int, str, frozenset[str]], _Pair] = {}

    def both(self, ours: Requirements, theirs: Requirements) -> Requirements | None:
        """What satisfies both; None if nothing does."""
        if not theirs:
            return ours
        key = (id(ours), id(theirs))
        known = self._both.get(key)
        if known is None:
            found = None
            if ours.compatible(theirs, allow_undefined=True):
                found = self._one(ours & theirs)
            known = self._both[key] = (ours, (theirs, found))
        return known[1][1]

    def narrowed(self, ours: Requirements, key: str, values: frozenset[str]) -> Requirements | None:
        """With only these values for a key; None if none is left."""
        where = (id(ours), key, values)
        known = self._narrowed.get(where)
        if known is None:
            both = ours & (Requirement(key, False, values),)
            known = self._narrowed[where] = (ours, self._one(both) if both[key] else None)
        return known[1]

    def _one(self, found: Requirements) -> Requirements:
        return self._interned.setdefault(found, found)
