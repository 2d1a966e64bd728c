"""Could a pod that is left over not go somewhere after all?

Bulk packing works with quotas over every domain that could be launched; kube-scheduler only knows
domains that nodes make. So whatever is left (limits, mostly) is tried again here, one pod at a
time, by kube-scheduler's own rules: on every node there is or will be, then on a new node of every
offer that limits still allow, heaviest pools first. Afterwards no waiting pod has a place to go.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.attempt import Attempt
from dovetail.solve.axes import Bool, Int
from dovetail.solve.bins import EXISTING
from dovetail.solve.quotas import Outlook
from dovetail.solve.terms import Kind
from dovetail.solve.units import ANY_CELL, Unit, is_tied_to_zones


def rescue(attempt: Attempt) -> dict[int, int]:
    """Place what can still be placed; returns how many pods of which group stay out."""
    waiting = _left_over(attempt)
    if not waiting:
        return {}
    _see_new_nodes(attempt)
    progress = True
    while progress and waiting:
        progress = False
        for group in _order(attempt, waiting):
            while waiting.get(group, 0) and _place_one(attempt, group):
                waiting[group] -= 1
                progress = True
            if not waiting[group]:
                del waiting[group]
    return waiting


def _order(attempt: Attempt, waiting: dict[int, int]) -> list[int]:
    enc = attempt.enc
    mean = np.maximum(enc.cap_or.mean(axis=0), 1.0) if enc.n_offers else 1.0
    size = (enc.requests_gr / mean).max(axis=1)
    return sorted(waiting, key=lambda group: (-int(enc.priority_g[group]), -size[group], group))


def _left_over(attempt: Attempt) -> dict[int, int]:
    """Pods without a node, by group. Where quotas could not be filled, the whole web of groups
    that hang together through zone terms starts afresh: their counts were wrong for each other.
    """
    waiting = dict(attempt.unsettled)
    broken: set[int] = set()
    for number in np.flatnonzero(attempt.left_u).tolist():
        unit = attempt.units[number]
        if any(is_tied_to_zones(attempt.enc, group) for group, _ in unit.members):
            broken.add(number)
        else:
            _return(attempt, unit, int(attempt.left_u[number]), waiting)
            attempt.left_u[number] = 0
    if broken:
        _start_afresh(attempt, _web(attempt, broken), waiting)
    return {group: count for group, count in waiting.items() if count}


def _return(attempt: Attempt, unit: Unit, count: int, waiting: dict[int, int]) -> None:
    """Take the last `count` pods out of a unit."""
    unit.count -= count
    while count:
        group, held = unit.members.pop()
        taken = min(held, count)
        if held > taken:
            unit.members.append((group, held - taken))
        waiting[group] = waiting.get(group, 0) + taken
        count -= taken
    del attempt


def _web(attempt: Attempt, broken: set[int]) -> set[int]:
    """All units that hang together with these through zone terms."""
    ties = attempt.enc.ties
    terms: set[int] = set()
    units = set(broken)
    grew = True
    while grew:
        grew = False
        for number, unit in enumerate(attempt.units):
            for group, _ in unit.members:
                mine = {*ties.zone_own_g[group], *ties.zone_match_g[group]}
                if number in units and not mine <= terms:
                    terms |= mine
                    grew = True
                elif number not in units and mine & terms:
                    units.add(number)
                    grew = True
    return units


def _start_afresh(attempt: Attempt, units: set[int], waiting: dict[int, int]) -> None:
    """Take the pods of these units off their nodes and out of all counts."""
    bins = attempt.bins
    kept = []
    for number, nodes, counts in bins.log:
        if number in units:
            bins.shift(attempt.units[number], nodes, -counts)
        else:
            kept.append((number, nodes, counts))
    bins.log = kept
    gone = set()
    for number in sorted(units):
        unit = attempt.units[number]
        for group, count in unit.members:
            attempt.settler.record(group, unit.cell, -count)
            waiting[group] = waiting.get(group, 0) + count
            gone.add(group)
        unit.members = []
        unit.count = 0
        attempt.left_u[number] = 0
    attempt.steps = [step for step in attempt.steps if step[0] not in gone]
    _close_empty(attempt)


def _close_empty(attempt: Attempt) -> None:
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


def _see_new_nodes(attempt: Attempt) -> None:
    """Planned nodes make domains, as existing ones do."""
    bins = attempt.bins
    live = ~bins.dead[: bins.n]
    live[: bins.n_existing] = False
    for node in np.flatnonzero(live).tolist():
        _see(attempt, int(bins.cell[node]))


def _see(attempt: Attempt, cell: int) -> None:
    ties = attempt.enc.ties
    for number, term in enumerate(ties.zones):
        domain = ties.domains_ck[cell, term.key]
        if domain >= 0:
            attempt.settler.state.seen[number][domain] = True


def _place_one(attempt: Attempt, group: int) -> bool:
    """One pod of the group: on a node there is, else on a new one."""
    enc, bins = attempt.enc, attempt.bins
    probe = Unit(
        enc.requests_gr[group],
        int(enc.mask_g[group]),
        ANY_CELL,
        tuple(enc.ties.host_own_g[group]),
        tuple(enc.ties.host_match_g[group]),
        int(enc.priority_g[group]),
    )
    _set_floors(attempt, probe)
    room = bins.room(probe, slice(0, bins.n))
    _allow_first(attempt, probe, room)
    n_cells = len(enc.ties.domains_ck)
    existing = np.bincount(bins.cell[: bins.n], weights=room, minlength=n_cells).astype(np.int64)
    nowhere = np.zeros(n_cells, dtype=bool)
    found = False
    if existing.any():
        cell = _settle_one(attempt, group, Outlook(nowhere, existing, np.zeros(n_cells)))
        if cell is not None:
            here = np.flatnonzero((room > 0) & (bins.cell[: bins.n] == cell))
            _put(attempt, group, cell, int(here[_snuggest(attempt, here)]))
            found = True
    bins.floor[:] = 0
    return found or _open_for(attempt, group, probe)


def _snuggest(attempt: Attempt, nodes: Int) -> int:
    free = attempt.bins.free[:2, nodes].astype(np.float64)
    scale = np.maximum(free.max(axis=1, keepdims=True), 1.0)
    is_new = attempt.bins.offer[nodes] != EXISTING
    return int(np.lexsort((nodes, (free / scale).sum(axis=0), is_new))[0])


def _set_floors(attempt: Attempt, probe: Unit) -> None:
    """The true minimum of host spreads, over nodes that count for the pod."""
    bins = attempt.bins
    for number in probe.own:
        term = attempt.enc.ties.hosts[number]
        if term.kind != Kind.SPREAD:
            continue
        counts = np.concatenate(
            [term.eligible_n, bins.accept[probe.mask, bins.n_existing : bins.n]]
        )
        held = bins.match[number, : bins.n][counts]
        bins.floor[number] = int(held.min()) if len(held) else 0


def _allow_first(attempt: Attempt, probe: Unit, room: Int) -> None:
    """The first pod of a group that wants its own company may go anywhere."""
    bins = attempt.bins
    hosts = attempt.enc.ties.hosts
    wanted = [number for number in probe.own if hosts[number].kind == Kind.AFFINITY]
    if not wanted or not all(number in probe.match for number in wanted):
        return
    if any(bins.match[number, : bins.n].any() for number in wanted):
        return
    others = tuple(number for number in probe.own if number not in wanted)
    alone = Unit(probe.request, probe.mask, ANY_CELL, others, probe.match, probe.priority)
    room[:] = bins.room(alone, slice(0, bins.n))


def _settle_one(attempt: Attempt, group: int, outlook: Outlook) -> int | None:
    placed = attempt.settler.settle(group, 1, outlook)
    cells = np.flatnonzero(placed)
    return int(cells[0]) if len(cells) else None


def _put(attempt: Attempt, group: int, cell: int, node: int) -> None:
    tied = is_tied_to_zones(attempt.enc, group)
    number = attempt.book.add(group, cell if tied else ANY_CELL, 1)
    grown = len(attempt.units) - len(attempt.left_u)
    if grown:
        attempt.left_u = np.concatenate([attempt.left_u, np.zeros(grown, dtype=np.int64)])
    attempt.bins.put(number, attempt.units[number], np.array([node]), np.array([1]))
    attempt.steps.append((group, cell, 1))


def _open_for(attempt: Attempt, group: int, probe: Unit) -> bool:
    """A new node for one pod: the heaviest pool, then the cheapest offer, that the rules allow."""
    enc, bins = attempt.enc, attempt.bins
    if not _may_start(attempt, probe):
        return False
    fits = bins.fits_new(probe) & bins.limits.open_offers()
    n_cells = len(enc.ties.domains_ck)
    offers = np.flatnonzero(fits)
    ranked = offers[np.lexsort((offers, enc.plan_price_o[offers], -enc.weight_o[offers]))]
    tried: set[int] = set()
    for offer in ranked.tolist():
        cell = int(enc.cell_o[offer])
        if cell in tried:
            continue
        tried.add(cell)
        only: Bool = np.zeros(n_cells, dtype=bool)
        only[cell] = True
        nothing = np.zeros(n_cells, dtype=np.int64)
        if _settle_one(attempt, group, Outlook(only, nothing, np.zeros(n_cells))) is not None:
            span = bins.open(offer, 1)
            _see(attempt, cell)
            _put(attempt, group, cell, span.start)
            return True
    return False


def _may_start(attempt: Attempt, probe: Unit) -> bool:
    """Whether a pod may be the first on an empty node: nobody there is the company it wants."""
    bins = attempt.bins
    for number in probe.own:
        if attempt.enc.ties.hosts[number].kind == Kind.AFFINITY and (
            number not in probe.match or bins.match[number, : bins.n].any()
        ):
            return False
    return True
