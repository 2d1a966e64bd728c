"""Defines requirements, one per label key, and the algebra over them.

A requirement is a set of label values: the listed ones, or all but the listed ones, within optional
integer bounds. Intersection is the only operation that a decision needs; the rest (`admits`,
`intersects`, `compatible`) is defined by it. Laws are in `tests/laws`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final, TypeVar, overload

import msgspec

from dovetail import labels

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_T = TypeVar("_T")
MAX_INT: Final = 2**63 - 1


class Operator(StrEnum):
    """How a requirement compares, as manifests spell it."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"
    GTE = "Gte"
    LTE = "Lte"


def integer(value: str) -> int | None:
    """The 64-bit integer that a label value spells, if it spells one."""
    if not _INTEGER.fullmatch(value):
        return None
    number = int(value)
    return number if -MAX_INT - 1 <= number <= MAX_INT else None


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """The label values allowed for one key.

    `complement` turns `values` from the allowed into the excluded ones. Bounds only occur with
    `complement`, since a concrete set simply drops what lies outside.
    """

    key: str
    complement: bool = False
    values: frozenset[str] = frozenset()
    gte: int | None = None
    lte: int | None = None
    min_values: int | None = None

    @property
    def operator(self) -> Operator:
        """The operator that describes this set best."""
        if self.complement:
            return Operator.NOT_IN if self.values else Operator.EXISTS
        return Operator.IN if self.values else Operator.DOES_NOT_EXIST

    @property
    def is_bounded(self) -> bool:
        """Whether only integers within bounds are allowed."""
        return self.gte is not None or self.lte is not None

    @property
    def tolerates_absence(self) -> bool:
        """Whether a node without the label may satisfy this: NotIn and DoesNotExist."""
        if self.complement:
            return bool(self.values) and not self.is_bounded
        return not self.values

    def has(self, value: str) -> bool:
        """Whether the value is in the set."""
        if (value in self.values) == self.complement:
            return False
        return _is_within(value, self.gte, self.lte)

    def admits(self, value: str | None) -> bool:
        """Whether a node with this value of the label (None: without the label) satisfies this."""
        return self.tolerates_absence if value is None else self.has(value)

    def intersects(self, other: Requirement) -> bool:
        """Whether some value satisfies both; the same as `bool(self & other)`, but cheaper."""
        gte, lte = _tighter(self, other)
        if gte is not None and lte is not None and gte > lte:
            return False
        if self.complement and other.complement:
            return True
        if not self.complement and not other.complement:
            return not self.values.isdisjoint(other.values)
        concrete, rest = (other, self) if self.complement else (self, other)
        return any(
            value not in rest.values and _is_within(value, gte, lte) for value in concrete.values
        )

    def __and__(self, other: Requirement) -> Requirement:
        """The values that satisfy both."""
        gte, lte = _tighter(self, other)
        min_values = max(self.min_values or 0, other.min_values or 0) or None
        if gte is not None and lte is not None and gte > lte:
            return Requirement(self.key, min_values=min_values)
        if self.complement and other.complement:
            values = frozenset(v for v in self.values | other.values if _is_within(v, gte, lte))
            return Requirement(self.key, True, values, gte, lte, min_values)
        if self.complement:
            values = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        kept = frozenset(v for v in values if _is_within(v, gte, lte))
        return Requirement(self.key, False, kept, min_values=min_values)

    def __bool__(self) -> bool:
        """Whether any value is left."""
        return self.complement or bool(self.values)

    def sort_key(self) -> tuple[str, bool, list[str], int, int, int]:
        """A total order, for output that does not depend on hashing."""
        return (
            self.key,
            self.complement,
            sorted(self.values),
            -1 if self.gte is None else self.gte,
            -1 if self.lte is None else self.lte,
            self.min_values or 0,
        )

    def wire(self) -> list[tuple[str, Operator, list[str], int | None]]:
        """This as manifests would say it: one or two (key, operator, values, minValues)."""
        lines: list[tuple[str, Operator, list[str], int | None]] = []
        if self.gte is not None:
            lines.append((self.key, Operator.GTE, [str(self.gte)], self.min_values))
        if self.lte is not None:
            lines.append((self.key, Operator.LTE, [str(self.lte)], self.min_values))
        if self.values or not lines:
            lines.append((self.key, self.operator, sorted(self.values), self.min_values))
        return lines

    def __str__(self) -> str:
        """As a sentence names it: the first five values, then how many more."""
        parts = []
        for key, operator, values, _ in self.wire():
            shown = ", ".join(values[:5])
            if len(values) > 5:
                shown += f" and {len(values) - 5} others"
            parts.append(f"{key} {operator} {shown}".rstrip())
        return " and ".join(parts)


def _tighter(a: Requirement, b: Requirement) -> tuple[int | None, int | None]:
    lows = [bound for bound in (a.gte, b.gte) if bound is not None]
    highs = [bound for bound in (a.lte, b.lte) if bound is not None]
    return (max(lows) if lows else None, min(highs) if highs else None)


