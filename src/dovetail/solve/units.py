"""Which pods can be swapped for each other while packing?

A unit is one or more groups with equal requests, equal wishes, equal host terms, and one cell to go
to (or any). Its pods are interchangeable, so it is placed as a number; names come back in `decode`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.encode import Encoded
from dovetail.solve.kernel import Code

ANY_CELL = -1
ANY_WEIGHT = -1


@dataclass(slots=True)
class Unit:
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
    code: Code | None = field(default=None, init=False, repr=False, compare=False)

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
        self._number_of: dict[tuple[object, ...], int] = {}
        self.units: list[Unit] = []
        ties = enc.ties
        self._host = [
            (tuple(own), tuple(match))
            for own, match in zip(ties.host_own_g, ties.host_match_g, strict=True)
        ]
        self._requests = [row.tobytes() for row in np.ascontiguousarray(enc.requests_gr)]

    def add(self, group: int, cell: int, count: int, weight: int = ANY_WEIGHT) -> int:
        """Put pods of a group that go to a cell into the unit they belong to."""
        enc = self._enc
        own, match = self._host[group]
        mask, priority = int(enc.mask_g[group]), int(enc.priority_g[group])
        claims = enc.claims.claims_g[group]
        key = (self._requests[group], mask, cell, own, match, priority, weight, claims)
        number = self._number_of.get(key)
        if number is None:
            number = self._number_of[key] = len(self.units)
            self.units.append(unit_of(enc, group, cell, weight))
        self.units[number].add(group, count)
        return number


def unit_of(enc: Encoded, group: int, cell: int = ANY_CELL, weight: int = ANY_WEIGHT) -> Unit:
    """A unit of this group's kind, with nobody in it yet."""
    return Unit(
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
