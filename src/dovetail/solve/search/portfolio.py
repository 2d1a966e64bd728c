"""Makes several plans for a small puzzle and keeps the cheapest.

Whoever is tied to zones is settled in a cell before packing, by prices that know nothing of whole
nodes. With few pods that guess decides the price. So the settling is repeated, preferring other
cells for one group after another; each time the nodes of the best plan so far are adapted and
improved, and what turns out cheaper is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np

from dovetail.solve.axes import UNLIMITED
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.minvalues import relaxed_groups
from dovetail.solve.packing.attempt import Attempt, Prefer
from dovetail.solve.packing.units import is_tied_to_zones
from dovetail.solve.patterns.planning import (
    FEW_PODS,
    NEAR,
    least_price,
    pattern_loads,
    with_the_rest,
)
from dovetail.solve.patterns.rebuild import Effort, Rebuilder
from dovetail.solve.search.drafts import Draft, DraftMaker
from dovetail.solve.search.greedy import one_by_one
from dovetail.solve.search.improve import Chance, LoadLayout
from dovetail.solve.search.rates import IMPOSSIBLE, NO_LOAD, NO_WAY, Rates, WorkBudget
from dovetail.solve.search.relocate import relocate_cells

_MOST_PODS: Final = 1_000  # in a puzzle that is small; every more unit of effort
_MORE_PODS: Final = 20  # makes puzzles small that have so many times more
_PLAIN_PODS: Final = 100  # beyond, the plain way is never the cheapest
_WORK: Final = 75_000  # looks at places, in all, for each unit of effort
_LITTLE_WORK: Final = 30_000  # where pods are few, the first moves find what there is
_WORK_PER_POD: Final = 200
_FEW_PODS: Final = 20  # the search finds by itself what the program would say of so few
_TRIES: Final = 120  # ruins for each way to settle the groups
_TRIES_OF_FEW: Final = 300  # where pods are so few that each is cheap
_MORE_TRIES: Final = 1_500  # for the best of them
_SOME_TRIES: Final = 600  # for what patterns come to
_TRIES_A_POD: Final = 25
_LOOKS: Final = 200  # at nodes, for each try: more where nodes are many would take too long
_MOST_CELLS: Final = 6
_PAIRED: Final = 5  # groups that are moved two at a time
_RELOCATIONS: Final = 3  # of the pods of one plan
_TRIES_OF_ONE: Final = 300  # ruins, where the pods of one group choose cells
_DRAWS: Final = 40  # of cells for several groups at once
_PROMISING: Final = 1.05  # times the best price: so dear a plan may be to be improved
_MOST_MOVING: Final = 50  # pods that choose cells with their nodes: more take too long


@dataclass(slots=True)
class _Found:
    """The cheapest layout so far, and what it stands on."""

    draft: Draft
    layout: LoadLayout
    price: int
    prefer: Prefer


def _price(draft: _Found) -> int:
    return draft.price


def cheaper_plan(base: Attempt) -> Attempt | None:
    """Another plan for the same puzzle, likely cheaper; None where there is no use in looking."""
    enc = base.enc
    effort = enc.problem.policy.effort
    is_bound = bool(base.bins.limits.rows) and len(base.weights) > 1
    if effort < 1 or is_bound or relaxed_groups(enc):
        return None
    if not is_small(enc):
        return None
    n_pods = int(enc.count_g.sum())
    work = _LITTLE_WORK if n_pods <= _MOST_MOVING else _WORK
    budget = WorkBudget(effort * (work + _WORK_PER_POD * n_pods))
    return _Search(base, budget, (int(base.left_u.sum()), range(len(enc.groups)))).cheapest_plan()


def is_small(enc: Encoded) -> bool:
    """Whether a plan is small enough to look for others; more effort makes larger ones small."""
    effort = enc.problem.policy.effort
    most: int = _MOST_PODS * _MORE_PODS ** min(max(effort - 1, 0), 4)
    return int(enc.count_g.sum()) <= most


def plan_for_few(start: Attempt) -> Attempt | None:
    """A plan for a few pods that nodes which are there have no room for, without the program.

    The start is settled, and nothing is bought yet. None where pods are many, or where the program
    knows more than what a load costs.
    """
    effort, n_left = start.enc.problem.policy.effort, int(start.left_u.sum())
    is_bound = bool(start.bins.limits.rows) and len(start.weights) > 1
    is_scarce = bool((start.enc.supply_o[start.offers] < UNLIMITED).any())
    if effort < 1 or n_left > _FEW_PODS or is_bound or is_scarce or start.unsettled:
        return None
    waiting = {
        group
        for number in np.flatnonzero(start.left_u).tolist()
        for group, _ in start.units[number].members
    }
    budget = WorkBudget(effort * (_WORK + _WORK_PER_POD * n_left))
    return _Search(start, budget, (0, sorted(waiting)), is_quick=True).cheapest_plan()


class _Search:
    """Looks for the cells and loads that cost least, for these groups; leaves so many pods out."""

    def __init__(
        self,
        base: Attempt,
        budget: WorkBudget,
        about: tuple[int, Iterable[int]],
        *,
        is_quick: bool = False,
    ) -> None:
        self._base = base
        self._is_quick = is_quick  # one of thousands of questions
        self._n_pods = int(base.enc.count_g.sum())
        self._ruins = _TRIES_OF_FEW if self._n_pods <= _MOST_MOVING else _TRIES
        self._n_left_out, self._groups = about
        self._budget = budget
        self._rates = Rates(base.enc, base.offers, budget)
        self._drafts = DraftMaker(base, self._rates, budget)
        self._rebuilder = Rebuilder(base.enc, self._rates, base.offers)
        self._known: set[tuple[frozenset[tuple[int, int]], int]] = set()

    def cheapest_plan(self) -> Attempt | None:
        """The cheapest plan that was found."""
        best = self._try_cells({}, self._drafts.loads())
        if best is None or not (best.layout.loads or best.draft.sites):
            return None
        best = self._no_dearer_than_plain(best)
        best = self._move_cells(best)
        best = self._improve(best, best.layout, self._tries(_MORE_TRIES))
        if not self._is_quick:
            best = self._on_fewer_nodes(self._by_patterns(best))
        return self._drafts.write_layout(best.draft, best.layout)

    def _tries(self, most: int) -> int:
        """How often to try: a few pods are soon in the best places."""
        return min(most, _TRIES_A_POD * self._n_pods)

    def _no_dearer_than_plain(self, best: _Found) -> _Found:
        draft = best.draft
        if draft.pods.total() > _PLAIN_PODS:
            return best
        plain = one_by_one(self._rates, sorted(draft.pods.elements()), self._budget)
        if plain is None:
            return best
        layout = LoadLayout(plain, [()] * len(draft.sites))
        return self._improve(best, layout, _TRIES)

    def _by_patterns(self, best: _Found) -> _Found:
        """The best of what was found and what patterns for the same pods come to."""
        draft = best.draft
        known = [*best.layout.loads, *self._rebuilder.seen]
        most = best.price - draft.price
        for loads in pattern_loads(self._base, self._rates, draft.pods, known, most):
            parts = with_the_rest(self._rates, draft.improver, loads, draft.pods, draft.sites)
            if parts is not None:
                tail = self._rebuild(draft, parts[1], self._tries(_SOME_TRIES))
                layout = LoadLayout(parts[0] + tail.loads, tail.extra)
                best = self._improve(best, layout, self._tries(_SOME_TRIES))
        return best

    def _improve(self, best: _Found, layout: LoadLayout, tries: int) -> _Found:
        """The best of what was found and what a layout of the same pods can be made into."""
        layout = self._rebuild(best.draft, layout, tries)
        price = best.draft.improver.price(layout) + best.draft.price
        return replace(best, layout=layout, price=price) if price < best.price else best

    def _rebuild(self, draft: Draft, layout: LoadLayout, tries: int) -> LoadLayout:
        """The cheapest layout found in so many tries."""
        if draft.sites:  # pods may join those, which patterns do not know
            return draft.improver.improve(layout, tries)
        effort = Effort(tries * _LOOKS, tries)
        limits = draft.attempt.bins.limits
        return LoadLayout(self._rebuilder.rebuild(layout.loads, limits, effort), [])

    def _on_fewer_nodes(self, best: _Found) -> _Found:
        """The best plan on fewer nodes, if it stays near the lower bound."""
        draft = best.draft
        if draft.sites or draft.pods.total() <= FEW_PODS:
            return best
        least = least_price(self._base, self._rates, draft.pods)
        effort = Effort(_MORE_TRIES * _LOOKS, _MORE_TRIES)
        limits, most = draft.attempt.bins.limits, int(least * NEAR)
        loads = self._rebuilder.on_fewer_nodes(best.layout.loads, limits, effort, most)
        layout = LoadLayout(loads, [])
        price = draft.improver.price(layout)
        if price >= IMPOSSIBLE:
            return best
        return replace(best, layout=layout, price=price + draft.price)

    def _move_cells(self, best: _Found) -> _Found:
        """Prefer one cell for all groups, then others for one after another; in between, let pods
        choose their cells with their nodes.
        """
        groups = self._movable()
        if not groups:
            return best
        best = self._relocate(best, best)
        for cell in self._cells() if self._budget.left > 0 else ():
            other = self._try_cells(dict.fromkeys(groups, (cell,)), best.layout.loads)
            if other is not None:
                best = self._relocate(other, best)
        before = best.price + 1
        while best.price < before and self._budget.left > 0:
            before = best.price
            for group in groups:
                best = self._better(best, self._moves(best, group))
            best = self._relocate(best, best)
        best = self._better(best, self._moves_of_two(best, groups[:_PAIRED]))
        return self._draw_cells(self._relocate_each(best, groups), groups)

    def _draw_cells(self, best: _Found, groups: Sequence[int]) -> _Found:
        """Prefer cells that are drawn, for several groups at once: some plans can only become
        cheaper if those move together.
        """
        chance = Chance(1)
        for _ in range(_DRAWS if self._may_relocate(best) else 0):
            if self._budget.left <= 0:
                break
            other = self._try_cells(self._drawn(best, groups, chance), best.layout.loads)
            if other is not None and other.price <= best.price * _PROMISING:
                other = self._relocate(other, other)
                best = self._relocate_each(other, groups) if other.price < best.price else best
        return best

    def _drawn(self, best: _Found, groups: Sequence[int], chance: Chance) -> Prefer:
        """What the plan prefers, but for half of the groups one or two cells that are drawn, every
        other time the same ones for all.
        """
        cells, prefer = self._cells(), dict(best.prefer)
        is_shared, shared = chance.below(2) == 0, _draw_two(cells, chance)
        for group in groups:
            if chance.below(2):
                prefer[group] = shared if is_shared else _draw_two(cells, chance)
        return prefer

    def _relocate_each(self, best: _Found, groups: Sequence[int]) -> _Found:
        """Let the pods of one group after another choose their cells with their nodes."""
        for group in groups if self._may_relocate(best) else ():
            effort = (_TRIES_OF_ONE * _LOOKS, _TRIES_OF_ONE)
            moved = relocate_cells(self._rates, best.draft, best.layout.loads, effort, group)
            if self._budget.left > 0 and moved is not None:
                other = self._try_cells({**best.prefer, **moved.splits}, moved.loads)
                best = best if other is None else min(best, other, key=_price)
        return best

    def _moves_of_two(self, best: _Found, groups: Sequence[int]) -> Iterator[Prefer]:
        """Cells for two groups at once: one alone may find nobody there to share a node with."""
        not_yet = {group: self._not_yet(best, group) for group in groups}
        for first, other in combinations(groups, 2):
            closed = set(self._cells()).difference(self._open_cells(other))
            for cell in self._open_cells(first):
                is_new = cell in not_yet[first] or cell in not_yet[other]
                if is_new and cell not in closed:
                    yield {**best.prefer, first: (cell,), other: (cell,)}

    def _relocate(self, start: _Found, best: _Found) -> _Found:
        """The best of two plans, and of the first with cells that pods chose with their nodes."""
        best = min(best, start, key=_price)
        for _ in range(_RELOCATIONS if self._may_relocate(start) else 0):
            tries = 2 * self._tries(_SOME_TRIES)
            effort = (tries * _LOOKS, tries)
            moved = relocate_cells(self._rates, start.draft, start.layout.loads, effort)
            if moved is None:
                break
            other = self._try_cells({**start.prefer, **moved.splits}, moved.loads)
            if other is None or other.price >= start.price:
                break
            start = other
            best = min(best, other, key=_price)
        return best

    def _may_relocate(self, plan: _Found) -> bool:
        """Whether pods may choose their cells with their nodes: that is slow where they are many,
        and knows nothing of nodes that are there.
        """
        return self._n_pods <= _MOST_MOVING and not (plan.draft.sites or self._is_quick)

    def _movable(self) -> list[int]:
        """Groups tied to zones, those that ask for most first."""
        enc = self._base.enc
        size = (enc.requests_gr / enc.mean_r).max(axis=1, initial=0.0) * enc.count_g
        tied = [group for group in self._groups if is_tied_to_zones(enc, group)]
        return sorted(tied, key=lambda group: (-size[group], group))

    def _cells(self) -> list[int]:
        """The cells with the most offers first."""
        cells, counts = np.unique(self._base.enc.cell_o[self._base.offers], return_counts=True)
        return [int(cell) for cell in cells[np.lexsort((cells, -counts))][:_MOST_CELLS]]

    def _moves(self, best: _Found, group: int) -> Iterator[Prefer]:
        """Every cell where a group could go first, or last, unless it has gone so already."""
        for cell in self._not_yet(best, group):
            yield {**best.prefer, group: (cell,)}
        cells, count_of = self._open_cells(group), _pods_by_cell(best.draft.attempt, group)
        fewest = min((count_of[cell] for cell in cells), default=0)
        for cell in cells if len(cells) > 2 and len(count_of) > 1 else ():
            if count_of[cell] > fewest:
                yield {**best.prefer, group: tuple(other for other in cells if other != cell)}

    def _not_yet(self, best: _Found, group: int) -> list[int]:
        """The cells where a group does not have most of its pods, so that preferring them helps."""
        cells, count_of = self._open_cells(group), _pods_by_cell(best.draft.attempt, group)
        most = max((count_of[cell] for cell in cells), default=0)
        return [cell for cell in cells if count_of[cell] < most or most == 0]

    def _open_cells(self, group: int) -> list[int]:
        is_open = np.isfinite(self._base.values.cell_worth(group))
        return [cell for cell in self._cells() if is_open[cell]]

    def _better(self, best: _Found, wishes: Iterable[Prefer]) -> _Found:
        for prefer in wishes:
            if self._budget.left <= 0:
                break
            other = self._try_cells(prefer, best.layout.loads)
            if other is not None and other.price < best.price:
                best = other
        return best

    def _try_cells(self, prefer: Prefer, start: list[int]) -> _Found | None:
        """The best layout found for groups settled like this; None if that is known or worse."""
        draft = self._drafts.draft(prefer)
        key = (frozenset(draft.pods.items()), draft.price)
        is_worse = draft.n_left_out > self._n_left_out
        if key in self._known or is_worse or draft.attempt.unsettled != self._base.unsettled:
            return None
        self._known.add(key)
        layout = self._adapt_loads(draft, start)
        if layout is not None:
            layout = self._rebuild(draft, layout, self._tries(max(self._ruins, len(layout.loads))))
        price = IMPOSSIBLE if layout is None else draft.improver.price(layout)
        if layout is None or price >= IMPOSSIBLE:
            return None
        return _Found(draft, layout, price + draft.price, prefer)

    def _adapt_loads(self, draft: Draft, start: list[int]) -> LoadLayout | None:
        """The same loads, as far as there are such pods, and the others where they cost least."""
        left = Counter(draft.pods)
        rates = self._rates
        layout = LoadLayout([], [()] * len(draft.sites))
        for load in start:
            kept = tuple((sort, min(n, left[sort])) for sort, n in rates.loads[load] if left[sort])
            number = rates.load(kept)
            if number not in {NO_LOAD, NO_WAY}:
                layout.loads.append(number)
                left.subtract(dict(kept))
        missing = draft.improver.order_pods(sorted(left.elements()))
        return layout if draft.improver.insert(layout, missing) else None


def _draw_two(cells: Sequence[int], chance: Chance) -> tuple[int, ...]:
    """One or two of the cells, in some order."""
    drawn = (cells[chance.below(len(cells))], cells[chance.below(len(cells))])
    return tuple(dict.fromkeys(drawn))


def _pods_by_cell(attempt: Attempt, group: int) -> Counter[int]:
    """How many pods of a group were settled in each cell."""
    counts: Counter[int] = Counter()
    for unit in attempt.units:
        for member, count in unit.members:
            if member == group:
                counts[unit.cell] += count
    return counts
