"""Decides how many pods of a group go to which cell: spread, affinity and anti-affinity.

Terms over zones (or any key wider than a node) are settled before packing. Groups are taken one
after another, with exact counts of who is where; each pod goes to a cell that its own constraints
allow at that moment. So the order of settling is an order in which kube-scheduler could bind them,
and packing need only keep every unit in its cell.

A domain counts for a spread when existing nodes make it, or when some offer could launch a node
there for this very pod: never because of what another pool could do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.encoding.ties import ZoneTerm

Turn = tuple[int, int]  # a cell, and how many pods of a group go there next

_FEW_PODS: Final = 20


class Split(tuple[int, ...]):
    """Cells to prefer, one for each pod of a group; instead of cells for all of them, in order."""

    __slots__ = ()


@dataclass(slots=True)
class ZoneState:
    """How many pods of each zone term are in each domain, as planned so far."""

    match: list[Int]
    own: list[Int]
    seen: list[Bool]  # domains that nodes make, as far as a spread counts them
    foreseen: list[Bool]  # domains that everybody spread so far has reckoned with

    @classmethod
    def of(cls, enc: Encoded) -> ZoneState:
        """What runs already."""
        zones = enc.ties.zones
        return cls(
            [term.match_d.copy() for term in zones],
            [term.own_d.copy() for term in zones],
            [term.seen_d.copy() for term in zones],
            [np.ones(len(term.seen_d), dtype=bool) for term in zones],
        )

    def copy(self) -> ZoneState:
        """The same counts, to come back to."""
        return ZoneState(
            [counts.copy() for counts in self.match],
            [counts.copy() for counts in self.own],
            [flags.copy() for flags in self.seen],
            [flags.copy() for flags in self.foreseen],
        )


@dataclass(slots=True)
class Outlook:
    """What one group finds: which cells could be launched into, what existing nodes could take
    there, and what a pod is worth in each.

    `weight_c` is the weight of the heaviest pool that would launch there. `is_first` says that
    nobody runs whom the pods want to be near, and that they may be the first themselves.
    """

    launchable_c: Bool
    existing_c: Int
    worth_c: Float
    prefer: tuple[int, ...] = ()  # cells to prefer among equals, for variants of a plan
    weight_c: Int | None = None
    is_first: bool = False

    def order(self) -> list[int]:
        """All cells: those of heavier pools first, then those to prefer, then the cheapest."""
        if self.weight_c is None and not self.prefer:
            worth: list[float] = self.worth_c.tolist()
            return sorted(range(len(worth)), key=worth.__getitem__)
        heavy = np.zeros(len(self.worth_c), np.int64) if self.weight_c is None else -self.weight_c
        order: list[int] = np.lexsort((self.worth_c, self.wish(), heavy)).tolist()
        return order

    def pod_by_pod(self) -> list[int]:
        """Cells that single pods prefer; none where nodes that are there or heavy pools decide."""
        is_split = isinstance(self.prefer, Split)
        is_free = self.weight_c is None and not self.existing_c.any()
        return list(self.prefer) if is_split and is_free else []

    def wish(self) -> Int:
        """The place of every cell among those to prefer, which come first."""
        wish = np.full(len(self.worth_c), len(self.prefer), dtype=np.int64)
        wish[list(self.prefer)] = np.arange(len(self.prefer))
        return wish


def simple_spread(enc: Encoded, group: int) -> int | None:
    """The one zone spread of a group that nothing else touches, and that nobody runs under yet.

    Pods that must share a host make one domain, and leave the others empty.
    """
    own = enc.ties.zone_own_g[group]
    if len(own) != 1 or enc.ties.zone_match_g[group] != own:
        return None
    if any(enc.ties.hosts[term].kind == TermKind.AFFINITY for term in enc.ties.host_own_g[group]):
        return None
    term = enc.ties.zones[own[0]]
    if term.kind != TermKind.SPREAD or term.match_d.any() or term.groups != (group,):
        return None
    return own[0]


def spread_range(enc: Encoded, group: int, zone: int, launchable_c: Bool) -> tuple[Int, Int] | None:
    """The least and most pods of a lone spread group in each domain; None if the rule is not so
    simple (existing nodes make a domain that nothing can be launched into).
    """
    term = enc.ties.zones[zone]
    domain_c = enc.ties.domains_ck[:, term.key]
    reach = np.zeros(len(term.match_d), dtype=bool)
    reach[domain_c[launchable_c & (domain_c >= 0)]] = True
    if (term.seen_d & ~reach).any() or not reach.any():
        return None
    count, skew = int(enc.count_g[group]), term.max_skew
    n_domains = int(reach.sum())
    if n_domains < term.min_domains:
        low, high = 0, skew
    else:
        low = max(0, -(-(count - (n_domains - 1) * skew) // n_domains))
        high = min(low + skew, count - (n_domains - 1) * low)
    return np.where(reach, low, 0), np.where(reach, max(high, 0), 0)


class Settler:
    """Settles groups into cells, one group after another."""

    def __init__(self, enc: Encoded, state: ZoneState) -> None:
        self.enc = enc
        self.state = state
        self.domain_ck = enc.ties.domains_ck
        self.followers: dict[int, Int] = {}  # affinity term -> pods that could follow, by domain
        self.nothing_c = np.zeros(len(self.domain_ck), dtype=np.int64)
        self.nothing_c.setflags(write=False)
        self._domain = [np.ascontiguousarray(row) for row in self.domain_ck.T]
        whole = [bool((row >= 0).all()) for row in self._domain]
        self._is_whole = [whole[term.key] for term in enc.ties.zones]
        self._inside: dict[tuple[int, ...], Bool | None] = {}  # cells that have keys; None: all

    def settle(self, group: int, count: int, outlook: Outlook) -> list[Turn]:
        """Which cells `count` pods go to, turn by turn; fewer if the rest may go nowhere."""
        outlook = self._with_keys(group, outlook)
        existing = outlook.existing_c.copy()
        # Preferred cells take more than their share, which only a few pods have the time for.
        is_variant = bool(outlook.prefer) and count <= _FEW_PODS
        turns = [] if is_variant else self._place_all(group, count, outlook)
        left = 0 if turns else count
        wished = outlook.pod_by_pod()
        while left:
            allowed, most = self._allowed_cells(group, outlook, existing)
            if not allowed.any():
                break
            granted = next((cell for cell in wished if allowed[cell]), None)
            cell = self._best(group, allowed, existing, outlook) if granted is None else granted
            step = min(left, int(most[cell]))
            if granted is not None:
                wished.remove(cell)
                step = 1
            elif outlook.weight_c is not None and self._is_followed(group):
                step = 1  # one is company enough; the others go to the heaviest pool
            turns.append((cell, step))
            existing[cell] = max(0, existing[cell] - step)
            self.record(group, cell, step)
            left -= step
        if turns:
            self.foresee(group, outlook)
        return turns

    def _is_followed(self, group: int) -> bool:
        """Whether pods that wait for the first of this group will follow it."""
        numbers = self.enc.ties.zone_match_g[group]
        return any(tie in self.followers and not self.state.match[tie].any() for tie in numbers)

    def _with_keys(self, group: int, outlook: Outlook) -> Outlook:
        """Only cells that have all keys over which the group is spread or kept together."""
        ties = self.enc.ties
        own = ties.zone_own_g[group]
        keys = tuple(ties.zones[t].key for t in own if ties.zones[t].kind != TermKind.ANTI)
        if keys not in self._inside:
            there: Bool = np.all(self.domain_ck[:, keys] >= 0, axis=1)
            self._inside[keys] = None if there.all() else there
        inside = self._inside[keys]
        if inside is None:
            return outlook
        launchable, existing = outlook.launchable_c & inside, outlook.existing_c * inside
        return replace(outlook, launchable_c=launchable, existing_c=existing)

    def foresee(self, group: int, outlook: Outlook) -> None:
        """Note the domains that the spreads of a group reckon with: no others may appear later."""
        for number in self.enc.ties.zone_own_g[group]:
            term = self.enc.ties.zones[number]
            if term.kind == TermKind.SPREAD:
                counts = self._domains(number, outlook.launchable_c | (outlook.existing_c > 0))
                self.state.foreseen[number] &= counts

    def _domains(self, number: int, reach_c: Bool) -> Bool:
        """The domains over which a spread takes its minimum, if these cells can be reached."""
        counts = self.state.seen[number].copy()
        domain_c = self.domain_ck[:, self.enc.ties.zones[number].key]
        counts[domain_c[reach_c & (domain_c >= 0)]] = True
        return counts

    def _place_all(self, group: int, count: int, outlook: Outlook) -> list[Turn]:
        """In one go: a group that is only spread, or only counted by spreads of others.

        Each pod goes where the fewest are; where the group's own spread counts, that is always
        allowed. All of them are placed, or none if the group is not so simple.
        """
        cells = np.flatnonzero(outlook.launchable_c)
        counted = self._pods_per_cell(group, cells, outlook)
        if counted is None:
            return []
        launchable = outlook.launchable_c.tolist()
        ranked = [cell for cell in outlook.order() if launchable[cell]]
        crowd = [int(counted[cell]) for cell in ranked]
        added = [0] * len(ranked)
        turns = []
        for _ in range(count):
            place = crowd.index(min(crowd))
            crowd[place] += 1
            added[place] += 1
            turns.append((ranked[place], 1))
        for cell, more in zip(ranked, added, strict=True):
            if more:
                self.record(group, cell, more)
        return turns

    def _pods_per_cell(self, group: int, cells: Int, outlook: Outlook) -> Int | None:
        """How many pods every cell counts already; None if more than counting is to be done."""
        ties = self.enc.ties
        own, match = ties.zone_own_g[group], ties.zone_match_g[group]
        if not len(cells) or len(own) > 1 or outlook.existing_c.any():
            return None
        if outlook.weight_c is not None and len(set(outlook.weight_c[cells].tolist())) > 1:
            return None
        if own and (own[0] not in match or not self._spreads_evenly(own[0], cells)):
            return None
        crowd = np.zeros(len(outlook.launchable_c), dtype=np.int64)
        for number in match:
            term = ties.zones[number]
            if term.kind == TermKind.ANTI or (
                number in self.followers and not self.state.match[number].any()
            ):
                return None
            if term.kind == TermKind.SPREAD and (not own or number == own[0]):
                crowd += self._per_cell(number, self.state.match[number])
        return crowd

    def _spreads_evenly(self, number: int, cells: Int) -> bool:
        """Whether a spread sees just these cells, each a domain of its own, and counts them all."""
        term = self.enc.ties.zones[number]
        if term.kind != TermKind.SPREAD or len(cells) < term.min_domains:
            return False
        domain = self.domain_ck[cells, term.key]
        seen = self.state.seen[number]
        distinct = len(set(domain.tolist())) == len(cells) and int(domain.min()) >= 0
        counted = bool(term.counts_c[cells].all())
        return distinct and counted and int(seen.sum()) == int(seen[domain].sum())

    def record(self, group: int, cell: int, count: int) -> None:
        """Count pods that go to a cell (or leave it, when negative)."""
        ties = self.enc.ties
        for number in ties.zone_match_g[group]:
            domain = self.domain_ck[cell, ties.zones[number].key]
            if domain >= 0 and ties.zones[number].counts_c[cell]:
                self.state.match[number][domain] += count
        for number in ties.zone_own_g[group]:
            domain = self.domain_ck[cell, ties.zones[number].key]
            if domain >= 0:
                self.state.own[number][domain] += count

    def _per_cell(self, number: int, count_d: Int) -> Int:
        """What the domain of every cell counts; nothing where a cell has none."""
        domain_c = self._domain[self.enc.ties.zones[number].key]
        counts: Int = count_d[domain_c]
        return counts if self._is_whole[number] else np.where(domain_c >= 0, counts, 0)

    def _allowed_cells(self, group: int, outlook: Outlook, existing: Int) -> tuple[Bool, Int]:
        """The cells where the next pod may go, and how many may follow it there at once."""
        ties = self.enc.ties
        allowed = outlook.launchable_c | (existing > 0)
        most = np.where(outlook.launchable_c & (existing == 0), np.int64(2**40), existing)
        for number in ties.zone_own_g[group]:
            if ties.zones[number].kind == TermKind.SPREAD:
                most = self._spread_own(group, number, (outlook, existing), (allowed, most))
                continue
            inside = self._inside_c(number)
            match_c = self._per_cell(number, self.state.match[number])
            if ties.zones[number].kind == TermKind.AFFINITY:
                nobody = outlook.is_first and not self.state.match[number].any()
                allowed &= inside & ((match_c > 0) | nobody)
            else:
                allowed &= ~inside | (match_c == 0)
                if number in ties.zone_match_g[group]:
                    most = np.minimum(most, np.where(inside, 1, most))
        for number in ties.zone_match_g[group]:
            if ties.zones[number].kind == TermKind.ANTI:
                allowed &= self._per_cell(number, self.state.own[number]) == 0
            elif (
                ties.zones[number].kind == TermKind.SPREAD and number not in ties.zone_own_g[group]
            ):
                match_c = self._per_cell(number, self.state.match[number])
                most = np.minimum(most, np.maximum(1, self._level_step(match_c, allowed)))
        return allowed & (most > 0), most

    def _spread_own(
        self, group: int, number: int, view: tuple[Outlook, Int], so_far: tuple[Bool, Int]
    ) -> Int:
        """How many pods of a spread may go to each cell at once; takes cells from those allowed."""
        outlook, existing = view
        allowed, most = so_far
        allowed &= self._inside_c(number)
        match_c = self._per_cell(number, self.state.match[number])
        term = self.enc.ties.zones[number]
        room = self._spread_room(term, number, outlook, existing) - match_c
        is_self = number in self.enc.ties.zone_match_g[group]
        most = np.minimum(most, room) if is_self else np.where(room >= 0, most, 0)
        # Spread evenly: a few at a time, so that counts stay level.
        return np.minimum(most, np.maximum(1, self._level_step(match_c, allowed & (most > 0))))

    def _inside_c(self, number: int) -> Bool:
        """The cells that have a domain of the term's key."""
        inside: Bool = self._domain[self.enc.ties.zones[number].key] >= 0
        return inside

    def _level_step(self, match_c: Int, allowed: Bool) -> Int:
        """How far each cell lies below the next level, so that one step does not overshoot."""
        if not allowed.any():
            return np.ones(len(match_c), dtype=np.int64)
        levels = sorted(set(match_c[allowed].tolist()))
        above = np.int64(levels[1] if len(levels) > 1 else levels[0] + 1)
        return np.subtract(above, match_c)

    def _spread_room(self, term: ZoneTerm, number: int, outlook: Outlook, existing: Int) -> int:
        """The highest count that a domain may reach now: the minimum plus the skew."""
        counts = self._domains(number, outlook.launchable_c | (existing > 0))
        if int(counts.sum()) < term.min_domains or not counts.any():
            return term.max_skew
        return int(self.state.match[number][counts].min()) + term.max_skew

    def _best(self, group: int, allowed: Bool, existing: Int, outlook: Outlook) -> int:
        """Where others can follow. Such cells go by lowest counts (so that spreads stay even), room
        on nodes that are there, heavier pools and price, in an order that depends on the case.
        """
        ties = self.enc.ties
        crowd = np.zeros(len(allowed), dtype=np.int64)
        lure = np.zeros(len(allowed), dtype=np.int64)
        for number in ties.zone_match_g[group]:
            if ties.zones[number].kind == TermKind.SPREAD:
                crowd += self._per_cell(number, self.state.match[number])
            elif number in self.followers and not self.state.match[number].any():
                lure += self._per_cell(number, self.followers[number])
        owns_spread = any(
            ties.zones[number].kind == TermKind.SPREAD for number in ties.zone_own_g[group]
        )
        is_new = existing == 0
        keys: tuple[Int | Bool, ...]
        if outlook.prefer:
            # A variant may be as uneven as its constraints allow.
            heavy = np.zeros_like(crowd) if outlook.weight_c is None else -outlook.weight_c
            keys = (is_new, heavy, outlook.wish(), crowd)
        elif outlook.weight_c is not None:
            keys = (is_new, -outlook.weight_c, crowd)
        else:
            keys = (is_new, crowd) if owns_spread else (crowd, is_new)
        return _first((-lure, *keys), allowed, outlook.order())


def _first(keys: Sequence[Int | Bool], allowed: Bool, order: list[int]) -> int:
    """The allowed cell with the least keys, the first of them most important; then by order."""
    rows = list(zip(*(key.tolist() for key in keys), strict=True))
    fine = allowed.tolist()
    return min((cell for cell in order if fine[cell]), key=rows.__getitem__)
