"""The puzzle in plain integers, as the search over a handful of pods wants it.

Sets of offers are bits of one integer. A new node has no offer yet: it has the set of offers that
would still do, which shrinks as pods come.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.solve.axes import UNLIMITED, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.limits import Limits
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.program.pod_worth import takes


@dataclass(frozen=True, slots=True)
class Sort:
    """Pods of one group: what they ask for, where they may go, which terms concern them."""

    group: int
    count: int
    priority: int
    request: tuple[int, ...]
    offers: int  # bits
    nodes: tuple[bool, ...]  # existing ones
    host_own: tuple[int, ...]
    host_match: tuple[int, ...]
    zone_own: tuple[int, ...]
    zone_match: tuple[int, ...]
    reach: tuple[frozenset[int], ...]  # by zone term: domains that offers could open for them

    @property
    def is_tied(self) -> bool:
        """Whether some term over a wider topology key concerns them."""
        return bool(self.zone_own or self.zone_match)


class ExactPuzzle:
    """Everything that the search asks about one puzzle."""

    def __init__(self, enc: Encoded, offers: Int) -> None:
        self.enc = enc
        self.limits = Limits(enc)
        usable = offers[self.limits.open_offers()[offers]]
        order = np.lexsort((usable, enc.plan_price_o[usable], -enc.weight_o[usable]))
        self.offers: list[int] = usable[order].tolist()
        self.price: list[int] = enc.plan_price_o[self.offers].tolist()
        self.weight: list[int] = enc.weight_o[self.offers].tolist()
        self.cell: list[int] = enc.cell_o[self.offers].tolist()
        self.use = [row[self.offers].tolist() for row in self.limits.rows]
        self.left = [max(left, 0) for left in self.limits.left]
        self.domains: list[list[int]] = enc.ties.domains_ck.tolist()
        self.hosts, self.zones = enc.ties.hosts, enc.ties.zones
        self.free = [tuple(row) for row in enc.free_nr.tolist()]
        self.node_cell: list[int] = enc.cell_n.tolist()
        self.sorts = [self._sort(group) for group in range(len(enc.groups))]
        self._fitting: dict[tuple[int, ...], int] = {}
        self._least: dict[int, tuple[int, tuple[int, ...]]] = {}

    def _sort(self, group: int) -> Sort:
        enc, ties = self.enc, self.enc.ties
        fits = takes(enc, np.array([group]), np.array(self.offers, dtype=np.int64))[0]
        bits = sum(1 << place for place in np.flatnonzero(fits).tolist())
        bits &= self._without_hostile_daemons(group)
        cells = {self.cell[place] for place in range(len(self.offers)) if bits >> place & 1}
        reach = tuple(
            frozenset(self.domains[cell][term.key] for cell in cells) - {-1} for term in self.zones
        )
        return Sort(
            group,
            int(enc.count_g[group]),
            int(enc.priority_g[group]),
            tuple(enc.requests_gr[group].tolist()),
            bits,
            tuple(enc.mask_gn(group).tolist()),
            tuple(ties.host_own_g[group]),
            tuple(ties.host_match_g[group]),
            tuple(ties.zone_own_g[group]),
            tuple(ties.zone_match_g[group]),
            reach,
        )

    def _without_hostile_daemons(self, group: int) -> int:
        """The offers whose daemon pods do not keep the group away."""
        ties, bits = self.enc.ties, (1 << len(self.offers)) - 1
        pairs = [(term, ties.hosts[term].match_o) for term in ties.host_own_g[group]]
        pairs += [(term, ties.hosts[term].own_o) for term in ties.host_match_g[group]]
        for term, present in pairs:
            if present is not None and ties.hosts[term].kind in (TermKind.ANTI, TermKind.PORT):
                here = np.flatnonzero(present[self.offers] == 0).tolist()
                bits &= sum(1 << place for place in here)
        return bits

    @property
    def is_plain(self) -> bool:
        """Whether the search knows all rules of the puzzle: no volumes that pods share."""
        return not any(self.enc.claims.claims_g)

    @cached_property
    def empty(self) -> dict[tuple[int, ...], int]:
        """What new nodes are like before pods come: by host term the daemon pods that are company
        or count in a spread, and the offers with just these, as bits.
        """
        about = (TermKind.AFFINITY, TermKind.SPREAD)
        nobody = [0] * len(self.offers)
        daemons = [
            nobody
            if term.match_o is None or term.kind not in about
            else term.match_o[self.offers].tolist()
            for term in self.hosts
        ]
        bits_by_load: dict[tuple[int, ...], int] = {}
        for place in range(len(self.offers)):
            present = tuple(row[place] for row in daemons)
            bits_by_load[present] = bits_by_load.get(present, 0) | 1 << place
        return bits_by_load

    @cached_property
    def cells(self) -> dict[int, int]:
        """The offers of every cell, as bits, cheapest cells first."""
        bits_by_cell: dict[int, int] = {}
        for place in sorted(range(len(self.offers)), key=lambda place: (self.price[place], place)):
            cell = self.cell[place]
            bits_by_cell[cell] = bits_by_cell.get(cell, 0) | 1 << place
        return bits_by_cell

    @cached_property
    def _thresholds(self) -> list[tuple[list[int], list[int]]]:
        """For every resource the capacities, ascending, and the offers that have at least each."""
        thresholds = []
        for resource in range(len(self.enc.resources)):
            caps = self.enc.cap_or[self.offers, resource].tolist()
            levels = sorted(set(caps))
            bits, below = [], 0
            for level in reversed(levels):
                below |= sum(1 << place for place, cap in enumerate(caps) if cap == level)
                bits.append(below)
            thresholds.append((levels, bits[::-1]))
        return thresholds

    def offers_with_room(self, use: tuple[int, ...]) -> int:
        """The offers that have as much as is used, as bits."""
        bits = self._fitting.get(use)
        if bits is None:
            bits = (1 << len(self.offers)) - 1
            for amount, (levels, having) in zip(use, self._thresholds, strict=True):
                if amount > 0:
                    place = bisect_left(levels, amount)
                    bits &= having[place] if place < len(levels) else 0
            self._fitting[use] = bits
        return bits

    def least(self, bits: int) -> tuple[int, tuple[int, ...]]:
        """The least price among some offers, and the least use of every limit."""
        least = self._least.get(bits)
        if least is None:
            places = [place for place in range(len(self.offers)) if bits >> place & 1]
            price = min(self.price[place] for place in places)
            use = tuple(min(row[place] for place in places) for row in self.use)
            least = self._least[bits] = (price, use)
        return least

    def is_scarce(self, place: int) -> bool:
        """Whether an offer is in limited supply."""
        return bool(self.limits.supply[self.offers[place]] < UNLIMITED)
