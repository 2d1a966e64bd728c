"""Turns the log of placements into a node and a turn for every single pod.

A seat is one pod on one node. Units and groups are numbers until here: each unit hands out its
members in order, and each group its pods by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.contents import entries


@dataclass(frozen=True, slots=True)
class Seats:
    """Seats by node, then by unit: each with its pod, its group and its node."""

    pods: list[Pod]
    group_s: Int
    node_s: Int

    def by_node(self) -> list[tuple[int, tuple[Pod, ...]]]:
        """Every node that holds pods, in order, with its pods."""
        starts = np.flatnonzero(np.diff(self.node_s, prepend=-1))
        nodes, bounds = self.node_s[starts].tolist(), [*starts.tolist(), len(self.pods)]
        return [
            (node, tuple(self.pods[bounds[place] : bounds[place + 1]]))
            for place, node in enumerate(nodes)
        ]


def seats(attempt: Attempt) -> Seats:
    """Every pod that is placed."""
    groups, units = attempt.enc.groups, attempt.units
    unit_s, node_s = _placements(attempt)
    members = [member for unit in units for member in unit.members]
    held_m = np.array([count for _, count in members], dtype=np.int64)
    group_m = np.array([group for group, _ in members], dtype=np.int64)
    count_u = np.array([unit.count for unit in units], dtype=np.int64)
    group_s = np.repeat(group_m, held_m)[_seat_positions(unit_s, count_u)]
    pod_s = _seat_positions(group_s, attempt.enc.count_g)
    everybody = list(chain.from_iterable(group.pods for group in groups))
    return Seats([everybody[pod] for pod in pod_s.tolist()], group_s, node_s)


def in_turn(attempt: Attempt, seated: Seats) -> Int:
    """The seats in an order in which all can be bound: those that were taken in bulk, then those
    whose turn matters, as they were settled. Of pods of a host spread every node has one before
    any has the next, so that no node runs ahead.
    """
    group_s, node_s, n_cells = seated.group_s, seated.node_s, len(attempt.enc.ties.domains_ck)
    queues = _Queues(group_s * n_cells + attempt.bins.cell[node_s])
    ahead_s = np.where(_is_spread(attempt)[group_s], _ahead(queues.number_s, node_s), 0)
    queued = np.lexsort((ahead_s, queues.number_s))
    steps = np.array(attempt.steps, dtype=np.int64).reshape(-1, 3)
    number_t = queues.numbers_of(np.repeat(steps[:, 0] * n_cells + steps[:, 1], steps[:, 2]))
    number_t = number_t[number_t >= 0]
    n_bulk_q = np.maximum(0, queues.length_q - np.bincount(number_t, minlength=queues.n))
    number_s = queues.number_s[queued]
    is_bulk = np.arange(len(queued)) - queues.start_q[number_s] < n_bulk_q[number_s]
    place_t = n_bulk_q[number_t] + _ahead(number_t)
    is_there = place_t < queues.length_q[number_t]
    stepped = (queues.start_q[number_t] + place_t)[is_there]
    return np.concatenate([queued[is_bulk], queued[stepped]])


class _Queues:
    """Seats of one group in one cell queue up; queues are numbered in the order of the first."""

    def __init__(self, key_s: Int) -> None:
        self._keys, first, found_s = np.unique(key_s, return_index=True, return_inverse=True)
        self.n = len(first)
        self._number = np.empty(self.n, dtype=np.int64)
        self._number[np.argsort(first)] = np.arange(self.n)
        self.number_s = self._number[found_s]
        self.length_q = np.bincount(self.number_s, minlength=self.n)
        self.start_q = np.cumsum(self.length_q) - self.length_q

    def numbers_of(self, keys: Int) -> Int:
        """The queue of each key; -1 where there is none."""
        if not self.n:
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(self._keys, keys), self.n - 1)
        return np.where(self._keys[place] == keys, self._number[place], -1)


def _placements(attempt: Attempt) -> tuple[Int, Int]:
    """The unit and the node of every seat, by node and then by unit."""
    if not attempt.bins.log:
        nobody = np.zeros(0, dtype=np.int64)
        return nobody, nobody
    unit_x, node_x, count_x = entries(attempt.bins.log)
    keys, place = np.unique(node_x * len(attempt.units) + unit_x, return_inverse=True)
    count = np.zeros(len(keys), dtype=np.int64)
    np.add.at(count, place, count_x)
    node_s, unit_s = np.divmod(np.repeat(keys, count), len(attempt.units))
    return unit_s, node_s


def _seat_positions(kind_s: Int, count_k: Int) -> Int:
    """Where each seat finds what its kind has next, if all that each kind has lies end to end."""
    start_k: Int = np.cumsum(count_k) - count_k
    return start_k[kind_s] + _ahead(kind_s)


def _ahead(*kinds: Int) -> Int:
    """How many of its kind come before each, where a kind is told by all of these."""
    order = np.lexsort(kinds)
    is_start = np.zeros(len(order), dtype=bool)
    is_start[:1] = True
    for kind_s in kinds:
        is_start[1:] |= np.diff(kind_s[order]) != 0
    starts = np.flatnonzero(is_start)
    ahead = np.empty(len(order), dtype=np.int64)
    ahead[order] = np.arange(len(order)) - starts[np.cumsum(is_start) - 1]
    return ahead


def _is_spread(attempt: Attempt) -> Bool:
    """For every group, whether it is spread over hosts."""
    ties = attempt.enc.ties
    spreads = {number for number, term in enumerate(ties.hosts) if term.kind == TermKind.SPREAD}
    is_spread = [bool(own) and not spreads.isdisjoint(own) for own in ties.host_own_g]
    return np.array(is_spread, dtype=bool)
