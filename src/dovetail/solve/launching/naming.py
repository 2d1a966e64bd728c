"""Chooses the instance types, zones and capacity types that one launch may list together.

A provider may deliver any combination that it sells of what it was named. See `fallbacks.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dovetail import labels
from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.variety import MinValues, are_met, gather, later_kinds
from dovetail.solve.kernel import loading, loops


@dataclass(frozen=True, slots=True)
class PoolOffers:
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
    asked: tuple[MinValues, ...]
    by_way: tuple[Int, Int]  # the places of offers, way by way, and where each way begins
    compiled: loops.FallbackFinder | None

    def extremes(self, value_o: Int) -> tuple[Int, Int]:
        """The least and the greatest value that any way to buy has."""
        order, starts = self.by_way
        sorted_o = value_o[order]
        return np.minimum.reduceat(sorted_o, starts), np.maximum.reduceat(sorted_o, starts)


def pool_offers_of(enc: Encoded, offers: Int, asked: tuple[MinValues, ...]) -> PoolOffers:
    """What there is among these offers, which come cheapest first."""
    types, row_o = np.unique(enc.type_o[offers], return_inverse=True)
    row_o = row_o.reshape(-1)
    ways, way_o = np.unique(enc.market.way_o[offers], return_inverse=True)
    way_o = way_o.reshape(-1)
    names = tuple(enc.market.ways[way] for way in ways.tolist())
    sizes, size_o = _sizes(enc.cap_or[offers], row_o, len(types))
    is_left = enc.supply_o[offers] > 0
    order = np.argsort(way_o, kind="stable")
    library = loading.library()
    compiled = None
    if library is not None:
        compiled = loops.FallbackFinder(
            library, sizes, names, size=size_o, row=row_o, way=way_o, is_left=is_left
        )
    return PoolOffers(
        offers=offers,
        types=types,
        row_o=row_o,
        way_o=way_o,
        sizes_xr=sizes,
        size_o=size_o,
        is_left_o=is_left,
        ways=names,
        asked=asked,
        by_way=(order, np.searchsorted(way_o[order], np.arange(len(names)))),
        compiled=compiled,
    )


def _sizes(cap_or: Int, row_o: Int, n_types: int) -> tuple[Int, Int]:
    """The distinct capacities, and which of them each offer has: one for each type, mostly."""
    first_t = np.zeros(n_types, dtype=np.int64)
    first_t[row_o[::-1]] = np.arange(len(row_o))[::-1]
    sizes: Int = cap_or[first_t]
    if (sizes[row_o] == cap_or).all():
        return sizes, row_o
    sizes, size_o = np.unique(cap_or, axis=0, return_inverse=True)
    return sizes, size_o.reshape(-1)


def nameable_offers(
    enc: Encoded, pool_offers: PoolOffers, offer: int, allowed: tuple[Bool, Bool]
) -> Bool:
    """The offers that may be named together: all that is sold under those names would do.

    `allowed` are offers that would do, and ways to buy that are welcome.
    """
    fine_o, welcome_w = allowed
    offering = enc.market.offers[offer].offering
    good_o: Bool = fine_o & pool_offers.is_left_o
    may_w = welcome_w & in_turn(pool_offers, offering.capacity_type)
    sells_w = np.zeros(len(pool_offers.ways), dtype=bool)
    sells_w[pool_offers.way_o[good_o]] = True
    sold = [way for way, is_sold in zip(pool_offers.ways, may_w & sells_w, strict=True) if is_sold]
    near_w = _ways(pool_offers, [kind for kind, _ in sold], [zone for _, zone in sold])
    near_o = near_w[pool_offers.way_o]  # no other way to buy could ever be named
    fine_t, wrong_t = (np.zeros(len(pool_offers.types), dtype=bool) for _ in range(2))
    fine_t[pool_offers.row_o[good_o]] = True
    wrong_t[pool_offers.row_o[near_o & ~fine_o]] = True
    # Where every type is right or wrong however it is bought, all can be named at once.
    if may_w[near_w].all() and not (fine_t & wrong_t).any():
        kept = good_o & near_o
    else:
        planned = (offering.capacity_type, offering.zone)
        kept = _grow_names(pool_offers, planned, may_w, (fine_o, good_o))
    return kept


def in_turn(pool_offers: PoolOffers, capacity_type: str) -> Bool:
    """The ways to buy of a capacity type and of those that providers fall back to from it."""
    kinds = {capacity_type, *later_kinds(capacity_type)}
    return np.array([kind in kinds for kind, _ in pool_offers.ways], dtype=bool)


def _grow_names(
    pool_offers: PoolOffers, planned: tuple[str, str], may_w: Bool, offers: tuple[Bool, Bool]
) -> Bool:
    """The same where a type may be right in one zone and wrong in another: one step at a time."""
    fine_o, good_o = offers
    size = (len(pool_offers.types), len(pool_offers.ways))
    fine_tw, wrong_tw = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    fine_tw[pool_offers.row_o[good_o], pool_offers.way_o[good_o]] = True
    wrong_tw[pool_offers.row_o[~fine_o], pool_offers.way_o[~fine_o]] = True
    kinds, zones = [planned[0]], [planned[1]]
    chosen = _ways(pool_offers, kinds, zones)
    # Falling back to another capacity type is worth more than to another zone: it comes first.
    steps: list[tuple[list[str], list[str]]] = [([kind], []) for kind in later_kinds(planned[0])]
    steps += [
        ([], [zone]) for zone in sorted({zone for _, zone in pool_offers.ways} - {planned[1]})
    ]
    for more_kinds, more_zones in steps:
        wider = _ways(pool_offers, [*kinds, *more_kinds], [*zones, *more_zones])
        more = wider & ~chosen
        named: Bool = np.any(fine_tw[:, chosen], axis=1) & ~np.any(wrong_tw[:, chosen], axis=1)
        is_wrong = (wrong_tw[:, more].any(axis=1) & named).any()
        if fine_tw[:, more].any() and may_w[more].all() and not is_wrong:
            kinds, zones, chosen = [*kinds, *more_kinds], [*zones, *more_zones], wider
    named = np.any(fine_tw[:, chosen], axis=1) & ~np.any(wrong_tw[:, chosen], axis=1)
    kept: Bool = good_o & chosen[pool_offers.way_o] & named[pool_offers.row_o]
    return kept


def _ways(pool_offers: PoolOffers, kinds: list[str], zones: list[str]) -> Bool:
    """The ways to buy that these names stand for."""
    return np.array(
        [kind in kinds and zone in zones for kind, zone in pool_offers.ways], dtype=bool
    )


def wide(enc: Encoded, pool_offers: PoolOffers, offer: int, fine_o: Bool) -> Iterator[Bool]:
    """Offers of types that would do however they are bought: in the planned zone, as the planned
    capacity type, and in any way.
    """
    planned = enc.market.offers[offer].offering
    own = np.searchsorted(pool_offers.types, enc.type_o[offer])
    sells_w = np.zeros(len(pool_offers.ways), dtype=bool)
    sells_w[pool_offers.way_o[fine_o]] = True
    zones = sorted({zone for _, zone in pool_offers.ways})
    later = [planned.capacity_type, *later_kinds(planned.capacity_type)]
    on_demand = [planned.capacity_type, labels.ON_DEMAND]
    for kinds, named in ((on_demand, [planned.zone]), (later[:1], zones), (later, zones)):
        ways = sells_w & _ways(pool_offers, kinds, named)
        wrong_t = np.zeros(len(pool_offers.types), dtype=bool)
        wrong_t[pool_offers.row_o[~fine_o & ways[pool_offers.way_o]]] = True
        if not wrong_t[own]:
            yield (
                fine_o
                & pool_offers.is_left_o
                & ways[pool_offers.way_o]
                & ~wrong_t[pool_offers.row_o]
            )


def few_enough(enc: Encoded, pool_offers: PoolOffers, offer: int, kept: Bool) -> tuple[Int, bool]:
    """No more types than a launch may name, but those that minValues need; the offer left out."""
    kept = kept & (pool_offers.offers != offer)
    others, rows = pool_offers.offers[kept], pool_offers.row_o[kept]
    first_t = np.full(len(pool_offers.types), len(rows))  # where each type comes first
    first_t[rows[::-1]] = np.arange(len(rows))[::-1]
    first_t[np.searchsorted(pool_offers.types, enc.type_o[offer])] = -1
    named = np.flatnonzero(first_t < len(rows))
    most = enc.problem.policy.max_instance_types
    if not pool_offers.asked and len(named) <= most:
        return others, False
    ranked = named[np.argsort(first_t[named])]
    kinds = pool_offers.types[ranked].tolist()
    if len(kinds) > most:
        needed = (gather(pool_offers.asked, kinds) if pool_offers.asked else None) or [0]
        rest = np.setdiff1d(np.arange(len(kinds)), needed)[: max(most - len(needed), 0)]
        places = np.sort(np.concatenate([needed, rest]))[:most].astype(np.int64)
        is_named = np.zeros(len(pool_offers.types), dtype=bool)
        is_named[ranked[places]] = True
        others, kinds = others[is_named[rows]], pool_offers.types[ranked[places]].tolist()
    return others, not are_met(pool_offers.asked, kinds)
