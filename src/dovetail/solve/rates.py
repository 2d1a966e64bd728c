"""What does one node for just these pods cost?

A load is what a node holds: how many pods of which kind. Its rate is the cheapest offer that would
hold it by every law of a single node. While small plans are being improved, nodes have no offer of
their own: they cost what their load costs. So moving a pod makes one node smaller and another
larger at once. Loads come back again and again, so they are numbered and every answer is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.bins import Bins
from dovetail.solve.encode import Encoded
from dovetail.solve.terms import Kind
from dovetail.solve.units import ANY_CELL, ANY_WEIGHT, Unit

Load = tuple[tuple[int, int], ...]  # (sort of pod, how many), in order of sorts
NO_LOAD: Final = 0  # the number of the empty load
IMPOSSIBLE: Final = 2**62  # the price of a load that nothing holds
_MOST_SORTS: Final = 2**20


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The offers that a combination of wishes admits, cheapest first."""

    offers: Int
    cap_or: Int
    price_o: list[int]


class Company(NamedTuple):
    """Who is on a node, as one host term sees it: selected, stating it, and both at once."""

    matched: int = 0
    owners: int = 0
    both: int = 0


def is_peaceful(kind: Kind, max_skew: int, company: Company) -> bool:
    """Whether pods may share a node in any order of arrival, as far as one term is concerned."""
    if not company.owners or kind == Kind.AFFINITY:
        return True
    if kind == Kind.SPREAD:
        return company.matched <= max_skew
    return company.matched == 0 or company == Company(1, 1, 1)


class Rates:
    """The sorts of pods of one puzzle, and what every load of them costs."""

    def __init__(self, enc: Encoded, offers: Int) -> None:
        self._enc = enc
        # Whatever is in limited supply is left to the plan that is being improved.
        self._offers = offers[enc.supply_o[offers] >= UNLIMITED]
        self.units: list[Unit] = []
        self.request: list[list[int]] = []
        self._number_of: dict[tuple[object, ...], int] = {}
        self.loads: list[Load] = [()]
        self.price: list[int] = [0]  # by load
        self.offer: list[int] = [-1]
        self._load_of: dict[Load, int] = {(): NO_LOAD}
        self._grown: dict[int, int] = {}
        self._shelves: dict[tuple[tuple[int, ...], int, int], _Shelf] = {}

    def sort_of(self, unit: Unit) -> int:
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

    def load(self, load: Load) -> int:
        """The number of a load, which has a price and an offer."""
        number = self._load_of.get(load)
        if number is None:
            number = self._load_of[load] = len(self.loads)
            price, offer = self._cheapest(load)
            self.loads.append(load)
            self.price.append(price)
            self.offer.append(offer)
        return number

    def grown(self, number: int, sort: int) -> int:
        """The load with one more pod of a sort."""
        key = number * _MOST_SORTS + sort
        more = self._grown.get(key)
        if more is None:
            held = dict(self.loads[number])
            held[sort] = held.get(sort, 0) + 1
            more = self._grown[key] = self.load(tuple(sorted(held.items())))
        return more

    def pods(self, number: int) -> list[int]:
        """The sort of every pod of a load."""
        return [sort for sort, count in self.loads[number] for _ in range(count)]

    def use(self, load: Load, attached: Iterable[int] = ()) -> list[int]:
        """What the load takes of a node that has some shared volumes attached already."""
        total = [0] * len(self._enc.resources)
        claims: set[int] = set()
        for sort, count in load:
            total = [
                held + count * asked
                for held, asked in zip(total, self.request[sort], strict=True)
            ]
            claims.update(self.units[sort].claims)
        for claim in claims.difference(attached):
            total[self._enc.claims.resource[claim]] += 1
        return total

    def company(self, load: Load) -> dict[int, Company]:
        """Who is there, for every host term that concerns the load."""
        seen: dict[int, Company] = {}
        for sort, count in load:
            unit = self.units[sort]
            for term in unit.match:
                held = seen.get(term, Company())
                both = held.both + count * (term in unit.own)
                seen[term] = Company(held.matched + count, held.owners, both)
            for term in unit.own:
                held = seen.get(term, Company())
                seen[term] = held._replace(owners=held.owners + count)
        return seen

    def _cheapest(self, load: Load) -> tuple[int, int]:
        """The price and the offer of the cheapest node for a load."""
        company = self.company(load)
        hosts = self._enc.ties.hosts
        for term, held in company.items():
            is_alone = hosts[term].kind == Kind.AFFINITY and held.owners
            if is_alone or not is_peaceful(hosts[term].kind, hosts[term].max_skew, held):
                return IMPOSSIBLE, -1
        shelf = self._shelf(load)
        if shelf is None:
            return IMPOSSIBLE, -1
        fits = (shelf.cap_or >= self.use(load)).all(axis=1)
        for term, held in company.items():
            if hosts[term].match_o is not None:
                fits &= self._welcome(term, held, shelf.offers)
        if not fits.any():
            return IMPOSSIBLE, -1
        best = int(fits.argmax())
        return shelf.price_o[best], int(shelf.offers[best])

    def _welcome(self, term: int, company: Company, offers: Int) -> Bool:
        """The offers whose daemon pods get on with the load."""
        host = self._enc.ties.hosts[term]
        here = np.zeros(len(offers), dtype=np.int64)
        matched = here if host.match_o is None else host.match_o[offers]
        owners = here if host.own_o is None else host.own_o[offers]
        return np.array(
            [
                is_peaceful(
                    host.kind,
                    host.max_skew,
                    Company(company.matched + more, company.owners + own, company.both),
                )
                for more, own in zip(matched.tolist(), owners.tolist(), strict=True)
            ],
            dtype=bool,
        )

    def _shelf(self, load: Load) -> _Shelf | None:
        units = [self.units[sort] for sort, _ in load]
        cells = {unit.cell for unit in units} - {ANY_CELL}
        weights = {unit.weight for unit in units} - {ANY_WEIGHT}
        if len(cells) > 1 or len(weights) > 1:
            return None
        masks = tuple(sorted({unit.mask for unit in units}))
        cell = cells.pop() if cells else ANY_CELL
        weight = weights.pop() if weights else ANY_WEIGHT
        key = (masks, cell, weight)
        if key not in self._shelves:
            self._shelves[key] = self._stocked(masks, cell, weight)
        return self._shelves[key]

    def _stocked(self, masks: tuple[int, ...], cell: int, weight: int) -> _Shelf:
        enc, offers = self._enc, self._offers
        accept = enc.masks_me[list(masks)][:, offers].all(axis=0)
        if cell != ANY_CELL:
            accept &= enc.cell_o[offers] == cell
        if weight != ANY_WEIGHT:
            accept &= enc.weight_o[offers] == weight
        found = offers[accept]
        found = found[np.lexsort((found, enc.plan_price_o[found]))]
        return _Shelf(found, enc.cap_or[found], enc.plan_price_o[found].tolist())


