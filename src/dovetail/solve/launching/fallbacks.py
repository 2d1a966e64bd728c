"""Finds the other offers that a planned node could be, in case its first choice is unavailable.

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

from dataclasses import dataclass, replace

import numpy as np

from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.encoding.limits import Use, limits_by_pool
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.encoding.variety import demands
from dovetail.solve.launching.naming import (
    PoolOffers,
    few_enough,
    in_turn,
    nameable_offers,
    pool_offers_of,
    wide,
)
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.units import ANY_CELL

_Traits = tuple[int, bool, int, tuple[int, ...]]  # mask, pinned to its cell, scores, topologies


@dataclass(frozen=True, slots=True)
class Load:
    """What a planned node is, and whose wishes it has to meet."""

    offer: int
    masks: tuple[int, ...]
    is_pinned: bool
    scores: tuple[int, ...]
    topologies: tuple[int, ...]
    is_lenient: bool = False  # whether spreads may count fallbacks unlike, if none is upset by it
    most: Use | None = None  # of its pool's limits that listed types may take; None: any amount


class Finder:
    """Answers for one attempt; what many nodes have in common is worked out once."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._origin = attempt.enc.origin
        self._enc = attempt.enc if self._origin is None else self._origin.enc
        self._limits = limits_by_pool(self._enc)
        self._pool_offers_by_choice: dict[tuple[int, int], PoolOffers] = {}
        self._masks: dict[tuple[int, int], Bool] = {}
        self._accepted: dict[Load, tuple[Bool, Bool]] = {}
        self._traits: list[_Traits] = []
        self._traits_u: list[int] = []
        self._loads: dict[tuple[int, tuple[int, ...]], Load] = {}
        self._liked: dict[tuple[int, int], Int] = {}
        self._domains: dict[tuple[int, int], tuple[Int, Int]] = {}
        self._scores = [] if attempt.wishes is None else attempt.wishes.rows
        self._topologies: dict[int, Int] = {}
        self._places: dict[int, int] = {}
        self._alike_o: dict[int, Bool] = {}
        enc = self._enc
        is_used_up = attempt.bins.limits.supply[: enc.n_offers] <= 0
        self._order = np.lexsort((enc.price_o, is_used_up))  # what the plan uses up comes last
        self._spread_keys = sorted(
            {term.key for term in enc.ties.zones if term.kind == TermKind.SPREAD}
        )

        self._sight_o = enc.sight_o
        self._present = [
            present
            for term in enc.ties.hosts
            for present in (term.match_o, term.own_o)
            if present is not None
        ]

    def traits(self) -> Int:
        """A number for everything about each unit that fallbacks depend on."""
        attempt = self._attempt
        number_of: dict[_Traits, int] = {}
        for unit in attempt.units:
            mask = unit.mask if self._origin is None else int(self._origin.mask_m[unit.mask])
            scores, topologies = self._wishes(unit.members[0][0]) if unit.members else (0, ())
            unit_traits = (mask, unit.cell != ANY_CELL, scores, topologies)
            self._traits_u.append(number_of.setdefault(unit_traits, len(number_of)))
        self._traits = list(number_of)
        return np.array(self._traits_u, dtype=np.int64)

    def load(self, offer: int, traits: tuple[int, ...]) -> Load:
        """A node as far as its fallbacks depend on it."""
        if (offer, traits) not in self._loads:
            all_traits = [self._traits[trait] for trait in traits]
            self._loads[offer, traits] = Load(
                offer if self._origin is None else int(self._origin.offer_o[offer]),
                tuple(sorted({mask for mask, _, _, _ in all_traits})),
                any(is_pinned for _, is_pinned, _, _ in all_traits),
                tuple(sorted({row for _, _, row, _ in all_traits} - {0})),
                tuple(sorted({row for _, _, _, topologies in all_traits for row in topologies})),
            )
        return self._loads[offer, traits]

    def _wishes(self, group: int) -> tuple[int, tuple[int, ...]]:
        """Which scores a group gives, and the topologies that its wishes about company are about:
        those of its own and those of others about it. Company on a node comes with the node.
        """
        wishes = self._attempt.wishes
        if wishes is None:
            return 0, ()
        terms = (wishes.company[term] for term in (*wishes.own_g[group], *wishes.match_g[group]))
        domains = {id(wish.domain_e): wish.domain_e for wish in terms if not wish.is_host}
        self._topologies |= domains
        return wishes.row_s[int(wishes.wish_g[group])], tuple(sorted(domains))

    def fallbacks(self, load: Load, used: Int) -> tuple[Int, bool]:
        """The other offers that would do, and whether the pool's minValues are not reached."""
        enc = self._enc
        launched = enc.market.offers[load.offer]
        pool_offers = self._pool_offers(launched.pool, launched.choice)
        fine_o, welcome_w = self._acceptable(load, pool_offers)
        if pool_offers.compiled is not None and not pool_offers.asked:
            own, most = self._place(load.offer, pool_offers), enc.problem.policy.max_instance_types
            quick = pool_offers.compiled.fallbacks(fine_o, welcome_w, used, own, most)
            if quick is not None:
                return pool_offers.offers[quick], False
        fits_x: Bool = np.all((pool_offers.sizes_xr >= used) | (used == 0), axis=1)
        fine_o = fine_o & fits_x[pool_offers.size_o]
        listing = few_enough(
            enc,
            pool_offers,
            load.offer,
            nameable_offers(enc, pool_offers, load.offer, (fine_o, welcome_w)),
        )
        if not listing[1]:
            return listing
        # minValues come before preferences, and before types that would do in some zones only.
        every = np.ones(len(pool_offers.ways), dtype=bool)
        for kept in (
            nameable_offers(enc, pool_offers, load.offer, (fine_o, every)),
            *wide(enc, pool_offers, load.offer, fine_o),
        ):
            other = few_enough(enc, pool_offers, load.offer, kept)
            if not other[1]:
                return other
        if not load.is_lenient and self._sight_o.any():
            other = self.fallbacks(replace(load, is_lenient=True), used)
            listing = listing if other[1] else other
        return listing

    def cheaper(self, load: Load, used: Int) -> Int:
        """The cheapest offer in each way to buy that would do and costs less than the planned one;
        the cheapest of them comes first. Reservations are left out, since they may be used up.
        """
        enc = self._enc
        launched = enc.market.offers[load.offer]
        pool_offers = self._pool_offers(launched.pool, launched.choice)
        fine_o, _ = self._acceptable(load, pool_offers)
        fits_x: Bool = np.all((pool_offers.sizes_xr >= used) | (used == 0), axis=1)
        offers = pool_offers.offers
        fine_o = fine_o & fits_x[pool_offers.size_o] & (enc.supply_o[offers] == UNLIMITED)
        fine_o &= (enc.price_o[offers] < enc.price_o[load.offer]) & self._preferred_ways(
            load, pool_offers
        )[pool_offers.way_o]
        places = np.flatnonzero(fine_o)
        return offers[places[np.sort(np.unique(pool_offers.way_o[places], return_index=True)[1])]]

    def _pool_offers(self, pool: int, choice: int) -> PoolOffers:
        if (pool, choice) not in self._pool_offers_by_choice:
            enc = self._enc
            mine = (enc.pool_o == pool) & (enc.market.choice_o == choice)
            offers = self._order[mine[self._order]]
            asked = demands(enc.market.pools[pool], enc.market.types)
            self._pool_offers_by_choice[pool, choice] = pool_offers_of(enc, offers, asked)
        return self._pool_offers_by_choice[pool, choice]

    def _acceptable(self, load: Load, pool_offers: PoolOffers) -> tuple[Bool, Bool]:
        """The offers of a pool that all pods of the node accept, however much they hold; and the
        ways to buy that are welcome.
        """
        if load not in self._accepted:
            fine = self._alike(load.offer, pool_offers).copy()
            for mask in load.masks:
                fine &= self._mask_on(mask, pool_offers)
            if load.is_pinned:
                enc = self._enc
                fine &= enc.cell_o[pool_offers.offers] == enc.cell_o[load.offer]
            fine &= self._offers_counted_alike(load, pool_offers.offers)
            if load.most is not None:
                fine &= self._in_limits(load.most, pool_offers)
            self._accepted[load] = fine, self._fit_daemons(load, pool_offers)
        return self._accepted[load]

    def _in_limits(self, most: Use, pool_offers: PoolOffers) -> Bool:
        """The offers of a pool that take no more than this of their pool's limits."""
        enc, offers = self._enc, pool_offers.offers
        within = np.ones(len(offers), dtype=bool)
        for limit, amount in zip(self._limits[int(enc.pool_o[offers[0]])], most, strict=True):
            within &= limit.use_t[enc.type_o[offers]] <= amount
        return within

    def _alike(self, offer: int, pool_offers: PoolOffers) -> Bool:
        """The offers of a pool that others cannot tell from this one: nodes of both are in the same
        domains of spreads, and run the same daemon pods.
        """
        if offer not in self._alike_o:
            enc, offers = self._enc, pool_offers.offers
            mine, cell = int(enc.cell_o[offer]), enc.cell_o[offers]
            domains_ck = enc.ties.domains_ck[:, self._spread_keys]
            fine: Bool = (domains_ck == domains_ck[mine]).all(axis=1)[cell]
            for present in self._present:
                fine &= present[offers] == present[offer]
            self._alike_o[offer] = fine
        return self._alike_o[offer]

    def _offers_counted_alike(self, load: Load, offers: Int) -> Bool:
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
            if term.kind == TermKind.SPREAD
            and not foreseen[number][ties.domains_ck[cell, term.key]]
        ]
        alike = np.ones(len(offers), dtype=bool)
        for eligible_o in upset:
            alike &= eligible_o[offers] == eligible_o[load.offer]
        return alike

    def _mask_on(self, mask: int, pool_offers: PoolOffers) -> Bool:
        """The offers of a pool that a mask accepts."""
        key = (mask, id(pool_offers))
        if key not in self._masks:
            self._masks[key] = self._enc.masks_me[mask, pool_offers.offers]
        return self._masks[key]

    def _place(self, offer: int, pool_offers: PoolOffers) -> int:
        """Where an offer stands on its pool_offers."""
        if offer not in self._places:
            self._places[offer] = int(np.flatnonzero(pool_offers.offers == offer)[0])
        return self._places[offer]

    def _fit_daemons(self, load: Load, pool_offers: PoolOffers) -> Bool:
        """The same, of those that may come in turn."""
        return in_turn(
            pool_offers, self._enc.market.offers[load.offer].offering.capacity_type
        ) & self._preferred_ways(load, pool_offers)

    def _preferred_ways(self, load: Load, pool_offers: PoolOffers) -> Bool:
        """The ways to buy that the node's pods like no less than the one that was planned."""
        welcome = np.ones(len(pool_offers.ways), dtype=bool)
        planned = pool_offers.way_o[self._place(load.offer, pool_offers)]
        for row in load.scores:
            best_w = self._best_scores(row, pool_offers)
            welcome &= best_w >= best_w[planned]
        for topology in load.topologies:
            welcome &= self._in_same_domain(topology, load.offer, pool_offers)
        return welcome

    def _best_scores(self, row: int, pool_offers: PoolOffers) -> Int:
        """What one row of scores makes of each way to buy, at best."""
        key = (row, id(pool_offers))
        if key not in self._liked:
            self._liked[key] = pool_offers.extremes(self._scores[row][pool_offers.offers])[1]
        return self._liked[key]

    def _in_same_domain(self, topology: int, offer: int, pool_offers: PoolOffers) -> Bool:
        """The ways to buy that stay in an offer's domain of a topology."""
        domain_e = self._topologies[topology]
        key = (topology, id(pool_offers))
        if key not in self._domains:
            self._domains[key] = pool_offers.extremes(domain_e[pool_offers.offers])
        least_w, most_w = self._domains[key]
        mine: Bool = (least_w == domain_e[offer]) & (most_w == domain_e[offer])
        return mine
