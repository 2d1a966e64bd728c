"""Places left-over pods one by one, by the rules of kube-scheduler.

Bulk packing works with quotas over every domain that could be launched; kube-scheduler only knows
domains that nodes make. So whatever is left (limits, mostly) is tried again here, one pod at a
time, by kube-scheduler's own rules: on every node there is or will be, then on a new node of every
offer that limits still allow, heaviest pools first. Afterwards no waiting pod has a place to go.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.units import ANY_CELL, PodUnit, is_tied_to_zones, unit_of
from dovetail.solve.zones.colocate import is_first, without_company
from dovetail.solve.zones.late_starters import late_places
from dovetail.solve.zones.quotas import Outlook
from dovetail.solve.zones.settle import counted_hosts, host_minimum
from dovetail.solve.zones.undo import is_bound_in_turn, is_upset, take_back


def rescue(attempt: Attempt) -> dict[int, int]:
    """Place what can still be placed; returns how many pods of which group stay out."""
    waiting = take_back(attempt)
    progress = True
    while progress and waiting:
        progress = False
        for group in _order(attempt, waiting):
            while waiting[group] and _place_one(attempt, group):
                waiting[group] -= 1
                progress = True
            if not waiting[group]:
                del waiting[group]
    attempt.unsettled = dict(waiting)
    return waiting


def _order(attempt: Attempt, waiting: dict[int, int]) -> list[int]:
    enc = attempt.enc
    size = (enc.requests_gr / enc.mean_r).max(axis=1)
    return sorted(waiting, key=lambda group: (-int(enc.priority_g[group]), -size[group], group))


def _place_one(attempt: Attempt, group: int) -> bool:
    """One pod of the group: on a node there is, else in the heaviest pool, planned or new."""
    probe, first = _probe(attempt, group)
    if _join(attempt, group, (probe, first), slice(0, attempt.bins.n_existing)):
        return True
    return any(place_in_pool(attempt, group, weight) for weight in attempt.weights)


def place_in_pool(attempt: Attempt, group: int, weight: int, cell: int = ANY_CELL) -> bool:
    """One pod of the group on a node of pools of this weight, planned or new, in a cell or any."""
    probe, first = _probe(attempt, group)
    probe.weight, probe.cell = weight, cell
    new = slice(attempt.bins.n_existing, attempt.bins.n)
    if _join(attempt, group, (probe, first), new):
        return True
    return _open_for(attempt, group, (probe, first))


def _probe(attempt: Attempt, group: int) -> tuple[PodUnit, bool]:
    """One pod of the group, bound after all others, and whether it is the first of its kind."""
    probe = _as_the_last(attempt, unit_of(attempt.enc, group))
    first = is_first(attempt.bins, attempt.settler.state, group)
    return (without_company(attempt.bins, probe), first) if first else (probe, first)


def _as_the_last(attempt: Attempt, unit: PodUnit) -> PodUnit:
    """A unit whose pods are bound after all others: spreads that only count it do not mind."""
    hosts = attempt.enc.ties.hosts
    match = [h for h in unit.match if h in unit.own or hosts[h].kind != TermKind.SPREAD]
    return replace(unit, match=tuple(match))


def _join(attempt: Attempt, group: int, pod: tuple[PodUnit, bool], span: slice) -> bool:
    """Put one pod on the snuggest node of the span that may take it."""
    probe, first = pod
    enc, bins = attempt.enc, attempt.bins
    if span.stop <= span.start:
        return False
    room = _room(attempt, probe, span)
    n_cells = len(enc.ties.domains_ck)
    cell_s = bins.cell[span]
    existing = np.bincount(cell_s, weights=room > 0, minlength=n_cells).astype(np.int64)
    if not existing.any():
        return False
    nowhere = np.zeros(n_cells, dtype=bool)
    outlook = Outlook(nowhere, existing, np.zeros(n_cells), is_first=first)
    cell = settle_one(attempt, group, outlook)
    if cell is None:
        return False
    here = np.flatnonzero((room > 0) & (cell_s == cell)) + span.start
    node = int(here[_fullest(attempt, here)])
    _note_dependence(attempt, probe, node)
    put_one(attempt, group, cell, node)
    return True


def _spreads(attempt: Attempt, unit: PodUnit) -> list[int]:
    """The spreads over hosts that a unit states."""
    return [h for h in unit.own if attempt.enc.ties.hosts[h].kind == TermKind.SPREAD]


def _room(attempt: Attempt, probe: PodUnit, span: slice) -> Int:
    """How many pods the nodes of a span could take, with host spreads by their true minimum."""
    bins, spreads = attempt.bins, _spreads(attempt, probe)
    # Pods on existing nodes are bound before any other node comes and lowers the minimum.
    may_lean = attempt.may_lean or span.stop <= bins.n_existing
    for number in spreads if may_lean else ():
        bins.floor[number] = host_minimum(bins, number)
    room = bins.room(probe, span)
    bins.floor[spreads] = 0
    return room


def _note_dependence(attempt: Attempt, probe: PodUnit, node: int) -> None:
    """Note the spreads that a pod on this node will keep only because no node holds fewer."""
    for number in _spreads(attempt, probe):
        count = attempt.bins.match[number, node] + (number in probe.match)
        if count > attempt.enc.ties.hosts[number].max_skew:
            attempt.leaned_on.add(number)


def _fullest(attempt: Attempt, nodes: Int) -> int:
    free = attempt.bins.free[:2, nodes].astype(np.float64)
    scale = np.maximum(free.max(axis=1, keepdims=True), 1.0)
    is_new = attempt.bins.offer[nodes] != EXISTING
    return int(np.lexsort((nodes, (free / scale).sum(axis=0), is_new))[0])


def settle_one(attempt: Attempt, group: int, outlook: Outlook) -> int | None:
    """The cell for one more pod of the group, counted at once; None if there is none."""
    turns = attempt.settler.settle(group, 1, outlook)
    return turns[0][0] if turns else None


def put_one(attempt: Attempt, group: int, cell: int, node: int) -> None:
    """Put one pod of the group, already counted in its cell, on a node."""
    tied = is_tied_to_zones(attempt.enc, group)
    number = attempt.book.add(group, cell if tied else ANY_CELL, 1)
    grown = len(attempt.units) - len(attempt.left_u)
    if grown:
        attempt.left_u = np.concatenate([attempt.left_u, np.zeros(grown, dtype=np.int64)])
    attempt.bins.put(number, attempt.units[number], np.array([node]), np.array([1]))
    attempt.steps.append((group, cell, 1))


def _open_for(attempt: Attempt, group: int, pod: tuple[PodUnit, bool]) -> bool:
    """A new node for one pod: the cheapest offer that the rules allow."""
    probe, first = pod
    enc, bins = attempt.enc, attempt.bins
    n_cells = len(enc.ties.domains_ck)
    offers = np.flatnonzero(bins.fits_new(probe) & bins.limits.open_offers())
    ranked = offers[np.lexsort((offers, enc.plan_price_o[offers]))]
    refused: set[int] = set()
    for offer in ranked.tolist():
        cell = int(enc.cell_o[offer])
        if cell in refused or _undoes(attempt, group, offer):
            continue
        span = bins.open(offer, 1)
        if _room(attempt, probe, span)[0] > 0:
            only: Bool = np.zeros(n_cells, dtype=bool)
            only[cell] = True
            nothing = np.zeros(n_cells, dtype=np.int64)
            outlook = Outlook(only, nothing, np.zeros(n_cells), is_first=first)
            if settle_one(attempt, group, outlook) is not None:
                has_opened = see(attempt, offer)
                _note_dependence(attempt, probe, span.start)
                put_one(attempt, group, cell, span.start)
                if has_opened:
                    _bind_early(attempt)
                return True
            refused.add(cell)
        bins.close_last()
    return False


def _undoes(attempt: Attempt, group: int, offer: int) -> bool:
    """Whether one more node of an offer would undo a placement: a domain or host that nobody has
    reckoned with lowers the minimum of a spread.
    """
    if any(_tilts(attempt, number, group, offer) for number in sorted(attempt.leaned_on)):
        return True
    return _upsets(attempt, group, offer) and not _may_be_first(attempt, group, offer)


def _upsets(attempt: Attempt, group: int, offer: int) -> bool:
    """Whether spreads could not bear a domain that a node of an offer opens for the group."""
    enc, state = attempt.enc, attempt.settler.state
    for number, term in enumerate(enc.ties.zones):
        domain = enc.ties.domains_ck[enc.cell_o[offer], term.key]
        if term.kind != TermKind.SPREAD or domain < 0 or not term.eligible_o[offer]:
            continue
        if state.foreseen[number][domain] or state.seen[number][domain]:
            continue
        match_d, seen_d = state.match[number].copy(), state.seen[number].copy()
        match_d[domain] += number in enc.ties.zone_match_g[group]
        seen_d[domain] = True
        if is_upset(attempt, number, match_d, seen_d):
            return True
    return False


def _may_be_first(attempt: Attempt, group: int, offer: int) -> bool:
    """Whether all spreads would be kept if the pod for whom a node is opened were bound before
    everybody else. Where company matters, so does the order.
    """
    enc, seen = attempt.enc, attempt.settler.state.seen
    cell = int(enc.cell_o[offer])
    if _is_after_company(attempt, group):
        return False
    for number, term in enumerate(enc.ties.zones):
        if term.kind != TermKind.SPREAD:
            continue
        seen_d = seen[number].copy()
        domain = enc.ties.domains_ck[cell, term.key]
        seen_d[domain] |= domain >= 0 and term.eligible_o[offer]
        if not is_bound_in_turn(attempt, number, seen_d, [(group, cell, 1)]):
            return False
    return True


def _is_after_company(attempt: Attempt, group: int) -> bool:
    ties = attempt.enc.ties
    concerned = (*ties.zone_own_g[group], *ties.zone_match_g[group])
    return any(ties.zones[number].kind == TermKind.AFFINITY for number in concerned)


def _tilts(attempt: Attempt, number: int, group: int, offer: int) -> bool:
    """Whether pods that lean on a host minimum would stand too high beside this new node.

    Most pods on existing nodes are bound before it is there.
    """
    bins, term = attempt.bins, attempt.enc.ties.hosts[number]
    if not term.eligible_o[offer]:
        return False
    fresh = int(number in attempt.enc.ties.host_match_g[group])
    counts = bins.match[number, : bins.n][counted_hosts(bins, number)]
    least = min(fresh, int(counts.min(initial=fresh)))
    late_n = np.arange(bins.n) >= bins.n_existing
    late_n[[node for _, node in late_places(attempt)]] = True
    late_n &= bins.own[number, : bins.n] > 0
    highest = int(bins.match[number, : bins.n][late_n].max(initial=0))
    return highest - least > term.max_skew


def see(attempt: Attempt, offer: int) -> bool:
    """A node of this offer makes domains, as existing nodes do; says whether any is new."""
    enc, state = attempt.enc, attempt.settler.state
    is_new = False
    for number, term in enumerate(enc.ties.zones):
        domain = enc.ties.domains_ck[enc.cell_o[offer], term.key]
        if domain >= 0 and term.eligible_o[offer]:
            is_new |= not state.seen[number][domain]
            state.seen[number][domain] = True
    return is_new


def _bind_early(attempt: Attempt) -> None:
    """Let the last pod, which opened a domain, be bound before those whom an empty one would keep
    waiting. Where company matters, so does the order.
    """
    ties, before = attempt.enc.ties, attempt.steps
    if _is_after_company(attempt, before[-1][0]):
        return
    spreads = [n for n, term in enumerate(ties.zones) if term.kind == TermKind.SPREAD]
    seen = attempt.settler.state.seen
    if not all(is_bound_in_turn(attempt, number, seen[number]) for number in spreads):
        attempt.steps = [before[-1], *before[:-1]]
        if not all(is_bound_in_turn(attempt, number, seen[number]) for number in spreads):
            attempt.steps = before
