"""Which of many selectors mean an object with these labels? Without asking each of them.

Most selectors name some value of some label. They are looked up by it; the few that do not are
asked one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from dovetail.model.topology import LabelSelector

T = TypeVar("T")
_Listed = tuple[int, LabelSelector, T]


class Selectors(Generic[T]):
    """Things with a selector each, found by labels, in the order in which they were given."""

    def __init__(self, given: Iterable[tuple[LabelSelector, T]]) -> None:
        self._by_label: dict[tuple[str, str], list[_Listed[T]]] = {}
        self._others: list[_Listed[T]] = []
        for number, (selector, thing) in enumerate(given):
            for home in self._homes(selector):
                home.append((number, selector, thing))

    def _homes(self, selector: LabelSelector) -> list[list[_Listed[T]]]:
        """Where it is found; nowhere if it selects nothing."""
        if selector.nothing:
            return []
        named = (one for one in selector.expressions if one.values and not one.complement)
        first = next(named, None)
        if first is None:
            return [self._others]
        return [self._by_label.setdefault((first.key, value), []) for value in first.values]

    def matching(self, labels_by_key: Mapping[str, str]) -> list[T]:
        """The things whose selector means an object with these labels."""
        likely = list(self._others)
        for label in labels_by_key.items():
            likely += self._by_label.get(label, ())
        found = [one for one in likely if one[1].matches(labels_by_key)]
        if len(found) > 1:
            found.sort(key=lambda one: one[0])
        return [thing for _, _, thing in found]
