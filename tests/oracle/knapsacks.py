"""Can pods that fit a node together be worth more than so much? Answered exactly, in integers.

Kinds of pods are taken one after another, in every number, unless an upper bound shows that what
follows is not worth enough. The bounds come from tables: one resource is counted on a grid, what
pods take of the others is paid for at prices that a linear program suggests. Any prices give a
true bound, so that nothing depends on the program being right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any, Final

import highspy
import numpy as np
import numpy.typing as npt

MOST_STEPS: Final = 200_000
_CELLS: Final = 2048
_SHIFT: Final = 20  # prices of resources are fractions of 2^20
_WIDE: Final = 2**61
_ROUNDING: Final = 1e-6  # of the limit: what the last resort cannot see


@dataclass(frozen=True)
class PodKind:
    """Pods that nothing tells apart: what one asks for and is worth, how many there are."""

    asked: tuple[int, ...]
    value: int
    count: int
    apart: frozenset[int] = frozenset()  # kinds that it never shares a node with, perhaps its own


@dataclass(frozen=True)
class _Table:
    """Upper bounds: a row for the kinds from each place on, a cell for each amount that is free."""

    exact: int
    unit: int
    prices: tuple[int, ...]
    rows: npt.NDArray[Any]
    scale: int

    def bound(self, place: int, free: Sequence[int]) -> int:
        cell = min(free[self.exact] // self.unit, self.rows.shape[1] - 1)
        paid = sum(each * left for each, left in zip(self.prices, free, strict=True) if each)
        return int((self.rows[place, cell] + (self.scale * paid >> _SHIFT)) // self.scale)


def is_worth_more(
    kinds: Sequence[PodKind], room: Sequence[int], limit: int, *, steps: int = MOST_STEPS
) -> bool:
    """Whether some of these pods fit the room together and are worth more than the limit.

    Where the search takes more than so many steps, an integer program answers instead.
    """
    fitting = [(kind, _most(kind, place, room)) for place, kind in enumerate(kinds)]
    order = sorted(
        (place for place, (kind, most) in enumerate(fitting) if most > 0 and kind.value > 0),
        key=lambda place: (-_size(kinds[place], room), place),
    )
    if sum(fitting[place][1] * kinds[place].value for place in order) <= limit:
        return False
    search = _Search([(place, *fitting[place]) for place in order], tuple(room), limit, steps)
    try:
        return search.finds_more()
    except _TooLongError:
        return _might_be_worth_more(search)


def _most(kind: PodKind, place: int, room: Sequence[int]) -> int:
    fits = [free // each for each, free in zip(kind.asked, room, strict=True) if each > 0]
    return min([kind.count, *fits, *([1] if place in kind.apart else [])])


def _size(kind: PodKind, room: Sequence[int]) -> Fraction:
    pairs = zip(kind.asked, room, strict=True)
    return max((Fraction(each, free) for each, free in pairs if each and free), default=Fraction(0))


class _TooLongError(Exception):
    """More steps than allowed."""


class _Search:
    """Depth first, over kinds in order of size."""

    def __init__(
        self, items: list[tuple[int, PodKind, int]], room: tuple[int, ...], limit: int, steps: int
    ) -> None:
        self.items, self.room, self.limit, self._left = items, room, limit, steps
        self._tables: list[_Table] = []
        self._seen: dict[tuple[int, tuple[int, ...], frozenset[int]], int] = {}
        apart = [kind.apart for _, kind, _ in items]
        self._matters = frozenset[int]().union(*apart) if apart else frozenset[int]()

    def finds_more(self) -> bool:
        """Whether anything is worth more than the limit."""
        self._tables = [_filled(self.items, self.room, way) for way in self._ways()]
        if self._bound(0, self.room) <= self.limit:
            return False
        return self._visit(0, 0, self.room, frozenset())

    def _ways(self) -> Iterator[tuple[int, list[int]]]:
        """For every scarce resource: it is exact, and the prices of the others."""
        prices = [int(one * 2**_SHIFT) for one in _suggested(self.items, self.room)]
        scarce = [r for r, each in enumerate(prices) if each] or [0]
        for exact in scarce:
            yield exact, [0 if r == exact else each for r, each in enumerate(prices)]

    def _visit(self, place: int, value: int, free: tuple[int, ...], used: frozenset[int]) -> bool:
        if value > self.limit:
            return True
        if place == len(self.items):
            return False
        key = (place, free, used)
        if self._seen.get(key, -1) >= value:
            return False
        self._seen[key] = value
        self._left -= 1
        if self._left < 0:
            raise _TooLongError
        number, kind, _ = self.items[place]
        for hope, count, left in sorted(self._options(place, free, used), reverse=True):
            if value + hope <= self.limit:
                return False
            more = used | {number} if count and number in self._matters else used
            if self._visit(place + 1, value + count * kind.value, left, more):
                return True
        return False

    def _options(
        self, place: int, free: tuple[int, ...], used: frozenset[int]
    ) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """For every count of a kind: what it and the following can be worth, and what is left."""
        _, kind, most = self.items[place]
        most = 0 if kind.apart & used else most
        for each, has in zip(kind.asked, free, strict=True):
            most = min(most, has // each) if each > 0 else most
        for count in range(most + 1):
            left = tuple(has - count * each for has, each in zip(free, kind.asked, strict=True))
            yield self._bound(place + 1, left) + count * kind.value, count, left

    def _bound(self, place: int, free: tuple[int, ...]) -> int:
        return min(table.bound(place, free) for table in self._tables)


def _filled(
    items: list[tuple[int, PodKind, int]], room: tuple[int, ...], way: tuple[int, list[int]]
) -> _Table:
    exact, prices = way
    asked = [kind.asked[exact] for _, kind, _ in items]
    most = min(room[exact], sum(each * n for each, (_, _, n) in zip(asked, items, strict=True)))
    unit = max(gcd(*asked), -(-most // (_CELLS - 1)), 1)
    total = sum(kind.value * n for _, kind, n in items)
    scale = max(1, min(1024, _WIDE // max(total, 1)))
    # Numbers that might not fit 64 bits are kept as Python's own.
    rows = np.zeros((len(items) + 1, most // unit + 1), dtype=object if total > _WIDE else np.int64)
    for place in range(len(items) - 1, -1, -1):
        _, kind, n = items[place]
        paid = sum(each * take for each, take in zip(prices, kind.asked, strict=True))
        gain = scale * kind.value - (scale * paid >> _SHIFT)
        _add(rows[place + 1], rows[place], (asked[place] // unit, gain, n))
    return _Table(exact, unit, tuple(prices), rows, scale)


def _add(before: npt.NDArray[Any], after: npt.NDArray[Any], kind: tuple[int, int, int]) -> None:
    """The best of what there was with up to so many more: in 1, 2, 4, ... at a time."""
    weight, gain, most = kind
    after[:] = before
    if gain <= 0:
        return
    if weight == 0:
        after += most * gain
        return
    step, most = 1, min(most, (len(after) - 1) // weight)
    while most > 0:
        count = min(step, most)
        shift = count * weight
        after[shift:] = np.maximum(after[shift:], after[:-shift] + count * gain)
        most, step = most - count, 2 * step


def _program(items: list[tuple[int, PodKind, int]], room: tuple[int, ...]) -> highspy.Highs:
    """max value . x with whole or fractional numbers of pods that fit the room."""
    model = highspy.Highs()  # type: ignore[no-untyped-call]  # no stubs for it
    for name, setting in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
        model.setOptionValue(name, setting)
    largest = max(kind.value for _, kind, _ in items)
    for place, (_, kind, most) in enumerate(items):
        model.addVar(0.0, float(most))
        model.changeColCost(place, -kind.value / largest)
    for resource, free in enumerate(room):
        taken = [place for place, (_, kind, _) in enumerate(items) if kind.asked[resource]]
        shares = [items[place][1].asked[resource] / max(free, 1) for place in taken]
        model.addRow(-highspy.kHighsInf, 1.0, len(taken), np.array(taken, np.int32), shares)
    return model


def _suggested(items: list[tuple[int, PodKind, int]], room: tuple[int, ...]) -> list[float]:
    """What a unit of each resource is worth, if pods could be cut."""
    model = _program(items, room)
    model.run()
    largest = max(kind.value for _, kind, _ in items)
    duals = model.getSolution().row_dual
    return [
        max(0.0, -dual) * largest / max(free, 1) for dual, free in zip(duals, room, strict=True)
    ]


def _might_be_worth_more(search: _Search) -> bool:
    """The same by an integer program, in floating point: true to a millionth of the limit."""
    model = _program(search.items, search.room)
    numbers = {number: place for place, (number, _, _) in enumerate(search.items)}
    for place, (_, kind, _) in enumerate(search.items):
        model.changeColIntegrality(place, highspy.HighsVarType.kInteger)
        for other in kind.apart:
            if other in numbers and numbers[other] > place:
                pair = [place, numbers[other]]
                # One of the two has none: x / most + y / most <= 1 would be weaker, but as true.
                shares = [1.0 / search.items[one][2] for one in pair]
                model.addRow(-highspy.kHighsInf, 1.0, 2, np.array(pair, np.int32), shares)
    model.run()
    largest = max(kind.value for _, kind, _ in search.items)
    proven = -model.getInfo().mip_dual_bound * largest
    return bool(proven > search.limit * (1 + _ROUNDING))
