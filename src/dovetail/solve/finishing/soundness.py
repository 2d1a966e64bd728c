"""Checks that a plan found by search keeps every rule about single nodes, and every limit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dovetail.solve.encoding.limits import Limits
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.contents import loads
from dovetail.solve.packing.units import PodUnit
from dovetail.solve.zones.first_pods import followers, starters
from dovetail.solve.zones.late_starters import late_places
from dovetail.solve.zones.settle import host_minimum, least_per_host


def is_sound(attempt: Attempt, *, is_in_turn: bool = False) -> bool:
    """Whether resources, limits, reservations and all constraints between pods on a node hold.

    Spreads are judged by who is on the nodes in the end. If the log is in the order of binding
    (`is_in_turn`), pod by pod, each finds its own kept when it comes, whoever comes after it.
    """
    return (
        _has_room(attempt)
        and _is_within_limits(attempt)
        and _are_all_borne(attempt, is_in_turn=is_in_turn)
        and starters(attempt, followers(attempt))[1]
    )


def _has_room(attempt: Attempt) -> bool:
    bins = attempt.bins
    free = bins.free[:, : bins.n]
    least = np.zeros_like(free)
    least[:, : bins.n_existing] = np.minimum(attempt.enc.free_nr.T, 0)
    return bool((free >= least)[:, ~bins.dead[: bins.n]].all())


def _is_within_limits(attempt: Attempt) -> bool:
    now, before = attempt.bins.limits, Limits(attempt.enc)
    kept = all(
        left >= 0 or left == first for left, first in zip(now.left, before.left, strict=True)
    )
    return kept and bool((now.supply >= np.minimum(before.supply, 0)).all())


def _are_all_borne(attempt: Attempt, *, is_in_turn: bool) -> bool:
    """Whether every node may hold its pods. Late ones are bound once all new nodes are there."""
    n_existing, late = attempt.bins.n_existing, late_places(attempt)
    load_of = loads(attempt.bins.log)
    late |= {(number, node) for node in load_of if node >= n_existing for number in load_of[node]}
    if not all(
        _may_hold(attempt, node, attempt.units[number])
        for node, numbers in load_of.items()
        for number in numbers
    ):
        return False
    if is_in_turn:
        return _is_spread_in_turn(attempt, late)
    return all(
        _is_spread(attempt, number, node, is_late=(number, node) in late)
        for node, numbers in load_of.items()
        for number in numbers
    )


def _is_spread(attempt: Attempt, number: int, node: int, *, is_late: bool) -> bool:
    """Whether the spreads of a unit bear its pods on a node, by who is where in the end."""
    bins, hosts = attempt.bins, attempt.enc.ties.hosts
    n_hosts = bins.n if is_late else bins.n_existing
    return all(
        int(bins.match[term, node]) <= hosts[term].max_skew + host_minimum(bins, term, n_hosts)
        for term in attempt.units[number].own
        if hosts[term].kind == TermKind.SPREAD
    )


def _is_spread_in_turn(attempt: Attempt, late: set[tuple[int, int]]) -> bool:
    """Whether the spreads of all pods bear them when it is their turn. The log has a line for each
    pod, in the order of binding.

    A pod on an existing node may wait until new nodes are there and make enough domains. Whoever
    comes after it is bound among new nodes, too.
    """
    bins = attempt.bins
    match = bins.match[:, : bins.n].copy()
    for number, nodes, counts in bins.log:
        for term in attempt.units[number].match:
            np.subtract.at(match[term], nodes, counts)
    has_waited = False
    for number, nodes, counts in bins.log:
        unit, node = attempt.units[number], int(nodes[0])
        is_late = has_waited or (number, node) in late
        if not is_late and not _bears_spreads(attempt, unit, node, match[:, : bins.n_existing]):
            is_late = has_waited = True
        if is_late and not _bears_spreads(attempt, unit, node, match):
            return False
        match[list(unit.match), node] += int(counts[0])
    return True


def _bears_spreads(
    attempt: Attempt, unit: PodUnit, node: int, match: npt.NDArray[np.int32]
) -> bool:
    """Whether the spreads over hosts of a unit bear one more pod on a node, if the first nodes hold
    so many of each term.
    """
    bins, hosts = attempt.bins, attempt.enc.ties.hosts
    return all(
        int(match[term, node]) + (term in unit.match)
        <= hosts[term].max_skew + least_per_host(bins, term, match[term])
        for term in unit.own
        if hosts[term].kind == TermKind.SPREAD
    )


def _may_hold(attempt: Attempt, node: int, unit: PodUnit) -> bool:
    """Whether a node may hold the pods of a unit beside all others on it, but for spreads."""
    bins, hosts = attempt.bins, attempt.enc.ties.hosts
    if not bins.accept[unit.mask, node]:
        return False
    for number in unit.own:
        match, term = int(bins.match[number, node]), hosts[number]
        if term.kind == TermKind.AFFINITY:
            fine = match > 0
        elif term.kind == TermKind.SPREAD:
            continue
        else:
            fine = match <= (number in unit.match)
        if not fine:
            return False
    return all(
        hosts[number].kind not in (TermKind.ANTI, TermKind.PORT)
        or int(bins.own[number, node]) <= (number in unit.own)
        for number in unit.match
    )
