"""Settles pods on existing nodes, then sets quotas of zones for the others."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import numpy as np
import numpy.typing as npt

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.kernel import loading
from dovetail.solve.packing.attempt import Attempt, left_of, top_weight
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.filling import snug_fill
from dovetail.solve.packing.units import ANY_CELL, PodUnit, is_tied_to_zones, unit_of
from dovetail.solve.program.pod_worth import takes
from dovetail.solve.zones.colocate import is_first
from dovetail.solve.zones.late_starters import is_late
from dovetail.solve.zones.quotas import Outlook, Turn, simple_spread, spread_range
from dovetail.solve.zones.settle_many import settle_at_once, ways
from dovetail.solve.zones.undo import release

_Turn = tuple[int, int, float, int]  # priority, rank and size, each turned around; and who


def settle_all(attempt: Attempt, groups: Iterable[int]) -> None:
    """Nodes that are there and quotas, group by group; free groups as merged units."""
    enc = attempt.enc
    tied: list[int] = []
    free_units: set[int] = set()
    for group in groups:
        if is_tied_to_zones(enc, group):
            tied.append(group)
            continue
        weight = top_weight(attempt, group, ANY_CELL)
        free_units.add(attempt.book.add(group, ANY_CELL, int(enc.count_g[group]), weight))
    attempt.left_u = left_of(attempt)
    span = slice(0, attempt.bins.n)
    items = _tied_items(enc, tied)
    _count_followers(attempt, tied)
    for number in sorted(free_units) if span.stop else ():
        unit = attempt.units[number]
        size = float((unit.request / enc.mean_r).max(initial=0.0))
        items.append(((-unit.priority, 0, -size, number), False))
    without_room = _without_room(attempt, tied, span)
    for is_homeless, turns in groupby(
        sorted(items), lambda item: _next_group(item) in without_room
    ):
        if is_homeless:
            _settle_homeless(attempt, [number for (_, _, _, number), _ in turns])
            continue
        for (_, _, _, number), is_tied in turns:
            if is_tied:
                _settle_group(attempt, number, span)
            else:
                place_on(attempt, number, span)


def _next_group(item: tuple[_Turn, bool]) -> int | None:
    """The tied group whose turn it is."""
    (_, _, _, number), is_tied = item
    return number if is_tied else None


def _without_room(attempt: Attempt, tied: list[int], span: slice) -> set[int]:
    """Groups that ask for more of something than any node has left. Those that want company are
    not among them where there are nodes: it may be there.
    """
    if not span.stop:
        return set(tied)
    ties, request_gr = attempt.enc.ties, attempt.enc.requests_gr[tied]
    free_r = attempt.bins.free[:, span].max(axis=1)
    is_beyond_g = ((request_gr > free_r) & (request_gr > 0)).any(axis=1).tolist()
    return {
        group
        for group, is_beyond in zip(tied, is_beyond_g, strict=True)
        if is_beyond
        and not any(ties.zones[term].kind == TermKind.AFFINITY for term in ties.zone_own_g[group])
        and not any(ties.hosts[term].kind == TermKind.AFFINITY for term in ties.host_own_g[group])
    }


def _tied_items(enc: Encoded, tied: list[int]) -> list[tuple[_Turn, bool]]:
    """When it is the turn of each group: by priority, dependency, size."""
    ranks = _dependency_ranks(enc, tied)
    size_g = (enc.requests_gr / enc.mean_r).max(axis=1, initial=0.0)
    priorities, sizes = enc.priority_g[tied].tolist(), size_g[tied].tolist()
    return [
        ((-priority, ranks[group], -size, group), True)
        for group, priority, size in zip(tied, priorities, sizes, strict=True)
    ]


def _settle_homeless(attempt: Attempt, groups: list[int]) -> None:
    """Quotas for groups in this order that no node has room for."""
    library = loading.library()
    if library is None or attempt.prefer or not groups:
        for group in groups:
            _settle_group(attempt, group, slice(0, 0))
        return
    turns, settled = settle_at_once(library, attempt, groups)
    attempt.steps += turns
    left = dict(zip(groups, attempt.enc.count_g[groups].tolist(), strict=True))
    for group, cell, count, weight in settled:
        attempt.book.add(group, cell, count, weight)
        left[group] -= count
    attempt.unsettled.update((group, count) for group, count in left.items() if count > 0)


def _dependency_ranks(enc: Encoded, tied: list[int]) -> dict[int, int]:
    """Pods that others want to be near, in a zone or on a node, come before those others."""
    rank = dict.fromkeys(tied, 1)
    ties = enc.ties
    wishes = [
        *_wishes(tied, [term.kind for term in ties.zones], (ties.zone_own_g, ties.zone_match_g)),
        *_wishes(tied, [term.kind for term in ties.hosts], (ties.host_own_g, ties.host_match_g)),
    ]
    for _ in range(4):
        for wanting, wanted in wishes:
            first = max((rank[group] for group in wanted), default=0)
            for group in wanting:
                rank[group] = min(6, max(rank[group], first + 1))
    return rank


def _wishes(
    tied: list[int], kinds: list[TermKind], terms_g: tuple[list[list[int]], list[list[int]]]
) -> list[tuple[list[int], list[int]]]:
    """For every affinity to others: the groups that state it, and those that they want."""
    own_g, match_g = terms_g
    wanting: dict[int, list[int]] = {}
    for group in tied:
        for number in own_g[group]:
            if kinds[number] == TermKind.AFFINITY and number not in match_g[group]:
                wanting.setdefault(number, []).append(group)
    wanted: dict[int, list[int]] = {number: [] for number in wanting}
    for group in tied if wanting else ():
        for number in match_g[group]:
            if number in wanted:
                wanted[number].append(group)
    return [(groups, wanted[number]) for number, groups in wanting.items()]


def _count_followers(attempt: Attempt, tied: list[int]) -> None:
    """For every affinity over zones: how many of the pods that state it could go to each domain.

    Whoever comes first chooses for all of them.
    """
    ties, count_g = attempt.enc.ties, attempt.enc.count_g
    stating: dict[int, list[int]] = {
        number: [] for number, term in enumerate(ties.zones) if term.kind == TermKind.AFFINITY
    }
    for group in tied if stating else ():
        for number in ties.zone_own_g[group]:
            if number in stating:
                stating[number].append(group)
    followers = attempt.settler.followers
    for number, groups in stating.items():
        if groups:
            term = ties.zones[number]
            is_in_cd = ties.domains_ck[:, [term.key]] == np.arange(len(term.match_d))
            found_d = count_g[groups] @ (_reach(attempt, groups) @ is_in_cd)
            followers[number] = followers.get(number, 0) + found_d


def _reach(attempt: Attempt, groups: list[int]) -> Bool:
    """groups x cells: where a pod of each could go, to a node that is there or a new one."""
    if not attempt.bins.n:
        return ways(attempt, groups).is_open_gc
    span = slice(0, attempt.bins.n)
    outlooks = [_outlook(attempt, group, span) for group in groups]
    return np.array([outlook.launchable_c | (outlook.existing_c > 0) for outlook in outlooks])


def place_on(attempt: Attempt, number: int, span: slice, *, most: int | None = None) -> None:
    """Put pods of a unit on nodes that are there, best fit; host spreads by their true minimum."""
    bins, unit = attempt.bins, attempt.units[number]
    hosts = bins.enc.ties.hosts
    spreads = [h for h in unit.own if hosts[h].kind == TermKind.SPREAD]
    want = int(attempt.left_u[number]) if most is None else most
    is_early = bins.n == bins.n_existing and not (spreads and _is_late(attempt, unit))
    placed = 0
    while placed < want:
        # New nodes are still to come, and lower the minimum while they are empty.
        for h in spreads if is_early else ():
            bins.floor[h] = host_minimum(bins, h)
        got = snug_fill(bins, number, unit, want - placed, span)
        placed += got
        if not got or not spreads:
            break
    bins.floor[spreads] = 0
    attempt.left_u[number] -= placed


def _is_late(attempt: Attempt, unit: PodUnit) -> bool:
    """Whether pods of a unit are bound only once new nodes are there."""
    return any(is_late(attempt, group, unit.cell) for group, _ in unit.members)


def host_minimum(bins: Bins, number: int, n_hosts: int | None = None) -> int:
    """The least that any node which counts (of the first so many) holds of a host spread's pods."""
    return least_per_host(
        bins, number, bins.match[number, : bins.n if n_hosts is None else n_hosts]
    )


