"""What else could a planned node be, if its first choice cannot be had?

A launch names instance types, zones and capacity types, and its provider may deliver any of them in
any combination. So every combination that is sold must hold the node's pods: starting from the zone
and capacity type that were planned, others are added as long as none of the types listed so far
would be wrong there. Capacity types are only added in the order in which providers fall back
(reserved, spot, on demand), since the first one named is what they deliver if they can.

Ways to buy that the node's pods like less than the planned one are left out: a provider does not
know preferences. A zone matters to others than the node's own pods where anything is spread over
zones: then nodes stay where they were planned, for one more or one less domain would change what
counts there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dovetail import labels
from dovetail.solve.attempt import Attempt
from dovetail.solve.axes import Bool, Int
from dovetail.solve.bins import EXISTING
from dovetail.solve.encode import Encoded
from dovetail.solve.terms import Kind
from dovetail.solve.ties import sights
from dovetail.solve.units import ANY_CELL
from dovetail.solve.variety import Demand, are_met, demands, gather, later_kinds


def alternatives(
    attempt: Attempt, by_node: dict[int, dict[int, int]]
) -> dict[int, tuple[Int, bool]]:
    """For every new node the other offers that would do (cheapest first), and whether minValues
    had to give way.
    """
    finder = _Finder(attempt)
    result: dict[int, tuple[Int, bool]] = {}
    memo: dict[tuple[_Load, bytes], tuple[Int, bool]] = {}
    for node, held in by_node.items():
        if int(attempt.bins.offer[node]) == EXISTING:
            continue
        load, used = finder.load(node, held)
        key = (load, used.tobytes())
        if key not in memo:
            memo[key] = finder.fallbacks(load, used)
        result[node] = memo[key]
    return result


@dataclass(frozen=True, slots=True)
class _Load:
    """What a planned node is, and whose wishes it has to meet."""

    offer: int
    masks: tuple[int, ...]
    is_pinned: bool
    wishes: tuple[int, ...]
    company: tuple[int, ...]
    is_lenient: bool = False  # whether spreads may count fallbacks unlike, if none is upset by it


@dataclass(frozen=True, slots=True)
class _Shelf:
    """What one pool sells under one choice of labels: offers, and the place of each in a table of
    instance types by ways to buy (capacity type and zone).
    """

    offers: Int  # cheapest first
    types: Int  # ascending
    row_o: Int  # the place of each offer's type among them
    way_o: Int
    sizes_xr: Int  # the distinct capacities
    size_o: Int  # which of them an offer has
    is_left_o: Bool  # reservations may be used up
    ways: tuple[tuple[str, str], ...]  # capacity type, zone
    asked: tuple[Demand, ...]


class _Finder:
    """Answers for one attempt; what many nodes have in common is worked out once."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._origin = attempt.enc.origin
        self._enc = attempt.enc if self._origin is None else self._origin.enc
        self._shelves: dict[tuple[int, int], _Shelf] = {}
        self._masks: dict[tuple[int, int], Bool] = {}
        self._accepted: dict[_Load, tuple[Bool, Bool]] = {}
        enc = self._enc
        self._order = np.lexsort((np.arange(enc.n_offers), enc.price_o))
        self._choice_o = np.array([one.choice for one in enc.market.offers], dtype=np.int64)
        self._spread_keys = sorted(
            {term.key for term in enc.ties.zones if term.kind == Kind.SPREAD}
        )

        self._sight_o = sights(enc.ties, enc.n_offers)
        self._present = [
            present
            for term in enc.ties.hosts
            for present in (term.match_o, term.own_o)
            if present is not None
        ]

    def load(self, node: int, held: dict[int, int]) -> tuple[_Load, Int]:
        """A node as far as its fallbacks depend on it, and how much of it is used."""
        attempt = self._attempt
        offer = int(attempt.bins.offer[node])
        used = attempt.enc.cap_or[offer] - attempt.bins.free[:, node]
        units = [attempt.units[number] for number in held]
        masks = {unit.mask for unit in units}
        if self._origin is not None:
            offer = int(self._origin.offer_o[offer])
            masks = {int(self._origin.mask_m[mask]) for mask in masks}
        is_pinned = any(unit.cell != ANY_CELL for unit in units)
        wishes, company = self._wishes([unit.members[0][0] for unit in units])
        return _Load(offer, tuple(sorted(masks)), is_pinned, wishes, company), used

    def _wishes(self, groups: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What the groups wish for, and which wishes about company concern them."""
        held = self._attempt.wishes
        if held is None:
            return (), ()
        scores = {int(held.wish_g[group]) for group in groups} - {0}
        company = {term for group in groups for term in (*held.own_g[group], *held.match_g[group])}
        return tuple(sorted(scores)), tuple(sorted(company))

    def fallbacks(self, load: _Load, used: Int) -> tuple[Int, bool]:
        """The other offers that would do, and whether the pool's minValues are not reached."""
        enc = self._enc
        one = enc.market.offers[load.offer]
        shelf = self._shelf(one.pool, one.choice)
        fine_o, welcome_w = self._acceptable(load, shelf)
        fits_x: Bool = np.all((shelf.sizes_xr >= used) | (used == 0), axis=1)
        fine_o = fine_o & fits_x[shelf.size_o]
        found = _few_enough(
            enc, shelf, load.offer, _closed(enc, shelf, load.offer, (fine_o, welcome_w))
        )
        if not found[1]:
            return found
        # minValues come before preferences, and before types that would do in some zones only.
        every = np.ones(len(shelf.ways), dtype=bool)
        for kept in (
            _closed(enc, shelf, load.offer, (fine_o, every)),
            *_wide(enc, shelf, load, fine_o),
        ):
            other = _few_enough(enc, shelf, load.offer, kept)
            if not other[1]:
                return other
        if not load.is_lenient and self._sight_o.any():
            other = self.fallbacks(replace(load, is_lenient=True), used)
            found = found if other[1] else other
        return found

    def _shelf(self, pool: int, choice: int) -> _Shelf:
        if (pool, choice) not in self._shelves:
            enc = self._enc
            mine = (enc.pool_o == pool) & (self._choice_o == choice)
            offers = self._order[mine[self._order]]
            asked = demands(enc.market.pools[pool], enc.market.types)
            self._shelves[pool, choice] = _shelf(enc, offers, asked)
        return self._shelves[pool, choice]

    def _acceptable(self, load: _Load, shelf: _Shelf) -> tuple[Bool, Bool]:
        """The offers of a shelf that everybody on the node accepts, however much they hold; and
        the ways to buy that are welcome.
        """
        if load not in self._accepted:
            enc, offers = self._enc, shelf.offers
            fine = np.ones(len(offers), dtype=bool)
            for mask in load.masks:
                fine &= self._mask_on(mask, shelf)
            mine, cell = int(enc.cell_o[load.offer]), enc.cell_o[offers]
            if load.is_pinned:
                fine &= cell == mine
            domains_ck = enc.ties.domains_ck
            for topology in self._spread_keys:
                fine &= domains_ck[cell, topology] == domains_ck[mine, topology]
            fine &= self._counted_alike(load, offers)
            for present in self._present:
                fine &= present[offers] == present[load.offer]
            self._accepted[load] = fine, self._welcome(load, shelf)
        return self._accepted[load]

    def _counted_alike(self, load: _Load, offers: Int) -> Bool:
        """The offers that spreads count as they count the planned one.

        A lenient load minds only spreads that one more empty host or domain would upset.
        """
        alike: Bool = self._sight_o[offers] == self._sight_o[load.offer]
        if not load.is_lenient:
            return alike
        attempt, ties, cell = self._attempt, self._enc.ties, self._enc.cell_o[load.offer]
        foreseen = attempt.settler.state.foreseen
        upset = [ties.hosts[number].eligible_o for number in sorted(attempt.leaned_on)]
        upset += [
            term.eligible_o
            for number, term in enumerate(ties.zones)
            if term.kind == Kind.SPREAD and not foreseen[number][ties.domains_ck[cell, term.key]]
        ]
        alike = np.ones(len(offers), dtype=bool)
        for eligible_o in upset:
            alike &= eligible_o[offers] == eligible_o[load.offer]
        return alike

    def _mask_on(self, mask: int, shelf: _Shelf) -> Bool:
        """The offers of a shelf that a mask accepts."""
        key = (mask, id(shelf))
        if key not in self._masks:
            self._masks[key] = self._enc.masks_me[mask, shelf.offers]
        return self._masks[key]

    def _welcome(self, load: _Load, shelf: _Shelf) -> Bool:
        """The ways to buy that the node's pods like no less than the one that was planned."""
        n_ways = len(shelf.ways)
        welcome = np.ones(n_ways, dtype=bool)
        held = self._attempt.wishes
        if held is None:
            return welcome
        planned = shelf.way_o[np.flatnonzero(shelf.offers == load.offer)[0]]
        for wish in load.wishes:
            best_w = np.full(n_ways, np.iinfo(np.int64).min)
            np.maximum.at(best_w, shelf.way_o, held.score_se[wish, shelf.offers])
            welcome &= best_w >= best_w[planned]
        for term in load.company:
            domain_e = held.company[term].domain_e
            welcome[shelf.way_o[domain_e[shelf.offers] != domain_e[load.offer]]] = False
        return welcome


def _shelf(enc: Encoded, offers: Int, asked: tuple[Demand, ...]) -> _Shelf:
    types, row_o = np.unique(enc.type_o[offers], return_inverse=True)
    codes: dict[tuple[str, str], int] = {}
    way_o = [
        codes.setdefault((one.capacity_type, one.zone), len(codes))
        for one in (enc.market.offers[offer].offering for offer in offers.tolist())
    ]
    sizes, size_o = np.unique(enc.cap_or[offers], axis=0, return_inverse=True)
    return _Shelf(
        offers=offers,
        types=types,
        row_o=row_o.reshape(-1),
        way_o=np.array(way_o, dtype=np.int64),
        sizes_xr=sizes,
        size_o=size_o.reshape(-1),
        is_left_o=enc.supply_o[offers] > 0,
        ways=tuple(codes),
        asked=asked,
    )


def _closed(enc: Encoded, shelf: _Shelf, offer: int, allowed: tuple[Bool, Bool]) -> Bool:
    """The offers that may be named together: all that is sold under those names would do.

    `allowed` are offers that would do, and ways to buy that are welcome.
    """
    fine_o, welcome_w = allowed
    offering = enc.market.offers[offer].offering
    good_o: Bool = fine_o & shelf.is_left_o
    kinds = {offering.capacity_type, *later_kinds(offering.capacity_type)}
    may_w = welcome_w & [kind in kinds for kind, _ in shelf.ways]
    sells_w = np.zeros(len(shelf.ways), dtype=bool)
    sells_w[shelf.way_o[good_o]] = True
    sold = [way for way, is_sold in zip(shelf.ways, may_w & sells_w, strict=True) if is_sold]
    near_w = _ways(shelf, [kind for kind, _ in sold], [zone for _, zone in sold])
    near_o = near_w[shelf.way_o]  # no other way to buy could ever be named
    fine_t, wrong_t = (np.zeros(len(shelf.types), dtype=bool) for _ in range(2))
    fine_t[shelf.row_o[good_o]] = True
    wrong_t[shelf.row_o[near_o & ~fine_o]] = True
    # Where every type is right or wrong however it is bought, all can be named at once.
    if may_w[near_w].all() and not (fine_t & wrong_t).any():
        kept = good_o & near_o
    else:
        planned = (offering.capacity_type, offering.zone)
        kept = _joined(shelf, planned, may_w, (fine_o, good_o))
    return kept


def _joined(
    shelf: _Shelf, planned: tuple[str, str], may_w: Bool, offers: tuple[Bool, Bool]
) -> Bool:
    """The same where a type may be right in one zone and wrong in another: one step at a time."""
    fine_o, good_o = offers
    size = (len(shelf.types), len(shelf.ways))
    fine_tw, wrong_tw = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    fine_tw[shelf.row_o[good_o], shelf.way_o[good_o]] = True
    wrong_tw[shelf.row_o[~fine_o], shelf.way_o[~fine_o]] = True
    kinds, zones = [planned[0]], [planned[1]]
    chosen = _ways(shelf, kinds, zones)
    # Falling back to another capacity type is worth more than to another zone: it comes first.
    steps: list[tuple[list[str], list[str]]] = [([kind], []) for kind in later_kinds(planned[0])]
    steps += [([], [zone]) for zone in sorted({zone for _, zone in shelf.ways} - {planned[1]})]
    for more_kinds, more_zones in steps:
        wider = _ways(shelf, [*kinds, *more_kinds], [*zones, *more_zones])
        more = wider & ~chosen
        named: Bool = np.any(fine_tw[:, chosen], axis=1) & ~np.any(wrong_tw[:, chosen], axis=1)
        is_wrong = (wrong_tw[:, more].any(axis=1) & named).any()
        if fine_tw[:, more].any() and may_w[more].all() and not is_wrong:
            kinds, zones, chosen = [*kinds, *more_kinds], [*zones, *more_zones], wider
    named = np.any(fine_tw[:, chosen], axis=1) & ~np.any(wrong_tw[:, chosen], axis=1)
    kept: Bool = good_o & chosen[shelf.way_o] & named[shelf.row_o]
    return kept


def _ways(shelf: _Shelf, kinds: list[str], zones: list[str]) -> Bool:
    """The ways to buy that these names stand for."""
    return np.array([kind in kinds and zone in zones for kind, zone in shelf.ways], dtype=bool)


def _wide(enc: Encoded, shelf: _Shelf, load: _Load, fine_o: Bool) -> Iterator[Bool]:
    """Offers of types that would do however they are bought: in the planned zone, as the planned
    capacity type, and in any way.
    """
    planned = enc.market.offers[load.offer].offering
    own = np.searchsorted(shelf.types, enc.type_o[load.offer])
    sells_w = np.zeros(len(shelf.ways), dtype=bool)
    sells_w[shelf.way_o[fine_o]] = True
    zones = sorted({zone for _, zone in shelf.ways})
    later = [planned.capacity_type, *later_kinds(planned.capacity_type)]
    on_demand = [planned.capacity_type, labels.ON_DEMAND]
    for kinds, named in ((on_demand, [planned.zone]), (later[:1], zones), (later, zones)):
        ways = sells_w & _ways(shelf, kinds, named)
        wrong_t = np.zeros(len(shelf.types), dtype=bool)
        wrong_t[shelf.row_o[~fine_o & ways[shelf.way_o]]] = True
        if not wrong_t[own]:
            yield fine_o & shelf.is_left_o & ways[shelf.way_o] & ~wrong_t[shelf.row_o]


def _few_enough(enc: Encoded, shelf: _Shelf, offer: int, kept: Bool) -> tuple[Int, bool]:
    """No more types than a launch may name, but those that minValues need; the offer left out."""
    kept = kept & (shelf.offers != offer)
    others, rows = shelf.offers[kept], shelf.row_o[kept]
    first_t = np.full(len(shelf.types), len(rows))  # where each type comes first
    first_t[rows[::-1]] = np.arange(len(rows))[::-1]
    first_t[np.searchsorted(shelf.types, enc.type_o[offer])] = -1
    named = np.flatnonzero(first_t < len(rows))
    most = enc.problem.policy.max_instance_types
    if not shelf.asked and len(named) <= most:
        return others, False
    ranked = named[np.argsort(first_t[named])]
    kinds = shelf.types[ranked].tolist()
    if len(kinds) > most:
        needed = (gather(shelf.asked, kinds) if shelf.asked else None) or [0]
        rest = np.setdiff1d(np.arange(len(kinds)), needed)[: max(most - len(needed), 0)]
        places = np.sort(np.concatenate([needed, rest]))[:most].astype(np.int64)
        is_named = np.zeros(len(shelf.types), dtype=bool)
        is_named[ranked[places]] = True
        others, kinds = others[is_named[rows]], shelf.types[ranked[places]].tolist()
    return others, not are_met(shelf.asked, kinds)
