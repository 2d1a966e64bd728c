"""Prices loads: the cheapest node that holds exactly these pods.

A load is what a node holds: how many pods of which kind. Its rate is the cheapest offer that would
hold it by every law of a single node. While small plans are being improved, nodes have no offer of
their own: they cost what their load costs. So moving a pod makes one node smaller and another
larger at once. Loads come back again and again, so they are numbered and every answer is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import ge
from typing import Final, NamedTuple

import numpy as np

from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.kernel import loading, loops
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT, PodUnit

Load = tuple[tuple[int, int], ...]  # (sort of pod, how many), in order of sorts
NO_LOAD: Final = 0  # the number of the empty load
NO_WAY: Final = 1  # the number of every load that nothing holds
IMPOSSIBLE: Final = 2**62  # its price
_MOST_SORTS: Final = 2**20
_RATING: Final = 16  # a new load costs as much work as so many looks at known ones


@dataclass(slots=True)
class WorkBudget:
    """How much work may still be done: a count, so that clocks do not matter."""

    left: int


@dataclass(frozen=True, slots=True)
class _AdmittedOffers:
    """The offers that a combination of wishes admits, cheapest first.

    `front` are the rows of those that are larger in something than any cheaper one: the first that
    fits is among them.
    """

    offers: Int
    cap_or: Int
    price_o: list[int]
    front: list[tuple[int, list[int]]]

    def first_fit(self, use: list[int]) -> int | None:
        """The row of the cheapest offer that has as much as is used."""
        for row, cap in self.front:
            if all(map(ge, cap, use)):
                return row
        return None


class TermCounts(NamedTuple):
    """Who is on a node, as one host term sees it: selected, stating it, and both at once."""

    matched: int = 0
    owners: int = 0
    both: int = 0


@dataclass(frozen=True, slots=True)
class _Demand:
    """What a load asks of its node."""

    use: list[int]
    masks: tuple[int, ...] = ()
    cell: int = ANY_CELL
    weight: int = ANY_WEIGHT
    company: dict[int, TermCounts] = field(default_factory=dict)
    claims: frozenset[int] = frozenset()


def is_peaceful(kind: TermKind, max_skew: int, company: TermCounts) -> bool:
    """Whether pods may share a node in any order of arrival, as far as one term is concerned."""
    if not company.owners:
        return True
    if kind == TermKind.AFFINITY:
        return False  # whoever wants company was given a node before
    if kind == TermKind.SPREAD:
        return company.matched <= max_skew
    return company.matched == 0 or company == TermCounts(1, 1, 1)


def with_pods(company: dict[int, TermCounts], unit: PodUnit, count: int) -> dict[int, TermCounts]:
    """Who is there once so many pods of the unit have come."""
    result = dict(company)
    for term in {*unit.match, *unit.own}:
        matched, owners, both = result.get(term, TermCounts())
        matches, owns = term in unit.match, term in unit.own
        result[term] = TermCounts(
            matched + count * matches, owners + count * owns, both + count * (matches and owns)
        )
    return result


class Rates:
    """The sorts of pods of one puzzle, and what every load of them costs."""

    def __init__(self, enc: Encoded, offers: Int, budget: WorkBudget) -> None:
        self.enc = enc
        self._budget = budget
        # Whatever is in limited supply is left to the plan that is being improved.
        self._offers = offers[enc.supply_o[offers] >= UNLIMITED]
        self.prices: list[int] = np.unique(enc.plan_price_o[self._offers]).tolist()
        self.units: list[PodUnit] = []
        self.request: list[list[int]] = []
        self._number_of: dict[tuple[object, ...], int] = {}
        self.loads: list[Load] = [(), ()]
        self.price: list[int] = [0, IMPOSSIBLE]  # by load
        self.offer: list[int] = [-1, -1]
        self._demand: list[_Demand] = [_Demand([0] * len(enc.resources))] * 2
        self._load_of: dict[Load, int] = {(): NO_LOAD}
        self._grown: dict[int, int] = {}
        self._admitted: dict[tuple[tuple[int, ...], int, int], _AdmittedOffers] = {}

    def sort_of(self, unit: PodUnit) -> int:
        """The number of the unit's sort; equal units of several attempts are one sort."""
        key = (
            unit.request.tobytes(),
            unit.mask,
            unit.cell,
            unit.own,
            unit.match,
            unit.priority,
            unit.weight,
            unit.claims,
        )
        number = self._number_of.get(key)
        if number is None:
            number = self._number_of[key] = len(self.units)
            self.units.append(unit)
            self.request.append(unit.request.tolist())
        return number

    def load(self, pods: Load) -> int:
        """The number of a load; NO_WAY if nothing holds it."""
        number = self._load_of.get(pods)
        if number is None:
            demand: _Demand | None = self._demand[NO_LOAD]
            for sort, count in pods:
                demand = None if demand is None else self._add_pods(demand, sort, count)
            number = self._number(pods, demand)
        return number

    def with_one_more(self, number: int, sort: int) -> int:
        """The load with one more pod of a sort."""
        key = number * _MOST_SORTS + sort
        more = self._grown.get(key)
        if more is None:
            more = self._grown[key] = self._one_more(number, sort)
        return more

    def _one_more(self, number: int, sort: int) -> int:
        unit, demand = self.units[sort], self._demand[number]
        is_elsewhere = unit.cell != demand.cell and ANY_CELL not in {unit.cell, demand.cell}
        if number == NO_WAY or is_elsewhere:
            return NO_WAY
        held = dict(self.loads[number])
        held[sort] = held.get(sort, 0) + 1
        pods = tuple(sorted(held.items()))
        known = self._load_of.get(pods)
        if known is not None:
            return known
        return self._number(pods, self._add_pods(demand, sort, 1))

    def total(self, numbers: Iterable[int]) -> int:
        """What nodes for these loads cost."""
        return sum(self.price[number] for number in numbers)

    def nodes(self, numbers: Iterable[int]) -> list[tuple[int, Load]]:
        """The cheapest offer for each load, with what it holds."""
        return [(self.offer[number], self.loads[number]) for number in numbers]

    def pods(self, number: int) -> list[int]:
        """The sort of every pod of a load."""
        return [sort for sort, count in self.loads[number] for _ in range(count)]

    def _number(self, pods: Load, demand: _Demand | None) -> int:
        found = None if demand is None else self._cheapest(demand)
        if demand is None or found is None:
            self._load_of[pods] = NO_WAY
            return NO_WAY
        number = self._load_of[pods] = len(self.loads)
        self.loads.append(pods)
        self.price.append(found[0])
        self.offer.append(found[1])
        self._demand.append(demand)
        return number

    def _add_pods(self, held: _Demand, sort: int, count: int) -> _Demand | None:
        """What is asked with more pods of a sort; None if those cannot join."""
        unit = self.units[sort]
        cell = unit.cell if held.cell == ANY_CELL else held.cell
        weight = unit.weight if held.weight == ANY_WEIGHT else held.weight
        if unit.cell not in {ANY_CELL, cell} or unit.weight not in {ANY_WEIGHT, weight}:
            return None
        company = held.company
        if unit.own or unit.match:
            company = with_pods(company, unit, count)
            if not self._is_peaceful(unit, company):
                return None
        masks = held.masks
        if unit.mask not in masks:
            masks = tuple(sorted((*masks, unit.mask)))
        asked = self.request[sort]
        use = [have + count * more for have, more in zip(held.use, asked, strict=True)]
        for claim in unit.claims:
            use[self.enc.claims.resource[claim]] += claim not in held.claims
        claims = held.claims.union(unit.claims) if unit.claims else held.claims
        return _Demand(use, masks, cell, weight, company, claims)

    def _is_peaceful(self, unit: PodUnit, company: dict[int, TermCounts]) -> bool:
        hosts = self.enc.ties.hosts
        return all(
            is_peaceful(hosts[term].kind, hosts[term].max_skew, company[term])
            for term in (*unit.own, *unit.match)
        )

    def _cheapest(self, demand: _Demand) -> tuple[int, int] | None:
        """The price and the offer of the cheapest node that gives what is asked."""
        self._budget.left -= _RATING
        key = (demand.masks, demand.cell, demand.weight)
        admitted = self._admitted.get(key)
        if admitted is None:
            admitted = self._admitted[key] = self._offers_for(*key)
        hosts = self.enc.ties.hosts
        best = admitted.first_fit(demand.use)
        strict = [
            term
            for term in (demand.company if best is not None else ())
            if hosts[term].match_o is not None or hosts[term].own_o is not None
        ]
        if strict:  # daemon pods are not on all offers alike
            fits: Bool = np.all(admitted.cap_or >= np.array(demand.use), axis=1)
            for term in strict:
                fits &= self._welcome(term, demand.company[term], admitted.offers)
            best = int(fits.argmax()) if fits.any() else None
        return None if best is None else (admitted.price_o[best], int(admitted.offers[best]))

    def _welcome(self, term: int, company: TermCounts, offers: Int) -> Bool:
        """The offers whose daemon pods get on with the load."""
        host = self.enc.ties.hosts[term]
        here = np.zeros(len(offers), dtype=np.int64)
        matched = here if host.match_o is None else host.match_o[offers]
        owners = here if host.own_o is None else host.own_o[offers]
        return np.array(
            [
                is_peaceful(
                    host.kind,
                    host.max_skew,
                    TermCounts(company.matched + more, company.owners + own, company.both),
                )
                for more, own in zip(matched.tolist(), owners.tolist(), strict=True)
            ],
            dtype=bool,
        )

    def _offers_for(self, masks: tuple[int, ...], cell: int, weight: int) -> _AdmittedOffers:
        enc, offers = self.enc, self._offers
        accept = enc.masks_me[list(masks)][:, offers].all(axis=0)
        if cell != ANY_CELL:
            accept &= enc.cell_o[offers] == cell
        if weight != ANY_WEIGHT:
            accept &= enc.weight_o[offers] == weight
        found = offers[accept]
        found = found[np.lexsort((found, enc.plan_price_o[found]))]
        cap_or = np.ascontiguousarray(enc.cap_or[found])
        front = [(row, cap_or[row].tolist()) for row in _front(cap_or).tolist()]
        return _AdmittedOffers(found, cap_or, enc.plan_price_o[found].tolist(), front)