def _is_within(value: str, gte: int | None, lte: int | None) -> bool:
    if gte is None and lte is None:
        return True
    number = integer(value)
    if number is None:
        return False
    return (gte is None or number >= gte) and (lte is None or number <= lte)


def requirement(
    key: str, operator: Operator | str, values: Iterable[str] = (), min_values: int | None = None
) -> Requirement:
    """A requirement as a manifest states it. Raises ValueError for what no manifest may state."""
    key = labels.normalize(key)
    listed = frozenset(values)
    match Operator(operator):
        case Operator.IN:
            return Requirement(key, False, listed, min_values=min_values)
        case Operator.NOT_IN:
            return Requirement(key, True, listed, min_values=min_values)
        case Operator.EXISTS:
            return Requirement(key, True, min_values=min_values)
        case Operator.DOES_NOT_EXIST:
            return Requirement(key, min_values=min_values)
        case bound:
            return _bounded_requirement(key, bound, listed, min_values)


def _bounded_requirement(
    key: str, operator: Operator, values: frozenset[str], min_values: int | None
) -> Requirement:
    number = integer(next(iter(values))) if len(values) == 1 else None
    if number is None:
        msg = f"{key}: {operator} takes exactly one integer, not {sorted(values)}"
        raise ValueError(msg)
    if operator in (Operator.GT, Operator.GTE):
        gte = number + (operator is Operator.GT)
        if gte > MAX_INT:
            return Requirement(key, min_values=min_values)
        return Requirement(key, True, gte=gte, min_values=min_values)
    lte = number - (operator is Operator.LT)
    if lte < -MAX_INT - 1:
        return Requirement(key, min_values=min_values)
    return Requirement(key, True, lte=lte, min_values=min_values)


class Requirements(Mapping[str, Requirement]):
    """At most one requirement per key, each the intersection of all that was said of its key."""

    __slots__ = ("_by_key",)

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        by_key: dict[str, Requirement] = {}
        for item in requirements:
            earlier = by_key.get(item.key)
            by_key[item.key] = item if earlier is None else earlier & item
        self._by_key = by_key

    @classmethod
    def of_labels(cls, by_key: Mapping[str, str]) -> Requirements:
        """What a node with these labels offers."""
        return cls(
            Requirement(labels.normalize(key), False, frozenset({value}))
            for key, value in by_key.items()
        )

    def single_values(self) -> dict[str, str]:
        """The labels for which just one value is left, by key."""
        return {
            item.key: value
            for item in self.sorted()
            if not item.complement and len(item.values) == 1
            for value in item.values
        }

    def __getitem__(self, key: str) -> Requirement:
        return self._by_key[key]

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    @overload
    def get(self, key: str, /) -> Requirement | None: ...

    @overload
    def get(self, key: str, /, default: Requirement) -> Requirement: ...

    @overload
    def get(self, key: str, /, default: _T) -> Requirement | _T: ...

    def get(self, key: str, /, default: object = None) -> object:
        """As every mapping does, without the detour through an exception."""
        return self._by_key.get(key, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requirements) and self._by_key == other._by_key

    def __hash__(self) -> int:
        return hash(frozenset(self._by_key.values()))

    def __and__(self, other: Iterable[Requirement] | Requirements) -> Requirements:
        more = other.values() if isinstance(other, Requirements) else other
        return Requirements([*self._by_key.values(), *more])

    def __repr__(self) -> str:
        return f"Requirements({', '.join(map(str, self.sorted()))})"

    def sorted(self) -> list[Requirement]:
        """By key."""
        return [self._by_key[key] for key in sorted(self._by_key)]

    def conflict(self, other: Requirements) -> str | None:
        """The first shared key on which no value satisfies both; None if they intersect."""
        for key in sorted(self.keys() & other.keys()):
            ours, theirs = self[key], other[key]
            if ours.intersects(theirs):
                continue
            if not (ours.tolerates_absence and theirs.tolerates_absence):
                return key
        return None

    def intersects(self, other: Requirements) -> bool:
        """Whether some node could satisfy both."""
        return self.conflict(other) is None

    def incompatibility(self, pod: Requirements, *, allow_undefined: bool = False) -> str | None:
        """The first key on which this (node side) cannot serve `pod`; None if it can.

        `allow_undefined` lets well-known labels be absent, as on a pool whose types define them.
        """
        for key in sorted(pod.keys() - self.keys()):
            if allow_undefined and labels.is_well_known(key):
                continue
            if not pod[key].tolerates_absence:
                return key
        return self.conflict(pod)

    def compatible(self, pod: Requirements, *, allow_undefined: bool = False) -> bool:
        """Whether this (node side) can serve `pod`."""
        return self.incompatibility(pod, allow_undefined=allow_undefined) is None
