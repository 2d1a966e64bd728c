"""Finds placements that break a rule, and takes them back.

Quotas that could not be filled, and spreads in whose sight a domain has appeared that they did not
reckon with, make the counts of a whole web of groups wrong for each other: all of it starts afresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.encoding.ties import Ties, ZoneTerm
from dovetail.solve.packing.attempt import Attempt, Step
from dovetail.solve.packing.units import is_tied_to_zones
from dovetail.solve.zones.late_starters import late_places


def take_back(attempt: Attempt) -> dict[int, int]:
    """Pods without a node that will hold, by group; their units no longer know them."""
    waiting = dict(attempt.unsettled)
    broken: set[int] = set()
    for number in np.flatnonzero(attempt.left_u).tolist():
        unit = attempt.units[number]
        if any(is_tied_to_zones(attempt.enc, group) for group, _ in unit.members):
            broken |= {group for group, _ in unit.members}
        else:
            release(attempt, number, int(attempt.left_u[number]), waiting)
            attempt.left_u[number] = 0
    look_again(attempt)
    _leave_new_domains(attempt, waiting)
    while broken := broken | _surprised_groups(attempt):
        _start_afresh(attempt, _web(attempt, broken), waiting)
        look_again(attempt)
        broken = set()
    return {group: count for group, count in waiting.items() if count}


def release(attempt: Attempt, number: int, count: int, waiting: dict[int, int]) -> None:
    """Take the last `count` pods out of a unit: they wait."""
    unit = attempt.units[number]
    unit.count -= count
    while count:
        group, n_pods = unit.members.pop()
        taken = min(n_pods, count)
        if n_pods > taken:
            unit.members.append((group, n_pods - taken))
        waiting[group] = waiting.get(group, 0) + taken
        count -= taken


def look_again(attempt: Attempt) -> None:
    """Which domains do nodes make, existing and planned?"""
    ties, bins, state = attempt.enc.ties, attempt.bins, attempt.settler.state
    if not ties.zones:
        return
    new = slice(bins.n_existing, bins.n)
    offers = np.unique(bins.offer[new][~bins.dead[new]])
    cells = attempt.enc.cell_o[offers]
    for number, term in enumerate(ties.zones):
        if term.kind != TermKind.SPREAD:
            continue
        state.seen[number] = term.seen_d.copy()
        domain_o = ties.domains_ck[cells, term.key]
        state.seen[number][domain_o[(domain_o >= 0) & term.eligible_o[offers]]] = True


def _surprised_groups(attempt: Attempt) -> set[int]:
    """Groups in whose sight a domain has appeared that they did not reckon with."""
    ties, state = attempt.enc.ties, attempt.settler.state
    broken: set[int] = set()
    for number, term in enumerate(ties.zones):
        if term.kind != TermKind.SPREAD or not (state.seen[number] & ~state.foreseen[number]).any():
            continue
        if is_upset(attempt, number, state.match[number], state.seen[number]):
            broken |= {group for group in term.groups if number in ties.zone_own_g[group]}
    return broken


def _leave_new_domains(attempt: Attempt, waiting: dict[int, int]) -> None:
    """Take pods off the nodes with which they opened a domain, where that keeps pods of higher
    priority waiting. Who is counted in zones stays: others may have reckoned with them.
    """
    ties, state, bins = attempt.enc.ties, attempt.settler.state, attempt.bins
    for number, term in enumerate(ties.zones):
        opened_d = state.seen[number] & ~state.foreseen[number]
        if term.kind != TermKind.SPREAD or not opened_d.any():
            continue
        if not is_upset(attempt, number, state.match[number], state.seen[number]):
            continue
        domain_n = ties.domains_ck[bins.cell[: bins.n], term.key]
        inside_n = (domain_n >= 0) & opened_d[domain_n] & ~bins.dead[: bins.n]
        inside_n[: bins.n_existing] = False
        if _are_lower(attempt, number, inside_n):
            _vacate(attempt, inside_n, waiting)


def _are_lower(attempt: Attempt, number: int, inside_n: Bool) -> bool:
    """Whether all pods on these nodes yield to whoever states the spread, and are in no count."""
    enc = attempt.enc
    owners = [
        group for group in enc.ties.zones[number].groups if number in enc.ties.zone_own_g[group]
    ]
    least = min(int(enc.priority_g[group]) for group in owners)
    inside = [attempt.units[unit] for unit, nodes, _ in attempt.bins.log if inside_n[nodes].any()]
    return all(
        unit.priority < least and not any(is_tied_to_zones(enc, group) for group, _ in unit.members)
        for unit in inside
    )


def _vacate(attempt: Attempt, inside_n: Bool, waiting: dict[int, int]) -> None:
    """Take all pods off these nodes."""
    bins, kept = attempt.bins, []
    for number, nodes, counts in bins.log:
        leaves = inside_n[nodes]
        if leaves.any():
            bins.shift(attempt.units[number], nodes[leaves], -counts[leaves])
            release(attempt, number, int(counts[leaves].sum()), waiting)
        if not leaves.all():
            kept.append((number, nodes[~leaves], counts[~leaves]))
    bins.log = kept
    close_empty(attempt)
    look_again(attempt)


def is_upset(attempt: Attempt, number: int, match_d: Int, seen_d: Bool) -> bool:
    """Whether pods of a spread could not be bound with these domains from the start."""
    term = attempt.enc.ties.zones[number]
    return (
        is_skewed(term, match_d, seen_d)
        and depends_on_new(attempt, number)
        and not is_bound_in_turn(attempt, number, seen_d)
    )


def is_bound_in_turn(
    attempt: Attempt, number: int, seen_d: Bool, early: Sequence[Step] = ()
) -> bool:
    """Whether everybody who states a spread finds it kept when it is their turn, whoever comes
    after them; not known where pods have left since. Most pods on existing nodes had theirs before.

    `early` are pods that would come to a new node and be bound before all others.
    """
    ties = attempt.enc.ties
    term = ties.zones[number]
    match_d, planned_d = term.match_d.copy(), attempt.settler.state.match[number].copy()
    late = _after_new_nodes(attempt, number)
    late |= {(group, cell) for group, cell, _ in early if number in ties.zone_own_g[group]}
    for place, (group, cell, count) in enumerate((*early, *attempt.steps)):
        domain = int(ties.domains_ck[cell, term.key])
        is_counted = number in ties.zone_match_g[group] and domain >= 0 and term.counts_c[cell]
        match_d[domain] += count * is_counted
        if place < len(early):
            planned_d[domain] += count * is_counted
        if (group, cell) in late:
            is_counting = int(seen_d.sum()) >= term.min_domains
            least = int(match_d[seen_d].min()) if is_counting else 0
            if int(match_d[domain]) - least > term.max_skew:
                return False
    return bool((match_d == planned_d).all())


def _after_new_nodes(attempt: Attempt, number: int) -> set[tuple[int, int]]:
    """The groups that state a zone term and may have pods that are bound once planned nodes are
    there, and in which cells.
    """
    bins, own_g = attempt.bins, attempt.enc.ties.zone_own_g
    late = [(unit, np.array([node])) for unit, node in sorted(late_places(attempt))]
    new = [(unit, nodes[nodes >= bins.n_existing]) for unit, nodes, _ in bins.log]
    return {
        (group, cell)
        for unit, nodes in (*new, *late)
        for group, _ in attempt.units[unit].members
        if number in own_g[group]
        for cell in bins.cell[nodes].tolist()
    }


def is_skewed(term: ZoneTerm, match_d: Int, seen_d: Bool) -> bool:
    """Whether some domain runs ahead by more than the skew. If none does when all pods are there,
    they can be bound in some order.
    """
    if not seen_d.any():
        return False
    is_counted = int(seen_d.sum()) >= term.min_domains
    least = int(match_d[seen_d].min()) if is_counted else 0
    return int(match_d.max()) - least > term.max_skew


def depends_on_new(attempt: Attempt, number: int) -> bool:
    """Whether a pod that states this zone term is bound once planned nodes are there."""
    bins, own_g, units = attempt.bins, attempt.enc.ties.zone_own_g, attempt.units
    on_new = (unit for unit, nodes, _ in bins.log if (nodes >= bins.n_existing).any())
    return any(
        number in own_g[group]
        for unit in chain(on_new, (unit for unit, _ in late_places(attempt)))
        for group, _ in units[unit].members
    )


def _web(attempt: Attempt, broken: set[int]) -> set[int]:
    """All groups that hang together with these through zone terms, or want them on their node."""
    ties = attempt.enc.ties
    wanting = _groups_wanting_company(ties)
    groups = set(broken)
    queue = sorted(broken)
    seen: set[int] = set()
    while queue:
        group = queue.pop()
        for number in {*ties.zone_own_g[group], *ties.zone_match_g[group]} - seen:
            seen.add(number)
            more = set(ties.zones[number].groups) - groups
            groups |= more
            queue += sorted(more)
        for number in ties.host_match_g[group]:
            more = wanting.pop(number, set()) - groups
            groups |= more
            queue += sorted(more)
    return groups


def _groups_wanting_company(ties: Ties) -> dict[int, set[int]]:
    """For every affinity over hosts the groups that state it."""
    by_term: dict[int, set[int]] = {
        number: set() for number, term in enumerate(ties.hosts) if term.kind == TermKind.AFFINITY
    }
    for group, own in enumerate(ties.host_own_g) if by_term else ():
        for number in by_term.keys() & own:
            by_term[number].add(group)
    return by_term


def _start_afresh(attempt: Attempt, groups: set[int], waiting: dict[int, int]) -> None:
    """Take the pods of these groups off their nodes and out of all counts."""
    bins = attempt.bins
    gone = {
        number
        for number, unit in enumerate(attempt.units)
        if any(group in groups for group, _ in unit.members)
    }
    kept = []
    for number, nodes, counts in bins.log:
        if number in gone:
            bins.shift(attempt.units[number], nodes, -counts)
        else:
            kept.append((number, nodes, counts))
    bins.log = kept
    for number in sorted(gone):
        unit = attempt.units[number]
        for group, count in unit.members:
            attempt.settler.record(group, unit.cell, -count)
            waiting[group] = waiting.get(group, 0) + count
        unit.members = []
        unit.count = 0
        attempt.left_u[number] = 0
    attempt.steps = [step for step in attempt.steps if step[0] not in groups]
    _forget(attempt, groups)
    close_empty(attempt)


def _forget(attempt: Attempt, groups: set[int]) -> None:
    """Nobody of these groups reckons with anything any more."""
    ties, state = attempt.enc.ties, attempt.settler.state
    for number in {number for group in groups for number in ties.zone_own_g[group]}:
        state.foreseen[number][:] = True


def close_empty(attempt: Attempt) -> None:
    """New nodes without pods are not launched: nobody may use them, limits get them back."""
    bins = attempt.bins
    used = np.zeros(bins.n, dtype=bool)
    used[: bins.n_existing] = True
    for _, nodes, _ in bins.log:
        used[nodes] = True
    for node in np.flatnonzero(~used).tolist():
        if not bins.dead[node]:
            bins.accept[:, node] = False
            bins.dead[node] = True
            bins.limits.take(int(bins.offer[node]), -1)
