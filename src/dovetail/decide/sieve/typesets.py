"""Computes which instance types satisfy something, as the bits of one integer.

Bit i stands for the i-th type. Set operations on a thousand types then take a tenth of a
microsecond, and every answer is kept, so that explaining thousands of pods costs little more than
explaining a few. Nothing here knows a NodePool: see `shelf.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_

import msgspec

from dovetail import labels
from dovetail.decide.sieve.wishes import Said
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirement

Bits = int


def bits(mask: Bits) -> Iterator[int]:
    """The positions that are set, in order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Ladder:
    """Amounts of one resource, by size: which members have at least so much?"""

    def __init__(self, amounts: Sequence[int]) -> None:
        self.everyone: Bits = (1 << len(amounts)) - 1
        by_amount: dict[int, Bits] = {}
        for position, amount in enumerate(amounts):
            by_amount[amount] = by_amount.get(amount, 0) | (1 << position)
        self.rungs = sorted(by_amount)
        self._exactly = [by_amount[rung] for rung in self.rungs]
        self._at_least = [0]
        for mask in reversed(self._exactly):
            self._at_least.append(self._at_least[-1] | mask)
        self._at_least.reverse()

    def at_least(self, amount: int) -> Bits:
        """Who has this much."""
        return self._at_least[bisect_left(self.rungs, amount)]

    def at_most(self, amount: int) -> Bits:
        """Who has no more than this."""
        return self.everyone & ~self.at_least(amount + 1)

    def largest(self, among: Bits) -> int:
        """The largest amount among these; 0 if there are none."""
        pairs = zip(reversed(self.rungs), reversed(self._exactly), strict=True)
        return next((rung for rung, mask in pairs if mask & among), 0)

    def smallest(self, among: Bits) -> int:
        """The smallest amount among these; 0 if there are none."""
        pairs = zip(self.rungs, self._exactly, strict=True)
        return next((rung for rung, mask in pairs if mask & among), 0)


class LabelIndex(msgspec.Struct, frozen=True):
    """Who has which value of one label; who may have any within a requirement; who has none."""

    by_value: Mapping[str, Bits]
    open_ended: tuple[tuple[Bits, Requirement], ...]
    absent: Bits

    def rows_with(self, requirements: Said) -> Bits:
        """Who has the label with a value that everything said allows."""
        mask = 0
        for value, members in self.by_value.items():
            if all(requirement.has(value) for requirement in requirements):
                mask |= members
        for member, requirement in self.open_ended:
            if reduce(and_, requirements, requirement):
                mask |= member
        return mask


def index_labels(members: Sequence[tuple[Requirement, ...]]) -> LabelIndex:
    """The index of one key; a member with several requirements may have any of their values."""
    by_value: dict[str, Bits] = {}
    open_ended: list[tuple[Bits, Requirement]] = []
    absent = 0
    for position, requirements in enumerate(members):
        member = 1 << position
        if not any(requirements):
            absent |= member
        for requirement in requirements:
            if requirement.complement:
                open_ended.append((member, requirement))
            for value in () if requirement.complement else requirement.values:
                by_value[value] = by_value.get(value, 0) | member
    ordered = {value: by_value[value] for value in sorted(by_value)}
    return LabelIndex(ordered, tuple(open_ended), absent)