class Site:
    """A node that is there whatever happens: it takes more pods for nothing, as long as they fit."""

    def __init__(self, rates: Rates, bins: Bins, node: int) -> None:
        self._rates = rates
        self.node = node
        self._hosts = bins.enc.ties.hosts
        self._free = bins.free[:, node].tolist()
        self._accept = bins.accept[:, node].tolist()
        self._cell, self._weight = int(bins.cell[node]), int(bins.weight[node])
        self._match = bins.match[:, node].tolist()
        self._own = bins.own[:, node].tolist()
        self._attached = np.flatnonzero(bins.attached[:, node]).tolist()
        self._known: dict[int, bool] = {NO_LOAD: True}

    def takes(self, number: int) -> bool:
        """Whether all pods of a load could come."""
        held = self._known.get(number)
        if held is None:
            load = self._rates.loads[number]
            held = self._known[number] = self._admits(load) and self._is_peaceful(load)
        return held

    def _admits(self, load: Load) -> bool:
        for sort, _ in load:
            unit = self._rates.units[sort]
            if not self._accept[unit.mask] or unit.cell not in {ANY_CELL, self._cell}:
                return False
            if ANY_WEIGHT not in {unit.weight, self._weight} and unit.weight != self._weight:
                return False
        use = self._rates.use(load, self._attached)
        return all(asked <= free or not asked for asked, free in zip(use, self._free, strict=True))

    def _is_peaceful(self, load: Load) -> bool:
        for term, held in self._rates.company(load).items():
            host = self._hosts[term]
            if host.kind == Kind.AFFINITY:
                if held.owners and not self._match[term]:
                    return False
                continue
            matched, owners = held.matched + self._match[term], held.owners + self._own[term]
            company = Company(matched, owners, held.both)
            if not is_peaceful(host.kind, host.max_skew, company):
                return False
        return True