def least_per_host(bins: Bins, number: int, match_n: npt.NDArray[np.int32]) -> int:
    """The same if the first nodes hold so many each."""
    counts = match_n[counted_hosts(bins, number)[: len(match_n)]]
    enough = max(bins.enc.ties.hosts[number].min_domains, 1)
    return int(counts.min()) if len(counts) >= enough else 0


def counted_hosts(bins: Bins, number: int) -> Bool:
    """The nodes over which a host spread takes its minimum."""
    term = bins.enc.ties.hosts[number]
    new = slice(bins.n_existing, bins.n)
    return np.concatenate([term.eligible_n, term.eligible_o[bins.offer[new]] & ~bins.dead[new]])


def _outlook(attempt: Attempt, group: int, span: slice) -> Outlook:
    """What a group finds on the nodes of the span, and what could be launched for it."""
    enc, bins = attempt.enc, attempt.bins
    n_cells = len(enc.ties.domains_ck)
    existing = attempt.settler.nothing_c
    first = is_first(bins, attempt.settler.state, group)
    if span.stop:
        count = int(enc.count_g[group])
        room = np.minimum(bins.room(unit_of(enc, group), span), count)
        cell = bins.cell[span]
        existing = np.bincount(cell, weights=room, minlength=n_cells).astype(np.int64)
    worth_c = attempt.values.cell_worth(group)
    launchable, weight_c = attempt.values.is_open_sc[attempt.values.shape_g[group]], None
    if len(attempt.weights) > 1 or bins.limits.are_finite:
        launchable, weight_c = _within_limits(attempt, group, launchable)
    prefer = attempt.prefer.get(group, ())
    return Outlook(launchable, existing, worth_c, prefer, weight_c, first)


