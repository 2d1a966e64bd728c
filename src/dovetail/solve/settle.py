"""Where do waiting pods go before any node is bought? Existing nodes, then quotas for cells."""

from __future__ import annotations

import numpy as np

from dovetail.solve.attempt import Attempt, left_of, top_weight
from dovetail.solve.axes import Int
from dovetail.solve.bins import Bins
from dovetail.solve.encode import Encoded
from dovetail.solve.filling import snug_fill
from dovetail.solve.quotas import Outlook, simple_spread, spread_range
from dovetail.solve.terms import Kind
from dovetail.solve.units import ANY_CELL, Unit, is_tied_to_zones


def settle_all(attempt: Attempt) -> None:
    """Existing nodes and quotas, group by group; free groups as merged units."""
    enc = attempt.enc
    tied = [group for group in range(len(enc.groups)) if is_tied_to_zones(enc, group)]
    tied_set = set(tied)
    free_units: list[int] = []
    for group in range(len(enc.groups)):
        if group not in tied_set:
            number = attempt.book.add(
                group, ANY_CELL, int(enc.count_g[group]), top_weight(attempt, group, ANY_CELL)
            )
            free_units.append(number)
    attempt.left_u = left_of(attempt)
    items: list[tuple[tuple[object, ...], int, bool]] = []
    mean = np.maximum(enc.cap_or.mean(axis=0), 1.0) if enc.n_offers else np.ones(len(enc.resources))
    for number in sorted(set(free_units)):
        unit = attempt.units[number]
        size = float((unit.request / mean).max(initial=0.0))
        items.append(((-unit.priority, 0, -size, number), number, False))
    ranks = _dependency_ranks(enc, tied)
    for group in tied:
        size = float((enc.requests_gr[group] / mean).max(initial=0.0))
        items.append(((-int(enc.priority_g[group]), ranks[group], -size, group), group, True))
    for _, number, is_tied in sorted(items, key=lambda item: item[0]):
        if is_tied:
            _settle_group(attempt, number)
        elif attempt.bins.n_existing:
            place_on_existing(attempt.bins, number, attempt.units[number], attempt.left_u)


def _dependency_ranks(enc: Encoded, tied: list[int]) -> dict[int, int]:
    """Pods that others want to be near come before those others."""
    rank = dict.fromkeys(tied, 1)
    for _ in range(4):
        for group in tied:
            for number in enc.ties.zone_own_g[group]:
                if enc.ties.zones[number].kind != Kind.AFFINITY:
                    continue
                if number in enc.ties.zone_match_g[group]:
                    continue
                wanted = [one for one in tied if number in enc.ties.zone_match_g[one]]
                rank[group] = max([rank[group], *(rank[one] + 1 for one in wanted)])
                rank[group] = min(rank[group], 6)
    return rank


def place_on_existing(
    bins: Bins, number: int, unit: Unit, left: Int, most: int | None = None
) -> int:
    """Put pods of a unit on existing nodes, best fit; host spreads by their true minimum."""
    span = slice(0, bins.n_existing)
    hosts = bins.enc.ties.hosts
    spreads = [h for h in unit.own if hosts[h].kind == Kind.SPREAD]
    want = int(left[number]) if most is None else most
    placed = 0
    while placed < want:
        for h in spreads:
            counted = bins.match[h, span][hosts[h].eligible_n]
            bins.floor[h] = int(counted.min()) if len(counted) else 0
        got = snug_fill(bins, number, unit, want - placed, span)
        placed += got
        if not got or not spreads:
            break
    bins.floor[spreads] = 0
    left[number] -= placed
    return placed


def _settle_group(attempt: Attempt, group: int) -> None:
    enc, settler = attempt.enc, attempt.settler
    count = int(enc.count_g[group])
    probe = Unit(
        enc.requests_gr[group],
        int(enc.mask_g[group]),
        ANY_CELL,
        tuple(enc.ties.host_own_g[group]),
        tuple(enc.ties.host_match_g[group]),
        0,
    )
    bins = attempt.bins
    n_cells = len(enc.ties.domains_ck)
    existing = np.zeros(n_cells, dtype=np.int64)
    if bins.n_existing:
        room = np.minimum(bins.room(probe, slice(0, bins.n_existing)), count)
        existing = np.bincount(enc.cell_n, weights=room, minlength=n_cells).astype(np.int64)
    worth_c = attempt.values.cell_worth(group)
    outlook = Outlook(np.isfinite(worth_c), existing, worth_c, attempt.prefer)
    placed = _lone_spread(attempt, group, outlook)
    if placed is None:
        before = len(attempt.steps)
        placed = settler.settle(group, count, outlook)
        del before
        attempt.steps += [(group, c, int(placed[c])) for c in np.flatnonzero(placed).tolist()]
    if count > int(placed.sum()):
        attempt.unsettled[group] = count - int(placed.sum())
    for cell in np.flatnonzero(placed).tolist():
        _add_settled(attempt, group, cell, int(placed[cell]))


def _lone_spread(attempt: Attempt, group: int, outlook: Outlook) -> Int | None:
    """Quotas of a spread that concerns nobody else: the least everywhere, the rest where cheap."""
    enc = attempt.enc
    zone = simple_spread(enc, group)
    if zone is None or outlook.existing_c.any():
        return None
    bounds = spread_range(enc, group, zone, outlook.launchable_c)
    if bounds is None:
        return None
    domain_c = enc.ties.domains_ck[:, enc.ties.zones[zone].key]
    low, high = bounds
    cells = np.flatnonzero(outlook.launchable_c & (domain_c >= 0))
    best: dict[int, int] = {}
    for cell in cells[
        np.lexsort((cells, outlook.worth_c[cells], cells != attempt.prefer))
    ].tolist():
        best.setdefault(int(domain_c[cell]), cell)
    placed = np.zeros(len(domain_c), dtype=np.int64)
    left = int(enc.count_g[group])
    for domain, cell in best.items():
        placed[cell] = min(int(low[domain]), left)
        left -= int(placed[cell])
    for domain, cell in best.items():
        more = min(int(high[domain] - low[domain]), left)
        placed[cell] += more
        left -= more
    attempt.steps += [
        (group, cell, 1)
        for level in range(int(placed.max(initial=0)))
        for cell in np.flatnonzero(placed > level).tolist()
    ]
    for cell in np.flatnonzero(placed).tolist():
        attempt.settler.record(group, cell, int(placed[cell]))
    return placed


def _add_settled(attempt: Attempt, group: int, cell: int, count: int) -> None:
    number = attempt.book.add(group, cell, count, top_weight(attempt, group, cell))
    grown = len(attempt.units) - len(attempt.left_u)
    if grown:
        attempt.left_u = np.concatenate([attempt.left_u, np.zeros(grown, dtype=np.int64)])
    attempt.left_u[number] += count
    if attempt.bins.n_existing:
        unit = attempt.units[number]
        place_on_existing(attempt.bins, number, unit, attempt.left_u, most=count)
