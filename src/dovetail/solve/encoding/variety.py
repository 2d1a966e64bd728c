"""Counts the values that instance types bring to a launch, for minValues.

minValues of a pool's requirement counts distinct values among the types that a launch may use, as
the types themselves state them: a type sold in three zones brings three zones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements


@dataclass(frozen=True, slots=True)
class MinValues:
    """One minValues of a pool: so many of these values, by number of the instance type."""

    least: int
    values_by_type: tuple[frozenset[str], ...]


def demands(pool: NodePool, types: Iterable[InstanceType]) -> tuple[MinValues, ...]:
    """What the pool's minValues ask for; nothing for most pools."""
    if all(requirement.min_values is None for requirement in pool.requirements):
        return ()
    kinds = tuple(types)
    return tuple(
        MinValues(requirement.min_values, tuple(_values(requirement, kind) for kind in kinds))
        for requirement in Requirements(pool.requirements).sorted()
        if requirement.min_values is not None
    )


def _values(asked: Requirement, kind: InstanceType) -> frozenset[str]:
    need = kind.requirements.get(asked.key)
    stated = frozenset() if need is None or need.complement else need.values
    if asked.key == labels.INSTANCE_TYPE:
        stated |= {kind.name}
    return frozenset(value for value in stated if asked.has(value))


def insists(pools: Iterable[NodePool]) -> bool:
    """Whether any of the pools has minValues."""
    return any(need.min_values is not None for pool in pools for need in pool.requirements)


def later_kinds(capacity_type: str) -> tuple[str, ...]:
    """The capacity types that a provider tries after this one, if a launch names them too."""
    known = labels.CAPACITY_TYPES
    return known[known.index(capacity_type) + 1 :] if capacity_type in known else ()


class MinValuesTally:
    """The values gathered so far for the demands of one pool."""

    def __init__(self, asked: tuple[MinValues, ...]) -> None:
        self._asked = asked
        self._held: list[set[str]] = [set() for _ in asked]

    @property
    def is_met(self) -> bool:
        """Whether every demand has enough values."""
        pairs = zip(self._asked, self._held, strict=True)
        return all(len(values) >= demand.least for demand, values in pairs)

    def add(self, kind: int) -> bool:
        """Take in an instance type; says whether it brought a value that was still wanted."""
        is_new = False
        for demand, values in zip(self._asked, self._held, strict=True):
            wanted = len(values) < demand.least and not demand.values_by_type[kind] <= values
            values.update(demand.values_by_type[kind])
            is_new = is_new or wanted
        return is_new


def gather(asked: tuple[MinValues, ...], kinds: Iterable[int]) -> list[int] | None:
    """Places of the first types that meet all demands, skipping those that bring nothing new.

    The first is always among them. None if all together do not suffice.
    """
    tally = MinValuesTally(asked)
    chosen: list[int] = []
    for place, kind in enumerate(kinds):
        if tally.is_met and chosen:
            break
        if tally.add(kind) or not chosen:
            chosen.append(place)
    return chosen if tally.is_met else None


def are_met(asked: tuple[MinValues, ...], kinds: Iterable[int]) -> bool:
    """Whether these types have all the values that are asked for."""
    if not asked:
        return True
    return not asked or gather(asked, kinds) is not None