def _front(cap_or: Int) -> Int:
    """The rows that are larger in something than any row before them."""
    library = loading.library()
    if library is None:
        return np.arange(len(cap_or))
    nothing = np.zeros(len(cap_or), dtype=np.int64)
    alike, plenty = np.zeros((len(cap_or), 1), np.uint64), np.zeros(len(cap_or), dtype=bool)
    winner = loops.skyline(library, nothing, cap_or, alike, plenty)
    return np.flatnonzero(winner == np.arange(len(cap_or)))


class Site:
    """A node that is there whatever happens: it takes more pods for nothing, if they fit."""

    def __init__(self, rates: Rates, bins: Bins, node: int) -> None:
        self._rates = rates
        self.node = node
        self._enc = bins.enc
        self._free = bins.free[:, node].tolist()
        self._accept = bins.accept[:, node].tolist()
        self._cell, self._weight = int(bins.cell[node]), int(bins.weight[node])
        self._match = bins.match[:, node].tolist()
        self._own = bins.own[:, node].tolist()
        self._attached = frozenset(np.flatnonzero(bins.attached[:, node]).tolist())
        self._known: dict[Load, bool] = {(): True}

    def takes(self, load: Load) -> bool:
        """Whether all pods of a load could come."""
        held = self._known.get(load)
        if held is None:
            units = [(self._rates.units[sort], count) for sort, count in load]
            held = all(self._admits(unit) for unit, _ in units)
            held = held and self._has_room(units) and self._is_peaceful(units)
            self._known[load] = held
        return held

    def _admits(self, unit: PodUnit) -> bool:
        if not self._accept[unit.mask] or unit.cell not in {ANY_CELL, self._cell}:
            return False
        return ANY_WEIGHT in {unit.weight, self._weight} or unit.weight == self._weight

    def _has_room(self, units: list[tuple[PodUnit, int]]) -> bool:
        use = np.sum([unit.request * count for unit, count in units], axis=0)
        claims = {claim for unit, _ in units for claim in unit.claims} - self._attached
        for claim in sorted(claims):
            use[self._enc.claims.resource[claim]] += 1
        return bool(((use <= self._free) | (use <= 0)).all())

    def _is_peaceful(self, units: list[tuple[PodUnit, int]]) -> bool:
        company: dict[int, TermCounts] = {}
        for unit, count in units:
            company = with_pods(company, unit, count)
        for term, (matched, owners, both) in company.items():
            host = self._enc.ties.hosts[term]
            if host.kind == TermKind.AFFINITY and self._match[term]:
                continue
            there = TermCounts(matched + self._match[term], owners + self._own[term], both)
            if not is_peaceful(host.kind, host.max_skew, there):
                return False
        return True
