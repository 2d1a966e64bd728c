"""Bounds the types that a launch lists, so that pool limits hold whichever is delivered.

A provider may deliver any listed type, so a launch counts against the limits of its pool with the
most that any of its types has of each resource. Over all launches of a plan that must be no more
than the limits leave. Where it is more, each launch may list what takes no more than it was planned
with. What the limits leave beyond that goes to larger types: the launches take turns, and each
takes its cheapest type that still fits.

Example: 20 CPUs are left, and three launches are planned with 4 CPUs each. Eight CPUs remain: two
of the launches may list types of 8 CPUs, the third only types of up to 4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import sub

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.encoding.limits import PoolLimit, Use
from dovetail.solve.packing.attempt import Attempt

Sizes = tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class ListedLaunch:
    """A new node, and the types that its launch would list if there were no limits."""

    node: int
    pool: int
    types: Int  # cheapest first; the planned one may come anywhere


@dataclass(frozen=True, slots=True)
class LimitAllowance:
    """The most that a launch may take of its pool's limits, and whether its list has more."""

    most: Use
    is_exceeded: bool


def allowances(
    attempt: Attempt, listed: Sequence[ListedLaunch], limited: Mapping[int, list[PoolLimit]]
) -> dict[int, LimitAllowance]:
    """How much each of these nodes may take of its pool's limits, by node.

    O(sorts of nodes x distinct sizes of types) where limits bind, else one sum for each limit.
    """
    result: dict[int, LimitAllowance] = {}
    for pool, limits in limited.items():
        mine = [listed_launch for listed_launch in listed if listed_launch.pool == pool]
        if mine:
            result.update(_allowances(attempt, mine, limits))
    return result


def _allowances(
    attempt: Attempt, listed: list[ListedLaunch], limits: list[PoolLimit]
) -> Iterator[tuple[int, LimitAllowance]]:
    offer_n = attempt.bins.offer[[listed_launch.node for listed_launch in listed]]
    planned = np.stack([limit.use_o[offer_n] for limit in limits], axis=1)
    use_tk = np.stack([limit.use_t for limit in limits], axis=1)
    sizes = _Sizes(use_tk)
    largest = np.array([sizes.largest(launch.types) for launch in listed]).reshape(planned.shape)
    largest = np.maximum(largest, planned)
    left = np.array([limit.left for limit in limits])
    if (largest.sum(axis=0) <= left).all():
        for listed_launch, most in zip(listed, largest.tolist(), strict=True):
            yield listed_launch.node, LimitAllowance(tuple(most), is_exceeded=False)
        return
    spare = np.maximum(left - planned.sum(axis=0), 0).tolist()
    allowed = share_headroom(
        [tuple(use) for use in planned.tolist()],
        spare,
        [sizes.distinct(listed_launch.types) for listed_launch in listed],
    )
    for listed_launch, most, wanted in zip(listed, allowed, largest.tolist(), strict=True):
        yield listed_launch.node, LimitAllowance(most, is_exceeded=most != tuple(wanted))


class _Sizes:
    """What lists of types take of limits; many launches share one list."""

    def __init__(self, use_tk: Int) -> None:
        self._use_tk = use_tk
        self._largest: dict[int, Int] = {}
        self._distinct: dict[int, Sizes] = {}
        self._equal: dict[Sizes, Sizes] = {}

    def largest(self, types: Int) -> Int:
        """The most that any of these types takes of each limit."""
        if id(types) not in self._largest:
            self._largest[id(types)] = self._use_tk[types].max(axis=0, initial=0)
        return self._largest[id(types)]

    def distinct(self, types: Int) -> Sizes:
        """What these types take, each amount once, cheapest first; one object for equal ones."""
        if id(types) not in self._distinct:
            rows = tuple(dict.fromkeys(map(tuple, self._use_tk[types].tolist())))
            self._distinct[id(types)] = self._equal.setdefault(rows, rows)
        return self._distinct[id(types)]


def share_headroom(planned: list[Use], spare: Sequence[int], sizes: list[Sizes]) -> list[Use]:
    """What each launch may take at most, if they take turns with what is spare. Launches that are
    planned alike and list the same rise together, as far as there is enough for all of them.

    A size that does not fit now never will: what a launch has got already, the spare has lost.
    """
    result = list(planned)
    alike: dict[tuple[Use, int], list[int]] = {}
    for number, use in enumerate(planned):
        alike.setdefault((use, id(sizes[number])), []).append(number)
    turns = deque((members, use, 0) for (use, _), members in alike.items())
    while turns:
        members, most, first = turns.popleft()
        for place, size in enumerate(sizes[members[0]][first:], start=first):
            grown = tuple(map(max, most, size))
            more = tuple(map(sub, grown, most))
            n_grown = _most_times(more, spare, len(members))
            if n_grown:
                spare = [left - n_grown * extra for left, extra in zip(spare, more, strict=True)]
                turns.append((members[:n_grown], grown, place + 1))
                members = members[n_grown:]
            if not members:
                break
        for number in members:
            result[number] = most
    return result


def _most_times(more: Use, spare: Sequence[int], most: int) -> int:
    """How often so much more can be taken of what is spare; not at all if it is nothing."""
    times = [left // extra for left, extra in zip(spare, more, strict=True) if extra]
    return min(most, *times) if times else 0
