"""Turns a plan into loads that can be improved, and loads back into a plan.

A draft is a plan before any node is bought freely: groups are settled, existing nodes are full, who
wants company on a node has one, and nodes from reservations are as in the plan to be improved. What
is left needs new nodes; once loads for them are found, they are written into the draft.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail.solve.axes import UNLIMITED
from dovetail.solve.packing.attempt import Attempt, Prefer, left_of, new_attempt
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.contents import loads
from dovetail.solve.search.improve import Improver, LoadLayout
from dovetail.solve.search.rates import NO_LOAD, NO_WAY, Load, Rates, Site, WorkBudget
from dovetail.solve.zones.colocate import colocate
from dovetail.solve.zones.settle import settle_all

_SETTLING: Final = 100  # settling a group costs as much work as so many looks
_NODES: Final = 500  # or twice as much, where so many nodes exist


@dataclass(slots=True)
class Draft:
    """Settled groups, nodes with room that are there, and how many pods of each sort need more."""

    attempt: Attempt
    sites: list[Site]
    improver: Improver
    pods: Counter[int]
    n_left_out: int  # pods that no new node would take
    price: int  # of the nodes with room


class DraftMaker:
    """Makes drafts of one puzzle, after a plan for it."""

    def __init__(self, base: Attempt, rates: Rates, budget: WorkBudget) -> None:
        self._base = base
        self._rates = rates
        self._budget = budget
        self._held = [
            (int(base.bins.offer[node]), pods)
            for node, pods in sorted(loads(base.bins.log).items())
            if base.bins.offer[node] != EXISTING
        ]

    def loads(self) -> list[int]:
        """What the new nodes of the plan hold, but for those from reservations."""
        return [
            self._rates.load(self._load(pods))
            for offer, pods in self._held
            if not self._is_scarce(offer)
        ]

    def _load(self, load: dict[int, int]) -> Load:
        sort_of, units = self._rates.sort_of, self._base.units
        pods: Counter[int] = Counter()
        for number, count in load.items():
            pods[sort_of(units[number])] += count
        return tuple(sorted(pods.items()))

    def _is_scarce(self, offer: int) -> bool:
        return bool(self._base.enc.supply_o[offer] < UNLIMITED)

    def draft(self, prefer: Prefer) -> Draft:
        """Settle all groups, and see what is left to place on new nodes."""
        base = self._base
        n_groups, n_existing = len(base.enc.groups), base.bins.n_existing
        self._budget.left -= _SETTLING * n_groups * (_NODES + n_existing) // _NODES
        attempt = new_attempt(base.enc, base.offers, base.values, prefer)
        settle_all(attempt, range(n_groups))
        attempt.left_u = left_of(attempt)
        colocate(attempt.bins, attempt.units, attempt.left_u)
        self._keep_scarce(attempt)
        # Existing nodes are as full as they get by now.
        new = range(n_existing, attempt.bins.n)
        sites = [Site(self._rates, attempt.bins, node) for node in new]
        pods: Counter[int] = Counter()
        for number in np.flatnonzero(attempt.left_u).tolist():
            sort = self._rates.sort_of(attempt.units[number])
            is_welcome = any(site.takes(((sort, 1),)) for site in sites)
            if is_welcome or self._rates.with_one_more(NO_LOAD, sort) != NO_WAY:
                pods[sort] = int(attempt.left_u[number])
        improver = Improver(self._rates, sites, attempt.bins.limits, self._budget)
        n_left_out = int(attempt.left_u.sum()) - pods.total()
        price = int(base.enc.plan_price_o[attempt.bins.offer[n_existing : attempt.bins.n]].sum())
        return Draft(attempt, sites, improver, pods, n_left_out, price)

    def _keep_scarce(self, attempt: Attempt) -> None:
        """Open the nodes again that were bought from a reservation: loads are not priced by it."""
        number_of = self._number_of(attempt)
        for offer, pods in self._held:
            if not self._is_scarce(offer):
                continue
            kept = {
                sort: min(count, int(attempt.left_u[number_of[sort]]))
                for sort, count in self._load(pods)
                if sort in number_of
            }
            load = tuple((sort, count) for sort, count in kept.items() if count)
            if load:
                _place_load(attempt, attempt.bins.open(offer, 1).start, load, number_of)

    def _number_of(self, attempt: Attempt) -> dict[int, int]:
        """The unit of every sort."""
        return {self._rates.sort_of(unit): number for number, unit in enumerate(attempt.units)}

    def write_layout(self, draft: Draft, layout: LoadLayout) -> Attempt:
        """The draft with the nodes of a layout."""
        attempt = draft.attempt
        number_of = self._number_of(attempt)
        for site, load in zip(draft.sites, layout.extra, strict=True):
            _place_load(attempt, site.node, load, number_of)
        for number in layout.loads:
            node = attempt.bins.open(self._rates.offer[number], 1).start
            _place_load(attempt, node, self._rates.loads[number], number_of)
        return attempt


def _place_load(attempt: Attempt, node: int, load: Load, number_of: dict[int, int]) -> None:
    """Place the pods of a load on a node."""
    for sort, count in load:
        number = number_of[sort]
        attempt.bins.put(number, attempt.units[number], np.array([node]), np.array([count]))
        attempt.left_u[number] -= count
