"""Depth first over pods, in an order in which kube-scheduler could bind them.

A state is what every node holds; how it came about does not matter, so no state is visited twice.
Every placement must be legal at its time. A spread reckons with every domain that offers could open
for the pod, even while it is empty. Existing nodes come first: their pods are bound before any new
node is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.exact.board import ExactPuzzle, Sort

_NEW: Final = -1  # instead of the number of an existing node


class Spot(NamedTuple):
    """A node: an existing one with what is free, or a new one with what is used and the offers that
    would do.
    """

    node: int
    cell: int  # -1: not chosen yet
    room: tuple[int, ...]  # free on an existing node, used on a new one
    offers: int
    held: tuple[int, ...]  # pods of each sort
    match: tuple[int, ...]  # by host term
    own: tuple[int, ...]


Step = tuple[int, int]  # a sort, and the number of its spot


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everybody goes: spots, and the order in which pods come to them."""

    spots: tuple[Spot, ...]
    steps: tuple[Step, ...]


class Search:
    """Looks for layouts that hold so many pods of every sort."""

    def __init__(self, board: ExactPuzzle, budget: int) -> None:
        self._board = board
        self.budget = budget
        self._match = [term.match_d.tolist() for term in board.zones]
        self._own = [term.own_d.tolist() for term in board.zones]
        self._seen_d = [set(np.flatnonzero(term.seen_d).tolist()) for term in board.zones]
        self._steps: list[Step] = []
        self._known: set[tuple[object, ...]] = set()
        self._tied = [self._order_matters(sort) for sort in board.sorts]
        self._empty = self._empty_spots()

    def _order_matters(self, sort: Sort) -> bool:
        """Whether it matters when pods of a sort come: they want company or are spread, or are
        company or counted for others.
        """
        kinds = (TermKind.AFFINITY, TermKind.SPREAD)
        hosts = (self._board.hosts[term].kind for term in (*sort.host_own, *sort.host_match))
        zones = (self._board.zones[term].kind for term in (*sort.zone_own, *sort.zone_match))
        return any(kind in kinds for kind in (*hosts, *zones))

    def layouts(self, counts: Sequence[int]) -> Iterator[Layout]:
        """Every layout for so many pods of every sort, as long as the budget lasts."""
        self._known.clear()
        yield from self._visit(self._first_spots(), tuple(counts))

    def _first_spots(self) -> tuple[Spot, ...]:
        board = self._board
        nothing = (0,) * len(board.sorts)
        return tuple(
            Spot(
                node,
                board.node_cell[node],
                free,
                0,
                nothing,
                tuple(int(term.match_n[node]) for term in board.hosts),
                tuple(int(term.own_n[node]) for term in board.hosts),
            )
            for node, free in enumerate(board.free)
        )

    def is_wanted(self, spots: tuple[Spot, ...]) -> bool:
        """Whether a state may lead to something better; to be narrowed by whoever searches."""
        del spots
        return True

    def _visit(self, spots: tuple[Spot, ...], left: tuple[int, ...]) -> Iterator[Layout]:
        key = (left, tuple(sorted(spots)))
        if self.budget <= 0 or key in self._known or not self.is_wanted(spots):
            return
        self._known.add(key)
        self.budget -= 1
        if not any(left):
            yield Layout(spots, tuple(self._steps))
            return
        for number in self._next(left):
            sort = self._board.sorts[number]
            fewer = (*left[:number], left[number] - 1, *left[number + 1 :])
            for place, spot in self._options(spots, number, sort):
                self._record(sort, spot.cell, 1)
                self._steps.append((number, place))
                opened = self._see(spots, place, spot)
                after = (*spots[:place], spot, *spots[place + 1 :])
                yield from self._visit(after, fewer)
                self._forget(opened)
                self._steps.pop()
                self._record(sort, spot.cell, -1)

    def _next(self, left: tuple[int, ...]) -> list[int]:
        """The sorts of which a pod may come next: any for which the order matters, else one."""
        waiting = [number for number, count in enumerate(left) if count]
        tied = [number for number in waiting if self._tied[number]]
        return tied or waiting[:1]

    # ------------------------------------------------------------------ domains

    def _see(self, spots: tuple[Spot, ...], place: int, spot: Spot) -> list[tuple[int, int]]:
        """A new node makes domains; says which are new."""
        opened: list[tuple[int, int]] = []
        has_cell = place < len(spots) and spots[place].cell == spot.cell
        if spot.node != _NEW or spot.cell < 0 or has_cell:
            return opened
        for number, term in enumerate(self._board.zones):
            domain = self._board.domains[spot.cell][term.key]
            if domain >= 0 and domain not in self._seen_d[number]:
                self._seen_d[number].add(domain)
                opened.append((number, domain))
        return opened

    def _forget(self, opened: list[tuple[int, int]]) -> None:
        for number, domain in opened:
            self._seen_d[number].discard(domain)

    def _record(self, sort: Sort, cell: int, count: int) -> None:
        if cell < 0:
            return
        for number in sort.zone_match:
            term = self._board.zones[number]
            domain = self._board.domains[cell][term.key]
            if domain >= 0 and term.counts_c[cell]:
                self._match[number][domain] += count
        for number in sort.zone_own:
            domain = self._board.domains[cell][self._board.zones[number].key]
            if domain >= 0:
                self._own[number][domain] += count

    # ------------------------------------------------------------------ options

    def _options(
        self, spots: tuple[Spot, ...], number: int, sort: Sort
    ) -> Iterator[tuple[int, Spot]]:
        """Where the next pod of a sort may go: the number of the spot, and the spot with it."""
        is_first = self._is_first(spots, sort)
        tried: set[Spot] = set()
        for place, spot in enumerate(spots):
            if spot.node == _NEW and spot in tried:
                continue  # nodes alike
            tried.add(spot)
            for chosen in self._with_cell(spot, sort):
                after = self._add_pod(spots, chosen, number, is_first=is_first)
                if after is not None:
                    yield place, after
        for chosen in chain.from_iterable(self._with_cell(spot, sort) for spot in self._empty):
            after = self._add_pod(spots, chosen, number, is_first=is_first)
            if after is not None:
                yield len(spots), after

    def _empty_spots(self) -> list[Spot]:
        """New nodes before pods come, one for each set of daemon pods that matters."""
        board = self._board
        nobody, none = (0,) * len(board.hosts), (0,) * len(board.sorts)
        room = (0,) * len(board.enc.resources)
        return [
            Spot(_NEW, -1, room, offers, none, daemons, nobody)
            for daemons, offers in board.empty.items()
        ]

    def _with_cell(self, spot: Spot, sort: Sort) -> Iterator[Spot]:
        """The spot in every cell that a pod could bring it to; as it is if cells do not matter."""
        if spot.node != _NEW or spot.cell >= 0 or not sort.is_tied:
            yield spot
            return
        for cell, offers in self._board.cells.items():
            if spot.offers & sort.offers & offers and self._may_be_in(sort, cell):
                yield spot._replace(cell=cell, offers=spot.offers & offers)

    def _may_be_in(self, sort: Sort, cell: int) -> bool:
        """Whether a domain is not closed to a sort, whatever its company."""
        zones, domains = self._board.zones, self._board.domains[cell]
        return all(
            self._own[term][domains[zones[term].key]] == 0
            for term in sort.zone_match
            if zones[term].kind == TermKind.ANTI and domains[zones[term].key] >= 0
        )

    def _add_pod(
        self, spots: tuple[Spot, ...], spot: Spot, number: int, *, is_first: bool
    ) -> Spot | None:
        """The spot with one more pod; None if it may not come."""
        sort = self._board.sorts[number]
        if sort.is_tied and not self._zones_allow(sort, spot.cell, is_first=is_first):
            return None
        if not self._hosts_allow(spots, spot, sort, is_first=is_first):
            return None
        with_it = self._with_room(spot, sort)
        if with_it is None:
            return None
        room, offers = with_it
        match, own = list(spot.match), list(spot.own)
        for term in sort.host_match:
            match[term] += 1
        for term in sort.host_own:
            own[term] += 1
        counts = (*spot.held[:number], spot.held[number] + 1, *spot.held[number + 1 :])
        return Spot(spot.node, spot.cell, room, offers, counts, tuple(match), tuple(own))

    def _with_room(self, spot: Spot, sort: Sort) -> tuple[tuple[int, ...], int] | None:
        """What is free (or used) on a node with one more pod, and which offers would still do."""
        pairs = list(zip(spot.room, sort.request, strict=True))
        if spot.node != _NEW:
            has_room = all(free >= asked or asked <= 0 for free, asked in pairs)
            room = tuple(free - asked for free, asked in pairs)
            return (room, 0) if has_room and sort.nodes[spot.node] else None
        room = tuple(use + asked for use, asked in pairs)
        offers = spot.offers & sort.offers & self._board.offers_with_room(room)
        return (room, offers) if offers else None

    def _is_first(self, spots: tuple[Spot, ...], sort: Sort) -> bool:
        """Whether pods want company, are such company themselves, and nobody else is anywhere."""
        hosts = [t for t in sort.host_own if self._board.hosts[t].kind == TermKind.AFFINITY]
        zones = [t for t in sort.zone_own if self._board.zones[t].kind == TermKind.AFFINITY]
        if not set(hosts) <= set(sort.host_match) or not set(zones) <= set(sort.zone_match):
            return False
        if any(spot.match[term] for spot in spots for term in hosts):
            return False
        return not any(any(self._match[term]) for term in zones)

    def _hosts_allow(
        self, spots: tuple[Spot, ...], spot: Spot, sort: Sort, *, is_first: bool
    ) -> bool:
        for term in sort.host_own:
            host, matched = self._board.hosts[term], spot.match[term]
            if host.kind == TermKind.AFFINITY:
                if not matched and not is_first:
                    return False
            elif host.kind == TermKind.SPREAD:
                most = host.max_skew + self._least_for(spots, spot, sort, term)
                if matched + (term in sort.host_match) > most:
                    return False
            elif matched:
                return False
        return not any(
            spot.own[term] and self._board.hosts[term].kind in (TermKind.ANTI, TermKind.PORT)
            for term in sort.host_match
        )

    def _least_for(self, spots: tuple[Spot, ...], spot: Spot, sort: Sort, term: int) -> int:
        """The minimum that a spread over hosts starts from when a pod comes to a node. A pod on an
        existing node may wait for new ones, which can be the domains that are missing.
        """
        seen = spots if any(spot.held) or spot.node != _NEW else (*spots, spot)
        least = self._least_on_hosts(seen, term, is_late=True)
        if spot.node == _NEW or self._is_late(spots, spot, sort):
            return least
        return max(least, self._least_on_hosts(seen, term, is_late=False))

    def _is_late(self, spots: tuple[Spot, ...], spot: Spot, sort: Sort) -> bool:
        """Whether a pod on an existing node waits for company in its zone that comes with a new
        node.
        """
        zones, domains = self._board.zones, self._board.domains
        for term in sort.zone_own:
            zone = zones[term]
            if zone.kind != TermKind.AFFINITY or zone.match_d[domains[spot.cell][zone.key]]:
                continue
            near = [
                domains[other.cell][zone.key] == domains[spot.cell][zone.key]
                for other in spots
                if other.node != _NEW and self._has_company(other, term)
            ]
            is_first = term in sort.zone_match and not zone.match_d.any() and not near
            if not any(near) and not is_first:
                return True
        return False

    def _has_company(self, spot: Spot, term: int) -> bool:
        """Whether a node has got pods that a zone term selects."""
        sorts = zip(spot.held, self._board.sorts, strict=True)
        return any(count and term in sort.zone_match for count, sort in sorts)

    def _least_on_hosts(self, spots: tuple[Spot, ...], term: int, *, is_late: bool) -> int:
        """The minimum that a spread over hosts starts from. Pods on existing nodes are bound before
        any other node is there; for those that are late it is what all nodes hold so far, which is
        looked at once more when all is placed.
        """
        host = self._board.hosts[term]
        counted = [
            spot.match[term]
            for spot in spots
            if (is_late if spot.node == _NEW else host.eligible_n[spot.node])
        ]
        return min(counted) if len(counted) >= max(host.min_domains, 1) else 0

    def _zones_allow(self, sort: Sort, cell: int, *, is_first: bool) -> bool:
        zones, domains = self._board.zones, self._board.domains[cell]
        for term in sort.zone_own:
            zone, domain = zones[term], domains[zones[term].key]
            if zone.kind == TermKind.ANTI:
                if domain >= 0 and self._match[term][domain]:
                    return False
            elif domain < 0:
                return False
            elif zone.kind == TermKind.AFFINITY:
                if not self._match[term][domain] and not is_first:
                    return False
            elif not self._is_even(sort, term, domain):
                return False
        return all(
            zones[term].kind != TermKind.ANTI
            or domains[zones[term].key] < 0
            or not self._own[term][domains[zones[term].key]]
            for term in sort.zone_match
        )

    def _is_even(self, sort: Sort, term: int, domain: int) -> bool:
        """Whether one more pod in a domain keeps a spread, over all domains that may be there."""
        zone, match = self._board.zones[term], self._match[term]
        counted = self._seen_d[term] | sort.reach[term]
        least = min((match[node] for node in counted), default=0)
        if len(counted) < zone.min_domains:
            least = 0
        return bool(match[domain] + (term in sort.zone_match) - least <= zone.max_skew)
