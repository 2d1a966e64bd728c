"""Which of many selectors mean an object with these labels? Without asking each of them.

Most selectors name some value of some label. They are looked up by it; the few that do not are
asked one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from dovetail.model.topology import LabelSelector

T = TypeVar("T")
_Listed = tuple[int, LabelSelector | None, T]  # None: found by all that it asks


class Selectors(Generic[T]):
    """Things with a selector each, found by labels, in the order in which they were given."""

    def __init__(self, given: Iterable[tuple[LabelSelector, T]]) -> None:
        self._by_label: dict[tuple[str, str], list[_Listed[T]]] = {}
        self._keys: dict[str, None] = {}
        self._others: list[_Listed[T]] = []
        for number, (selector, thing) in enumerate(given):
            if not selector.nothing:
                self._add(number, selector, thing)

    def _add(self, number: int, selector: LabelSelector, thing: T) -> None:
        named = (one for one in selector.expressions if one.values and not one.complement)
        first = next(named, None)
        if first is None:
            self._others.append((number, selector, thing))
            return
        self._keys[first.key] = None
        rest = selector if len(selector.expressions) > 1 else None
        for value in first.values:
            self._by_label.setdefault((first.key, value), []).append((number, rest, thing))

    def matching(self, labels_by_key: Mapping[str, str]) -> list[T]:
        """The things whose selector means an object with these labels."""
        likely = list(self._others)
        for key in self._keys:
            value = labels_by_key.get(key)
            if value is not None:
                likely += self._by_label.get((key, value), ())
        if not likely:
            return []
        found = [one for one in likely if one[1] is None or one[1].matches(labels_by_key)]
        if len(found) > 1:
            found.sort(key=lambda one: one[0])
        return [thing for _, _, thing in found]
