"""Scores how well pods of a finished plan like their nodes, and would like others.

Keeps what `preferences` changes: which pods are on which node, and how many pods of each wish about
company are in each domain. A pod's liking of a node is its score there plus its company there; what
others wish about it counts as well, so that every move that somebody likes makes the whole better
and moves come to an end.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.encoding.wishes import Wishes
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.units import PodUnit


class PreferenceBoard:
    """Pods by unit and node, and the company of every domain."""

    def __init__(self, attempt: Attempt, wishes: Wishes) -> None:
        self.attempt = attempt
        self.wishes = wishes
        bins, enc = attempt.bins, attempt.enc
        offer = bins.offer[: bins.n]
        place = np.arange(bins.n)
        self.entity_n = np.where(offer == EXISTING, enc.n_offers + place, offer)
        self.held: dict[int, dict[int, int]] = {}  # unit -> node -> pods
        for number, nodes, counts in bins.log:
            mine = self.held.setdefault(number, {})
            for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
                mine[node] = mine.get(node, 0) + count
        best = [int(row.max(initial=0)) for row in wishes.rows]
        self._best_s = [best[row] for row in wishes.row_s]
        self._choosy_s: dict[int, bool] = {}
        self._match: list[Int] = []
        self._own: list[Int] = []
        existing = place[: bins.n_existing]
        for number, term in enumerate(wishes.company):
            size = bins.n if term.is_host else int(term.domain_e.max(initial=-1)) + 2
            self._match.append(np.zeros(size, dtype=np.int64))
            self._own.append(np.zeros(size, dtype=np.int64))
            np.add.at(self._match[number], self._slots(number, existing), term.match_n)

    def count_all(self) -> None:
        """Count the placed pods in their domains; units must wish for one thing each by now."""
        for number, mine in self.held.items():
            unit = self.attempt.units[number]
            for node, count in mine.items() if any(self.company(unit)) else ():
                self._count(unit, node, count)

    def units_by_node(self) -> dict[int, list[int]]:
        """The numbers of the units on every node."""
        by_node: dict[int, list[int]] = {}
        for number, mine in self.held.items():
            for node in mine:
                by_node.setdefault(node, []).append(number)
        return by_node

    def wish(self, unit: PodUnit) -> int:
        """The number of what a unit wishes for."""
        return int(self.wishes.wish_g[unit.members[0][0]]) if unit.members else 0

    def company(self, unit: PodUnit) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The wishes about company that a unit has, and those that are about it."""
        if not unit.members:
            return (), ()
        group = unit.members[0][0]
        return self.wishes.own_g[group], self.wishes.match_g[group]

    def choosy_nodes(self) -> list[int]:
        """The nodes that hold a pod to which it matters which offer they are, in order."""
        units = self.attempt.units
        choosy = (mine for number, mine in self.held.items() if self._is_choosy(units[number]))
        return sorted({node for mine in choosy for node in mine})

    def _is_choosy(self, unit: PodUnit) -> bool:
        """Whether it matters to a unit which offer its node is, and not only who else is there."""
        wish = self.wish(unit)
        if wish not in self._choosy_s:
            company = [
                self.wishes.company[number] for numbers in self.company(unit) for number in numbers
            ]
            is_about_offers = not all(term.is_host for term in company)
            self._choosy_s[wish] = self.wishes.has_scores(wish) or is_about_offers
        return self._choosy_s[wish]

    def is_content(self, unit: PodUnit, node: int) -> bool:
        """Whether a pod of the unit could like no node better than this one, which is its own."""
        wish, entity = self.wish(unit), self.entity_n[node]
        if self.wishes.scores(wish)[entity] < self._best_s[wish]:
            return False
        own, match = self.company(unit)
        for counts_t, terms, others in ((self._match, own, match), (self._own, match, own)):
            for number in terms:
                term = self.wishes.company[number]
                slot = node if term.is_host else term.domain_e[entity]
                if term.weight > 0 or (slot >= 0 and counts_t[number][slot] > (number in others)):
                    return False
        return True

    def preference_scores(self, unit: PodUnit, nodes: Int, leaving: int) -> Int:
        """What one pod of the unit would make of these nodes, once it has left its own."""
        own, match = self.company(unit)
        value: Int = self.wishes.scores(self.wish(unit))[self.entity_n[nodes]]
        for number in own:
            counts = self._match[number].copy()
            counts[self._slots(number, np.array([leaving]))] -= number in match
            value += self.wishes.company[number].weight * self._counts_at(number, counts, nodes)
        for number in match:
            counts = self._own[number].copy()
            counts[self._slots(number, np.array([leaving]))] -= number in own
            value += self.wishes.company[number].weight * self._counts_at(number, counts, nodes)
        return value

    def offer_liking(self, node: int, numbers: list[int], offers: Int) -> Int:
        """What the units on a new node would make of it, were it one of these offers."""
        counts = [(number, self.held[number][node]) for number in numbers]
        units = self.attempt.units
        for number, count in counts:
            self._count(units[number], node, -count)
        value = np.zeros(len(offers), dtype=np.int64)
        for number, count in counts:
            value += count * self.wishes.scores(self.wish(units[number]))[offers]
            own, match = self.company(units[number])
            for counts_t, terms in ((self._match, own), (self._own, match)):
                for term in terms:
                    wish = self.wishes.company[term]
                    if not wish.is_host:
                        domain = wish.domain_e[offers]
                        there = np.where(domain >= 0, counts_t[term][domain], 0)
                        value += count * wish.weight * there
        for number, count in counts:
            self._count(units[number], node, count)
        return value

    def note_offer(self, node: int, numbers: list[int], offer: int) -> None:
        """Note that a new node with these units is now one of another offer."""
        mine = [(number, self.held[number][node]) for number in numbers]
        for number, count in mine:
            self._count(self.attempt.units[number], node, -count)
        self.entity_n[node] = offer
        for number, count in mine:
            self._count(self.attempt.units[number], node, count)

    def move(self, number: int, source: int, target: int, count: int) -> None:
        """Take pods of a unit from one node to another, which has room for them."""
        unit, mine = self.attempt.units[number], self.held[number]
        for node, change in ((source, -count), (target, count)):
            self.attempt.bins.shift(unit, np.array([node]), np.array([change]))
            mine[node] = mine.get(node, 0) + change
            if not mine[node]:
                del mine[node]
            self._count(unit, node, change)

    def _count(self, unit: PodUnit, node: int, change: int) -> None:
        own, match = self.company(unit)
        for counts_t, terms in ((self._own, own), (self._match, match)):
            for number in terms:
                counts_t[number][self._slots(number, np.array([node]))] += change

    def _slots(self, number: int, nodes: Int) -> Int:
        """Where the domains of nodes are counted; the last slot is for nodes that have none."""
        term = self.wishes.company[number]
        return nodes if term.is_host else term.domain_e[self.entity_n[nodes]]

    def _counts_at(self, number: int, counts: Int, nodes: Int) -> Int:
        slots = self._slots(number, nodes)
        return np.where(slots >= 0, counts[slots], 0)

    def record(self) -> None:
        """Write who is where back into the plan; new nodes that lost all pods are not launched."""
        bins = self.attempt.bins
        bins.log = [
            (
                number,
                np.array(sorted(mine), dtype=np.int64),
                np.array([mine[node] for node in sorted(mine)], dtype=np.int64),
            )
            for number, mine in sorted(self.held.items())
            if mine
        ]
        used = {node for mine in self.held.values() for node in mine}
        for node in range(bins.n_existing, bins.n):
            if node not in used and not bins.dead[node]:
                bins.dead[node] = True
                bins.accept[:, node] = False
                bins.limits.take(int(bins.offer[node]), -1)