def _within_limits(attempt: Attempt, group: int, launchable_c: Bool) -> tuple[Bool, Int | None]:
    """The cells that limits leave open for a group, and the heaviest pool of each."""
    enc, offers = attempt.enc, attempt.offers
    fits = takes(enc, np.array([group]), offers)[0] & attempt.bins.limits.open_offers()[offers]
    cell, weight = enc.cell_o[offers][fits], enc.weight_o[offers][fits]
    launchable_c = launchable_c & (np.bincount(cell, minlength=len(launchable_c)) > 0)
    if len(attempt.weights) < 2:
        return launchable_c, None
    weight_c = np.full(len(launchable_c), -1, dtype=np.int64)
    np.maximum.at(weight_c, cell, weight)
    return launchable_c, weight_c


def _settle_group(attempt: Attempt, group: int, span: slice) -> None:
    enc = attempt.enc
    count = int(enc.count_g[group])
    if _lacks_company(attempt, group):
        attempt.unsettled[group] = count
        return
    outlook = _outlook(attempt, group, span)
    turns = _single_spread(attempt, group, outlook)
    if turns is None:
        turns = attempt.settler.settle(group, count, outlook)
    placed: dict[int, int] = {}
    for cell, step in turns:
        placed[cell] = placed.get(cell, 0) + step
    attempt.steps += [(group, cell, step) for cell, step in turns]
    left = count - sum(placed.values())
    if left > 0:
        attempt.unsettled[group] = left
    for cell, step in sorted(placed.items()):
        if span.stop:
            _add_settled(attempt, group, (cell, step), span)
        else:  # what is left is counted once all is settled
            attempt.book.add(group, cell, step, top_weight(attempt, group, cell))


def _lacks_company(attempt: Attempt, group: int) -> bool:
    """Whether pods want company on their node that nobody settled before them could be: whoever
    counts on them now might be that company, and both would wait for each other.
    """
    ties, bins = attempt.enc.ties, attempt.bins
    return any(
        ties.hosts[number].kind == TermKind.AFFINITY
        and number not in ties.host_match_g[group]
        and ties.hosts[number].match_o is None
        and not bins.match[number, : bins.n].any()
        and not any(unit.count and number in unit.match for unit in attempt.units)
        for number in ties.host_own_g[group]
    )


