"""Improves a layout of loads by local search: the same pods on cheaper nodes.

Ruin and recreate: take the pods off a few nodes, put them back one at a time where that costs
least, and keep what is no dearer. Nodes cost what their load costs (`rates`), so every step sizes
them anew. Which nodes are tried is drawn from a counter, never from a clock or true chance: the
same puzzle is always improved in the same way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dovetail.solve.encoding.limits import Limits
from dovetail.solve.search.rates import IMPOSSIBLE, NO_LOAD, Load, Rates, Site, WorkBudget

_SHYNESS: Final = 32  # one place in so many is overlooked, or every try would end alike
_MOST_RUINED: Final = 4
_PATIENCE: Final = 20  # tries for each pod without success, then it is as good as it gets


@dataclass(slots=True)
class LoadLayout:
    """Which pods share a node: loads of new nodes, by number, and what sites take besides."""

    loads: list[int] = field(default_factory=list)
    extra: list[Load] = field(default_factory=list)  # by site

    def copy(self) -> LoadLayout:
        """Another one with the same pods."""
        return LoadLayout(list(self.loads), list(self.extra))


class Chance:
    """Numbers that look drawn by lot, the same ones every time."""

    def __init__(self, seed: int) -> None:
        self._state = (seed * 2862933555777941757 + 3037000493) & (2**64 - 1)

    def below(self, stop: int) -> int:
        """The next number from 0 to stop - 1."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        return (self._state >> 33) % stop


class Improver:
    """Places pods on nodes where they cost least."""

    def __init__(
        self, rates: Rates, sites: Sequence[Site], limits: Limits, budget: WorkBudget
    ) -> None:
        self._rates = rates
        self._budget = budget
        self._sites = sites
        self._limits = limits
        self._chance = Chance(1)

    def price(self, layout: LoadLayout) -> int:
        """What the new nodes cost; beyond any price if limits do not allow them."""
        if self._limits.rows and not self._is_within_limits(layout):
            return IMPOSSIBLE
        price = self._rates.price
        return sum(price[load] for load in layout.loads)

    def _is_within_limits(self, layout: LoadLayout) -> bool:
        offers = [self._rates.offer[load] for load in layout.loads]
        return all(
            sum(int(row[offer]) for offer in offers) <= max(left, 0)
            for row, left in zip(self._limits.rows, self._limits.left, strict=True)
        )

    def insert(self, layout: LoadLayout, sorts: Sequence[int], shyness: int = 0) -> bool:
        """Put pods of these sorts where each costs least; False as soon as one fits nowhere."""
        return all(
            self._join_site(layout, sort) or self._join(layout, sort, shyness) for sort in sorts
        )

    def _join_site(self, layout: LoadLayout, sort: int) -> bool:
        for place, site in enumerate(self._sites):
            pods = dict(layout.extra[place])
            pods[sort] = pods.get(sort, 0) + 1
            more = tuple(sorted(pods.items()))
            if site.takes(more):
                layout.extra[place] = more
                return True
        return False

    def _join(self, layout: LoadLayout, sort: int, shyness: int) -> bool:
        """Put a pod on the new node that it makes least dearer, or on one of its own."""
        grown, price = self._rates.with_one_more, self._rates.price
        chosen, where = grown(NO_LOAD, sort), -1
        least = price[chosen]
        self._budget.left -= len(layout.loads) + 1
        overlooked = self._chance.below(shyness) if shyness else -1
        for place, load in enumerate(layout.loads):
            more = grown(load, sort)
            dearer = price[more] - price[load]
            if dearer > least or (dearer == least and where >= 0) or place == overlooked:
                continue
            least, where, chosen = dearer, place, more
            if not least:
                break
        if price[chosen] >= IMPOSSIBLE:
            return False
        if where < 0:
            layout.loads.append(chosen)
        else:
            layout.loads[where] = chosen
        return True

    def improve(self, layout: LoadLayout, tries: int) -> LoadLayout:
        """The cheapest layout found in so many tries; layouts of equal price are passed through."""
        best = current = layout
        lowest = price = self.price(layout)
        patience = _PATIENCE * sum(len(self._rates.pods(load)) for load in layout.loads)
        gives_up_at = patience
        for turn in range(tries):
            if turn >= gives_up_at or self._budget.left <= 0:
                break
            other = current.copy()
            pods, paid = self._remove_nodes(other, turn)
            if turn % 2:
                pods = self._fill_large(other, pods, paid)
            self.insert(other, pods, _SHYNESS)  # each fits a node of its own at least
            other_price = self.price(other)
            if other_price <= price:
                current, price = other, other_price
            if price < lowest:
                best, lowest, gives_up_at = current, price, turn + patience
        return best

    def _remove_nodes(self, layout: LoadLayout, turn: int) -> tuple[list[int], int]:
        """Take some nodes away; returns their pods in an order to place them in, and what the
        nodes cost.
        """
        count = min(1 + self._chance.below(_MOST_RUINED), len(layout.loads))
        pods: list[int] = []
        paid = 0
        for _ in range(count):
            gone = layout.loads.pop(self._chance.below(len(layout.loads)))
            pods += self._rates.pods(gone)
            paid += self._rates.price[gone]
        return self.order_pods(pods, turn // 2), paid

    def _fill_large(self, layout: LoadLayout, pods: list[int], paid: int) -> list[int]:
        """Open a node for less than was paid and put on it what fits; returns the other pods.

        Pods that come one by one never find a large node worth its price.
        """
        affordable = bisect_left(self._rates.prices, paid)
        if not affordable:
            return pods
        most = self._rates.prices[self._chance.below(affordable)]
        grown, price = self._rates.with_one_more, self._rates.price
        load, rest = NO_LOAD, []
        for sort in pods:
            more = grown(load, sort)
            if price[more] <= most:
                load = more
            else:
                rest.append(sort)
        if load != NO_LOAD:
            layout.loads.append(load)
        return rest

    def order_pods(self, pods: Sequence[int], turn: int = 0) -> list[int]:
        """The pods by cpu, by memory, or in a drawn order, by turns."""
        request = self._rates.request
        if turn % 4 == 0:
            return sorted(pods, key=lambda sort: (-request[sort][0], -request[sort][1], sort))
        if turn % 4 == 1:
            return sorted(pods, key=lambda sort: (-request[sort][1], -request[sort][0], sort))
        drawn = sorted((self._chance.below(2**30), place) for place in range(len(pods)))
        return [pods[place] for _, place in drawn]
