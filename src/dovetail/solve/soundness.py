"""Does a plan keep every law of one node, and every limit? A last look at plans found by search."""

from __future__ import annotations

import numpy as np

from dovetail.solve.attempt import Attempt
from dovetail.solve.contents import loads
from dovetail.solve.early import late_places
from dovetail.solve.limits import Limits
from dovetail.solve.settle import host_minimum
from dovetail.solve.terms import Kind
from dovetail.solve.units import Unit


def is_sound(attempt: Attempt) -> bool:
    """Whether resources, limits, reservations and all constraints between pods on a node hold."""
    return (
        _has_room(attempt)
        and _is_within_limits(attempt)
        and _are_all_borne(attempt)
        and all(
            _is_together(attempt, number)
            for number, term in enumerate(attempt.enc.ties.hosts)
            if term.kind == Kind.AFFINITY
        )
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


def _are_all_borne(attempt: Attempt) -> bool:
    """Whether every node may hold its pods."""
    n_existing, late = attempt.bins.n_existing, late_places(attempt)
    return all(
        _bears(attempt, node, attempt.units[number], is_late=is_late)
        for node, held in loads(attempt.bins.log).items()
        for number in held
        for is_late in (node >= n_existing or (number, node) in late,)
    )


def _bears(attempt: Attempt, node: int, unit: Unit, *, is_late: bool) -> bool:
    """Whether a node may hold the pods of a unit beside all others on it. Pods that are late are
    bound once all new nodes are there.
    """
    bins, hosts = attempt.bins, attempt.enc.ties.hosts
    if not bins.accept[unit.mask, node]:
        return False
    for number in unit.own:
        match, term = int(bins.match[number, node]), hosts[number]
        if term.kind == Kind.AFFINITY:
            fine = match > 0
        elif term.kind == Kind.SPREAD:
            n_hosts = bins.n if is_late else bins.n_existing
            fine = match <= term.max_skew + host_minimum(bins, number, n_hosts)
        else:
            fine = match <= (number in unit.match)
        if not fine:
            return False
    return all(
        hosts[number].kind not in (Kind.ANTI, Kind.PORT)
        or int(bins.own[number, node]) <= (number in unit.own)
        for number in unit.match
    )


def _is_together(attempt: Attempt, number: int) -> bool:
    """Whether only one node holds pods that want company and have none but their own kind. Where
    there will be other company elsewhere, they must be able to come before it.
    """
    bins, term = attempt.bins, attempt.enc.ties.hosts[number]
    match, own = bins.match[number, : bins.n], bins.own[number, : bins.n]
    kind_n = np.zeros(bins.n, dtype=np.int64)  # planned pods that want company and are company
    for unit, nodes, counts in bins.log:
        if number in attempt.units[unit].own and number in attempt.units[unit].match:
            np.add.at(kind_n, nodes, counts)
    alone = np.flatnonzero((own > 0) & (match == kind_n)).tolist()
    if not alone:
        return True
    if len(alone) > 1 or term.match_n.any() or term.match_o is not None:
        return False
    return not (match > kind_n).any() or _may_come_first(attempt, number, alone[0])


def _may_come_first(attempt: Attempt, number: int, node: int) -> bool:
    """Whether nothing keeps pods on a node that state a term from being bound before all others."""
    ties = attempt.enc.ties
    stating = {
        group
        for unit, nodes, counts in attempt.bins.log
        if number in attempt.units[unit].own and counts[nodes == node].any()
        for group, _ in attempt.units[unit].members
    }
    return all(
        term in ties.zone_match_g[group] and not ties.zones[term].match_d.any()
        for group in stating
        for term in ties.zone_own_g[group]
        if ties.zones[term].kind == Kind.AFFINITY
    ) and all(
        term in ties.host_match_g[group] and not ties.hosts[term].match_n.any()
        for group in stating
        for term in ties.host_own_g[group]
        if ties.hosts[term].kind == Kind.AFFINITY
    )
