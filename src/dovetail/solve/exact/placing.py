"""Most pods placed, by priority: tries to place whom a plan leaves out, and to pay less for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice, product
from operator import itemgetter
from typing import Final

from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.exact.board import ExactPuzzle, Sort
from dovetail.solve.exact.choice import Chooser, Worth
from dovetail.solve.exact.search import Layout, Search, Spot
from dovetail.solve.finishing.ranking import rank
from dovetail.solve.finishing.rescue import put_one, rescue, see
from dovetail.solve.finishing.soundness import is_sound
from dovetail.solve.packing.attempt import Attempt, PackingResult, new_attempt
from dovetail.solve.packing.units import is_tied_to_zones
from dovetail.solve.zones.undo import is_bound_in_turn

_MOST_PODS: Final = 12
_MOST_LEFT_OUT: Final = 60  # where some are left out
_MOST_NODES: Final = 12
_STATES: Final = 2_500  # for each unit of effort
_STATES_A_WAY: Final = 800  # to leave pods out
_MORE_STATES: Final = 300  # to find a cheaper plan
_MOST_WAYS: Final = 100  # to leave pods out
_MOST_COMBINATIONS: Final = 5_000

LeftOut = tuple[int, ...]  # how many pods of every group


def place_exactly(packing: PackingResult) -> list[PackingResult]:
    """Better plans for a handful of pods; none if there are none, or pods are too many.

    The search reckons with every domain that might be opened. Where it leaves pods out, another
    plan has those that kube-scheduler itself would bind.
    """
    attempt, waiting = packing
    enc = attempt.enc
    n_pods = int(enc.count_g.sum())
    effort = enc.problem.policy.effort
    most = _MOST_LEFT_OUT if waiting else _MOST_PODS
    if effort < 1 or n_pods > most or len(enc.cell_n) > _MOST_NODES:
        return []
    board = ExactPuzzle(enc, attempt.offers)
    if not board.is_plain:
        return []
    placing = _Placing(board, packing, _STATES * effort)
    plan = placing.find(waiting)
    if plan is None:
        return []
    results = [PackingResult(plan.to_attempt(board, attempt), dict(plan.waiting))]
    if plan.waiting:
        again = plan.to_attempt(board, attempt)
        results.append(PackingResult(again, rescue(again)))
    return results


@dataclass(frozen=True, slots=True)
class _Plan:
    """A layout with an offer for each of its new nodes, and whom it leaves out."""

    layout: Layout
    chosen: tuple[int, ...]
    waiting: Mapping[int, int]

    def to_attempt(self, board: ExactPuzzle, like: Attempt) -> Attempt:
        """The layout as a plan, pod by pod in the order of binding."""
        attempt = new_attempt(like.enc, like.offers, like.values, like.prefer)
        offers = iter(board.offers[place] for place in self.chosen)
        node_of: dict[int, int] = {}
        for number, spot in enumerate(self.layout.spots):
            node_of[number] = spot.node
            if spot.node < 0:
                offer = next(offers)
                node_of[number] = attempt.bins.open(offer, 1).start
                see(attempt, offer)
        for sort, number in self.layout.steps:
            group, node = board.sorts[sort].group, node_of[number]
            cell = int(attempt.bins.cell[node])
            if is_tied_to_zones(attempt.enc, group):
                attempt.settler.record(group, cell, 1)
                _foresee(attempt, board.sorts[sort])
            put_one(attempt, group, cell, node)
        attempt.unsettled = dict(self.waiting)
        bins, hosts = attempt.bins, attempt.enc.ties.hosts
        attempt.leaned_on |= {
            number
            for number, term in enumerate(hosts)
            if term.kind == TermKind.SPREAD and bins.match[number, : bins.n].max() > term.max_skew
        }
        return attempt


def _foresee(attempt: Attempt, sort: Sort) -> None:
    """Note the domains that the spreads of a sort reckon with: no others may appear later."""
    for number in sort.zone_own:
        term = attempt.enc.ties.zones[number]
        if term.kind == TermKind.SPREAD:
            counted_d = term.seen_d.copy()
            counted_d[sorted(sort.reach[number])] = True
            attempt.settler.state.foreseen[number] &= counted_d


class _Placing:
    """Looks for a plan that leaves out fewer pods, then for a cheaper one."""

    def __init__(self, board: ExactPuzzle, packing: PackingResult, budget: int) -> None:
        self._board = board
        self._like = packing.attempt
        self._search = _Cheaper(board, budget)
        self._weights = sorted(set(self._like.weights))[:-1]

    def find(self, waiting: Mapping[int, int]) -> _Plan | None:
        """The first plan that leaves out fewer pods, made as cheap as the budget allows; or else a
        cheaper one that leaves out the same.
        """
        _, in_light_pools, price, n_nodes = rank(PackingResult(self._like, dict(waiting)))
        for is_today, ways in self._levels(waiting):
            best, worth = None, None
            if is_today:
                worth = (tuple(in_light_pools), price, n_nodes)
                self._search.budget = _MORE_STATES if price > 0 else 0
            for left_out in ways:
                cheapest = self._cheapest(left_out, worth)
                if cheapest is not None:
                    best, worth = cheapest
            if best is not None:
                return best
        return None

    def _levels(self, waiting: Mapping[int, int]) -> Iterator[tuple[bool, list[LeftOut]]]:
        """Ways to leave out pods, level by level: fewer of high priority first, down to those that
        are as good as today's, which are said to be so.
        """
        sorts = self._board.sorts
        priorities = sorted({sort.priority for sort in sorts}, reverse=True)

        def level(left_out: LeftOut) -> tuple[int, ...]:
            pairs = list(zip(left_out, sorts, strict=True))
            return tuple(sum(n for n, sort in pairs if sort.priority == p) for p in priorities)

        today = tuple(waiting.get(group, 0) for group in range(len(sorts)))
        last = level(today)
        every = islice(product(*(range(sort.count + 1) for sort in sorts)), _MOST_COMBINATIONS)
        ways = sorted((level(way), way != today, way) for way in every if level(way) <= last)
        for price, alike in groupby(ways[:_MOST_WAYS], key=itemgetter(0)):
            if price < last:
                yield False, [way for _, _, way in alike]
        yield True, [today, *(way for price, is_other, way in ways if price == last and is_other)]

    def _cheapest(self, left_out: LeftOut, most: Worth | None) -> tuple[_Plan, Worth] | None:
        """The best plan found that leaves out so many pods of every group, if it is better than
        what is known.
        """
        search, best = self._search, None
        kept = max(search.budget - _STATES_A_WAY, 0)  # for other ways
        search.budget -= kept
        search.most = most
        counts = [sort.count - out for sort, out in zip(self._board.sorts, left_out, strict=True)]
        for layout in search.layouts(counts):
            plan = self._plan(layout, left_out, search.most)
            if plan is not None:
                best, search.most = plan, plan[1]
        search.budget += kept
        return best

    def _plan(
        self, layout: Layout, left_out: LeftOut, most: Worth | None
    ) -> tuple[_Plan, Worth] | None:
        """The layout as a plan with what it comes to, if it keeps all rules and is better."""
        new = [spot for spot in layout.spots if spot.node < 0]
        chooser = Chooser(self._board, new, self._weights)
        worth = chooser.run()
        if worth is None or (most is not None and worth >= most):
            return None
        waiting = {group: out for group, out in enumerate(left_out) if out}
        plan = _Plan(layout, tuple(chooser.chosen), waiting)
        return (plan, worth) if _holds(plan.to_attempt(self._board, self._like)) else None


class _Cheaper(Search):
    """Leaves aside states that limits forbid, or that cost no less than what was found."""

    most: Worth | None = None

    def is_wanted(self, spots: tuple[Spot, ...]) -> bool:
        """Whether the nodes so far are within limits, and cheaper than the best plan."""
        board, price = self._board, 0
        used = [0] * len(board.left)
        for spot in spots:
            if spot.node < 0:
                least, use = board.least(spot.offers)
                price += least
                used = [have + more for have, more in zip(used, use, strict=True)]
        if any(have > left for have, left in zip(used, board.left, strict=True)):
            return False
        return self.most is None or bool(self.most[0]) or price < self.most[1]


def _holds(attempt: Attempt) -> bool:
    """Whether kube-scheduler could bind all pods in turn, with all nodes there."""
    ties, seen = attempt.enc.ties, attempt.settler.state.seen
    spreads = [n for n, term in enumerate(ties.zones) if term.kind == TermKind.SPREAD]
    return is_sound(attempt, is_in_turn=True) and all(
        is_bound_in_turn(attempt, number, seen[number]) for number in spreads
    )
