"""Moves pods from lighter pools to heavier ones that have room after all.

Heavier pools go first, but what they had no room for may fit once all is planned: nodes came out
smaller and gave back part of a limit, other pods were taken back, or a pod had a quota for a cell
where nothing was left, while its constraints would have allowed another. So pods of lighter pools
are tried again, one at a time, by kube-scheduler's own rules. Who cannot leave without undoing
another placement stays.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.encoding.limits import Limits
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.finishing.displace import strike, take_out
from dovetail.solve.finishing.rescue import place_in_pool
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.contents import loads
from dovetail.solve.packing.units import ANY_CELL, PodUnit, is_tied_to_zones, unit_of
from dovetail.solve.program.pod_worth import takes
from dovetail.solve.zones.settle import host_minimum
from dovetail.solve.zones.undo import is_upset, look_again


def promote(attempt: Attempt) -> bool:
    """Move pods to heavier pools while there are places for them; says whether any moved."""
    moved = False
    while len(attempt.weights) > 1 and _promote_some(attempt):
        moved = True
    return moved


def could_rise_without_min_values(attempt: Attempt) -> bool:
    """Whether limits leave a new node in a heavier pool for a pod of a lighter one, if that node
    need not reach its minValues.
    """
    origin, bins = attempt.enc.origin, attempt.bins
    if origin is None or len(attempt.weights) < 2:
        return False
    enc, limits = origin.enc, Limits(origin.enc)
    lighter: set[tuple[int, int]] = set()
    for node, load in loads(bins.log).items():
        if node >= bins.n_existing:
            limits.take(int(origin.offer_o[bins.offer[node]]), 1)
            if bins.weight[node] < attempt.weights[0]:
                lighter |= {(number, int(bins.weight[node])) for number in load}
    offers = np.flatnonzero(limits.open_offers())
    for number, weight in sorted(lighter):
        unit = attempt.units[number]
        fine = enc.weight_o[offers] > weight
        if unit.cell != ANY_CELL:
            fine &= enc.cell_o[offers] == unit.cell
        groups = np.array(sorted({group for group, _ in unit.members}))
        if takes(enc, groups, offers[fine]).any():
            return True
    return False


def _promote_some(attempt: Attempt) -> bool:
    """One look at every pod on a new node that a heavier pool might take, lightest pools first."""
    bins = attempt.bins
    held_by_node = loads(attempt.bins.log)
    lighter = [
        node
        for node in held_by_node
        if node >= bins.n_existing and bins.weight[node] < attempt.weights[0]
    ]
    stuck: set[tuple[int, int, int]] = set()
    moved = False
    for node in sorted(lighter, key=lambda node: (int(bins.weight[node]), node)):
        for number, count in sorted(held_by_node[node].items()):
            # Where nobody on a node looks at it, its pods fare alike on all nodes of an offer.
            place = node if attempt.units[number].match else -int(bins.offer[node])
            for _ in range(count):
                moved |= _promote_one(attempt, number, node, (place, stuck))
    return moved


def _promote_one(
    attempt: Attempt, number: int, node: int, known: tuple[int, set[tuple[int, int, int]]]
) -> bool:
    """Let a pod of any group of a unit leave a node; those that could not are not tried again."""
    place, stuck = known
    for group in sorted({group for group, _ in attempt.units[number].members}):
        if (number, group, place) not in stuck:
            if _rise(attempt, number, group, node):
                return True
            stuck.add((number, group, place))
    return False


def _rise(attempt: Attempt, number: int, group: int, node: int) -> bool:
    """Let one pod of a group leave a node for a heavier pool, if all others can stay."""
    bins = attempt.bins
    own_weight, own_cell = int(bins.weight[node]), int(bins.cell[node])
    if not _has_hope(attempt, group, own_weight):
        return False
    # In its own cell a pod disturbs nobody who counts pods.
    cells = (own_cell, ANY_CELL) if is_tied_to_zones(attempt.enc, group) else (ANY_CELL,)
    leave = _Leave(attempt, number, group, node)
    for weight in attempt.weights:
        for cell in cells if weight > own_weight else ():
            n_before = bins.n
            if not place_in_pool(attempt, group, weight, cell):
                continue
            leave.close_if_empty()
            if _is_valid(attempt, attempt.units[number], group, node):
                return True
            leave.take_back_place(n_before)
    leave.undo()
    return False


def _has_hope(attempt: Attempt, group: int, weight: int) -> bool:
    """Whether heavier pools have anything large enough for a pod at all."""
    bins, unit = attempt.bins, unit_of(attempt.enc, group)
    new = slice(bins.n_existing, bins.n)
    offers = bins.fits_new(unit) & bins.limits.open_offers() & (attempt.enc.weight_o > weight)
    nodes = bins.accept[unit.mask, new] & (bins.weight[new] > weight)
    nodes &= (bins.free[:, new] >= unit.request[:, None]).all(axis=0)
    return bool(offers.any() or nodes.any())


class _Leave:
    """One pod that leaves its node, and the way back."""

    def __init__(self, attempt: Attempt, number: int, group: int, node: int) -> None:
        self._attempt, self._group, self._node = attempt, group, node
        self._number, self._unit = number, attempt.units[number]
        self._members = list(self._unit.members)
        self._log, self._steps = attempt.bins.log, list(attempt.steps)
        self._leaned_on = set(attempt.leaned_on)
        self._staying = attempt.settler.state.copy()
        self._accept = attempt.bins.accept[:, node].copy()
        attempt.bins.shift(self._unit, np.array([node]), np.array([-1]))
        strike(attempt, number, node, 1)
        take_out(self._unit, group, 1)
        if self._unit.cell != ANY_CELL:
            attempt.settler.record(group, self._unit.cell, -1)
        _forget_step(attempt, group, int(attempt.bins.cell[node]))
        self._gone, self._other_steps = attempt.settler.state.copy(), list(attempt.steps)

    def close_if_empty(self) -> None:
        """A node that lost its last pod is not launched."""
        bins, node = self._attempt.bins, self._node
        if not any((nodes == node).any() for _, nodes, _ in bins.log):
            bins.accept[:, node] = False
            bins.dead[node] = True
            bins.limits.take(int(bins.offer[node]), -1)
            look_again(self._attempt)

    def take_back_place(self, n_before: int) -> None:
        """The pod has no place again; a node that was opened for it is gone."""
        attempt, bins = self._attempt, self._attempt.bins
        if bins.dead[self._node]:
            bins.dead[self._node] = False
            bins.accept[:, self._node] = self._accept
            bins.limits.take(int(bins.offer[self._node]), 1)
        number, nodes, counts = bins.log.pop()
        bins.shift(attempt.units[number], nodes, -counts)
        take_out(attempt.units[number], self._group, 1)
        attempt.steps = list(self._other_steps)
        if bins.n > n_before:
            bins.close_last()
        attempt.leaned_on = set(self._leaned_on)
        attempt.settler.state = self._gone.copy()

    def undo(self) -> None:
        """The pod stays where it was."""
        attempt, unit = self._attempt, self._unit
        attempt.bins.shift(unit, np.array([self._node]), np.array([1]))
        attempt.bins.log, attempt.steps = self._log, self._steps
        unit.members, unit.count = self._members, unit.count + 1
        attempt.settler.state = self._staying


def _forget_step(attempt: Attempt, group: int, cell: int) -> None:
    """The last pod of a group that was settled in a cell no longer is."""
    for place in range(len(attempt.steps) - 1, -1, -1):
        unit, where, count = attempt.steps[place]
        if (unit, where) == (group, cell):
            attempt.steps[place : place + 1] = [(group, cell, count - 1)] if count > 1 else []
            return


def _is_valid(attempt: Attempt, unit: PodUnit, group: int, node: int) -> bool:
    """Whether all constraints hold of pods that counted the one that left the node."""
    bins, ties, state = attempt.bins, attempt.enc.ties, attempt.settler.state
    for number in unit.match:
        if ties.hosts[number].kind == TermKind.AFFINITY and not _has_company(attempt, number, node):
            return False
        if ties.hosts[number].kind == TermKind.SPREAD:
            new = slice(bins.n_existing, bins.n)
            counts = bins.match[number, new][bins.own[number, new] > 0]
            most = ties.hosts[number].max_skew + host_minimum(bins, number)
            if int(counts.max(initial=0)) > most:
                return False
    for number in ties.zone_match_g[group]:
        term = ties.zones[number]
        is_lonely = (state.own[number] > term.own_d) & (state.match[number] == 0)
        if term.kind == TermKind.AFFINITY and is_lonely.any():
            return False
    return not any(
        term.kind == TermKind.SPREAD
        and is_upset(attempt, number, state.match[number], state.seen[number])
        for number, term in enumerate(ties.zones)
    )


def _has_company(attempt: Attempt, number: int, node: int) -> bool:
    """Whether pods on a node that want company there have it, or may be the first of their kind."""
    bins, term = attempt.bins, attempt.enc.ties.hosts[number]
    match, own = bins.match[number, : bins.n], bins.own[number, : bins.n]
    if own[node] == 0 or match[node] > own[node]:
        return True
    is_first = int(((own > 0) & (match == own)).sum()) == 1 and not term.match_n.any()
    return is_first and match[node] == own[node]