def _single_spread(attempt: Attempt, group: int, outlook: Outlook) -> list[Turn] | None:
    """Quotas of a spread that concerns nobody else: the least everywhere, the rest where cheap."""
    enc = attempt.enc
    zone = simple_spread(enc, group)
    if zone is None or outlook.existing_c.any() or outlook.pod_by_pod():
        return None
    bounds = spread_range(enc, group, zone, outlook.launchable_c)
    if bounds is None:
        return None
    domain_c = enc.ties.domains_ck[:, enc.ties.zones[zone].key]
    low, high = bounds
    fine = (outlook.launchable_c & (domain_c >= 0)).tolist()
    best: dict[int, int] = {}
    for cell in outlook.order():
        if fine[cell]:
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
    attempt.settler.foresee(group, outlook)
    for cell in np.flatnonzero(placed).tolist():
        attempt.settler.record(group, cell, int(placed[cell]))
    return [
        (cell, 1)
        for level in range(int(placed.max(initial=0)))
        for cell in np.flatnonzero(placed > level).tolist()
    ]


def _add_settled(attempt: Attempt, group: int, quota: tuple[int, int], span: slice) -> None:
    cell, count = quota
    number = attempt.book.add(group, cell, count, top_weight(attempt, group, cell))
    grown = len(attempt.units) - len(attempt.left_u)
    if grown:
        attempt.left_u = np.concatenate([attempt.left_u, np.zeros(grown, dtype=np.int64)])
    attempt.left_u[number] += count
    if span.stop:
        place_on(attempt, number, span, most=count)


def move_over(attempt: Attempt, number: int, tried: set[tuple[int, int]]) -> bool:
    """Let what is left of a unit go to a cell of the same domains, if a pool of its weight still
    launches there; says whether one does. No cell is tried twice.
    """
    enc, unit, offers = attempt.enc, attempt.units[number], attempt.offers
    if unit.cell == ANY_CELL or len(unit.members) != 1:
        return False
    group, old, count = unit.members[0][0], unit.cell, int(attempt.left_u[number])
    tried.add((group, old))
    beside_c = _same_domains(enc, group, old)
    beside_c[[cell for moved, cell in tried if moved == group]] = False
    fits = takes(enc, np.array([group]), offers)[0] & attempt.bins.limits.open_offers()[offers]
    open_now = offers[fits & beside_c[enc.cell_o[offers]] & (enc.weight_o[offers] == unit.weight)]
    if not len(open_now):
        return False
    cell = int(enc.cell_o[open_now[np.argmin(enc.plan_price_o[open_now])]])
    release(attempt, number, count, {})
    attempt.left_u[number] = 0
    attempt.settler.record(group, old, -count)
    attempt.settler.record(group, cell, count)
    _move_steps(attempt, group, (old, cell), count)
    planned = slice(attempt.bins.n_existing, attempt.bins.n)
    _add_settled(attempt, group, (cell, count), planned)
    return True


def _same_domains(enc: Encoded, group: int, cell: int) -> Bool:
    """The cells that no zone term of the group tells from this one."""
    ties = enc.ties
    alike = np.ones(len(ties.domains_ck), dtype=bool)
    for number in {*ties.zone_own_g[group], *ties.zone_match_g[group]}:
        term = ties.zones[number]
        domain_c = ties.domains_ck[:, term.key]
        alike &= (domain_c == domain_c[cell]) & (term.counts_c == term.counts_c[cell])
    return alike


def _move_steps(attempt: Attempt, group: int, way: tuple[int, int], count: int) -> None:
    """The last so many pods of a group in one cell have gone to another instead."""
    old, new = way
    steps: list[tuple[int, int, int]] = []
    for stepped, cell, n_placed in reversed(attempt.steps):
        moved = min(n_placed, count) if (stepped, cell) == (group, old) else 0
        count -= moved
        steps += [(stepped, new, moved)] if moved else []
        steps += [(stepped, cell, n_placed - moved)] if n_placed > moved else []
    attempt.steps = steps[::-1]
