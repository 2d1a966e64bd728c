"""Units: pods that can be swapped for each other while packing.

A unit is one or more groups with equal requests, equal wishes, equal host terms, and one cell to go
to (or any). Its pods are interchangeable, so it is placed as a number; names come back in `decode`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.kernel.loops import UnitCode

ANY_CELL = -1
ANY_WEIGHT = -1


@dataclass(slots=True)
class PodUnit:
    """Interchangeable pods. `members` says how many come from which group, in order."""

    request: Int
    mask: int
    cell: int
    own: tuple[int, ...]
    match: tuple[int, ...]
    priority: int
    weight: int = ANY_WEIGHT  # the pool weight whose new nodes it may use
    count: int = 0
    members: list[tuple[int, int]] = field(default_factory=list)
    claims: tuple[int, ...] = ()  # volumes it shares with other pods, attached once per node
    code: UnitCode | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def is_capped(self) -> bool:
        """Whether a node takes only so many of it, whatever its size."""
        return bool(self.own)

    def add(self, group: int, count: int) -> None:
        """Let more pods of a group belong to it."""
        self.members.append((group, count))
        self.count += count


class UnitBook:
    """All units of one attempt, found by what makes pods interchangeable."""

    def __init__(self, enc: Encoded) -> None:
        self._enc = enc
        self._number_of: dict[tuple[int, int, int], int] = {}
        self.units: list[PodUnit] = []
        self._kind_g = _kinds(enc)

    def add(self, group: int, cell: int, count: int, weight: int = ANY_WEIGHT) -> int:
        """Put pods of a group that go to a cell into the unit they belong to."""
        key = (self._kind_g[group], cell, weight)
        number = self._number_of.get(key)
        if number is None:
            number = self._number_of[key] = len(self.units)
            self.units.append(unit_of(self._enc, group, cell, weight))
        self.units[number].add(group, count)
        return number


def _kinds(enc: Encoded) -> list[int]:
    """A number for every group: equal where pods are interchangeable on their way to one cell."""
    ties, numbers_of = enc.ties, dict[tuple[object, ...], int]()
    columns = zip(
        [row.tobytes() for row in np.ascontiguousarray(enc.requests_gr)],
        enc.mask_g.tolist(),
        enc.priority_g.tolist(),
        map(tuple, ties.host_own_g),
        map(tuple, ties.host_match_g),
        enc.claims.claims_g,
        strict=True,
    )
    return [numbers_of.setdefault(key, len(numbers_of)) for key in columns]


def unit_of(enc: Encoded, group: int, cell: int = ANY_CELL, weight: int = ANY_WEIGHT) -> PodUnit:
    """A unit of this group's kind, with nobody in it yet."""
    return PodUnit(
        enc.requests_gr[group],
        int(enc.mask_g[group]),
        cell,
        tuple(enc.ties.host_own_g[group]),
        tuple(enc.ties.host_match_g[group]),
        int(enc.priority_g[group]),
        weight,
        claims=enc.claims.claims_g[group],
    )


def is_tied_to_zones(enc: Encoded, group: int) -> bool:
    """Whether some term over a wider topology key concerns the group."""
    return bool(enc.ties.zone_own_g[group] or enc.ties.zone_match_g[group])