class TypeTable:
    """The instance types that one or more pools list, and what is on offer of each."""

    def __init__(self, types: tuple[InstanceType, ...]) -> None:
        self.types = types
        self.everyone: Bits = (1 << len(types)) - 1
        self._rows: list[tuple[int, Offering]] = [
            (position, offering)
            for position, kind in enumerate(types)
            for offering in kind.offerings
            if offering.is_available
        ]
        self.reserved = _mask(row.capacity_type == labels.RESERVED for _, row in self._rows)
        self._spans = _spans([position for position, _ in self._rows], len(types))
        self._type_indices: dict[str, LabelIndex] = {}
        self._row_indices: dict[str, LabelIndex] = {}
        self._folded: dict[Bits, Bits] = {}
        self._capacity: dict[str, Ladder] = {}
        self._attachable: dict[tuple[str, int], Bits] = {}
        self._free: dict[tuple[str, Overhead], Ladder] = {}
        self.offered_keys = frozenset(
            key for kind in types for offering in kind.offerings for key in offering.requirements
        )

    def keys(self) -> set[str]:
        """Every label that a type or an offering fixes."""
        return {key for kind in self.types for key in kind.requirements} | self.offered_keys

    def index(self, key: str) -> LabelIndex:
        """The types by their values of a label, whether or not they are on offer now."""
        if key not in self._type_indices:
            self._type_indices[key] = index_labels(
                [_requirements_on(kind, key) for kind in self.types]
            )
        return self._type_indices[key]

    def rows(self) -> Bits:
        """Everything on offer now, one bit per offering."""
        return (1 << len(self._rows)) - 1

    def row_index(self, key: str) -> LabelIndex:
        """The offerings by their values of a label."""
        if key not in self._row_indices:
            self._row_indices[key] = index_labels(
                [_needs_of_offering(self.types[at], row, key) for at, row in self._rows]
            )
        return self._row_indices[key]

    def types_of(self, rows: Bits) -> Bits:
        """The types that these offerings belong to."""
        if rows not in self._folded:
            self._folded[rows] = _mask(bool(rows & span) for span in self._spans)
        return self._folded[rows]

    def rows_of(self, types: Bits) -> Bits:
        """The offerings of these types."""
        rows = 0
        for position in bits(types):
            rows |= self._spans[position]
        return rows

    def offerings(self, rows: Bits) -> Iterator[Offering]:
        """The offerings that these bits stand for."""
        return (self._rows[row][1] for row in bits(rows))

    def capacity(self, resource: str) -> Ladder:
        """The types by how much of a resource they have in all."""
        if resource not in self._capacity:
            self._capacity[resource] = Ladder(
                [kind.capacity.get(resource, 0) for kind in self.types]
            )
        return self._capacity[resource]

    def free(self, resource: str, overhead: Overhead) -> Ladder:
        """The types by how much of a resource daemon sets leave to pods."""
        key = (resource, overhead)
        if key not in self._free:
            amounts = [kind.allocatable.get(resource, 0) for kind in self.types]
            for members, taken in overhead:
                amount = dict(taken).get(resource, 0)
                for position in bits(members) if amount else ():
                    amounts[position] -= amount
            self._free[key] = Ladder(amounts)
        return self._free[key]

    def attachable(self, driver: str, n_volumes: int) -> Bits:
        """The types that take so many volumes of a driver; a type without a limit takes all."""
        key = (driver, n_volumes)
        if key not in self._attachable:
            self._attachable[key] = _mask(
                kind.attach_limits.get(driver, n_volumes) >= n_volumes for kind in self.types
            )
        return self._attachable[key]


# What daemon sets take, and on which types.
Overhead = tuple[tuple[Bits, tuple[tuple[str, int], ...]], ...]


def _mask(flags: Iterable[bool]) -> Bits:
    mask = 0
    for position, flag in enumerate(flags):
        mask |= flag << position
    return mask


def _spans(owners: Sequence[int], n_types: int) -> list[Bits]:
    """For every type, the rows that belong to it."""
    spans = [0] * n_types
    for row, owner in enumerate(owners):
        spans[owner] |= 1 << row
    return spans


def _requirements_on(kind: InstanceType, key: str) -> tuple[Requirement, ...]:
    own = kind.requirements.get(key)
    if own is not None:
        return (own,)
    offered = (offering.requirements.get(key) for offering in kind.offerings)
    return tuple(dict.fromkeys(requirement for requirement in offered if requirement is not None))


def _needs_of_offering(kind: InstanceType, offering: Offering, key: str) -> tuple[Requirement, ...]:
    requirement = offering.requirements.get(key)
    if requirement is None:
        requirement = kind.requirements.get(key)
    return () if requirement is None else (requirement,)
