"""Estimates, for thousands of sets of nodes a second, whether they could go and what that saves.

The whole cluster is encoded once, with the pods that could move where they stand. To judge a set of
nodes its pods are taken off, put where the others have room, counted and put back. Whoever is tied
to zones looks for room in its own zone, where it cannot upset anybody. For pods that find no room
the price of new nodes is estimated: the cheapest offer that takes them all, or what they are worth
by the multipliers of the relaxed program over all pods, which nobody can buy them for less.

What a node's pods are worth, against what it costs, says how wasteful it is: bought anew together
with others, its pods would cost about that much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encoding.encode import encode
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.filling import snug_fill
from dovetail.solve.packing.units import ANY_CELL, PodUnit, is_tied_to_zones, unit_of
from dovetail.solve.program.relaxation import search_space, value_pods
from dovetail.solve.puzzle import Puzzle, canonical

NO_LIMIT: Final = 2**62
_SLACK: Final = 1.05  # several new nodes cost more than their pods are worth


@dataclass(frozen=True, slots=True)
class Estimate:
    """What would become of the pods of a node. `n_left` of them, or more, need new nodes that cost
    about `price_nanousd`, of one of `n_types` that cost less than was given; `stuck` is a pod that
    nothing takes.
    """

    n_left: int = 0
    price_nanousd: int = 0
    n_types: int = 0
    stuck: Pod | None = None


class Screen:
    """Estimates for one cluster. The pods of the puzzle stand on its nodes, and could all move."""

    def __init__(self, puzzle: Puzzle) -> None:
        puzzle = canonical(puzzle)
        enc = encode(puzzle)
        space = search_space(enc)
        self._values = value_pods(space, is_proof=False)
        self._enc, self._offers = enc, space.offers
        self._number_of = {node.name: number for number, node in enumerate(puzzle.nodes)}
        self._bins = Bins(enc)
        self._units: list[PodUnit] = []
        self._worth: list[float] = []
        self._first: list[Pod] = []
        self._held: list[dict[int, int]] = [{} for _ in puzzle.nodes]
        self._visited: set[int] = set()
        self._is_homeless: dict[int, bool] = {}  # units for which no node has room, as far as known
        self._shunned: tuple[list[int], Bool] = ([], np.zeros((len(enc.masks_me), 0), dtype=bool))
        self._stand()

    def _stand(self) -> None:
        """Put every pod where it stands, as units of a group and, where that counts, a cell."""
        enc = self._enc
        numbers: dict[tuple[int, int], int] = {}
        standing: list[list[tuple[int, int]]] = []  # of each unit, on which node how many
        for group, alike in enumerate(enc.groups):
            is_tied = is_tied_to_zones(enc, group)
            where = Counter(self._number_of[pod.node_name] for pod in alike.pods)
            for node, count in sorted(where.items()):
                cell = int(enc.cell_n[node]) if is_tied else ANY_CELL
                unit = numbers.setdefault((group, cell), len(self._units))
                if unit == len(self._units):
                    self._add_unit(group, cell)
                    standing.append([])
                self._held[node][unit] = count
                standing[unit].append((node, count))
        for mine, held_by in zip(self._units, standing, strict=True):
            nodes, counts = np.array(held_by, dtype=np.int64).T
            self._bins.shift(mine, nodes, counts)
        size = self._enc.requests_gr / self._bins.mean
        self._turn = {
            unit: place
            for place, unit in enumerate(
                sorted(range(len(self._units)), key=lambda unit: self._order(unit, size))
            )
        }

    def _add_unit(self, group: int, cell: int) -> None:
        unit = unit_of(self._enc, group, cell)
        unit.add(group, 1)
        self._units.append(unit)
        worth_c = self._values.cell_worth(group)
        worth = worth_c.min(initial=np.inf) if cell == ANY_CELL else worth_c[cell]
        self._worth.append(float(worth))
        self._first.append(self._enc.groups[group].pods[0])

    def _order(self, number: int, size_gr: Float) -> tuple[int, float, int]:
        """Who is placed first: what counts more, then what is larger."""
        unit = self._units[number]
        group = unit.members[0][0]
        return -unit.priority, -float(size_gr[group].max(initial=0.0)), number

    @cached_property
    def worth_by_node(self) -> Mapping[str, int]:
        """What the pods of every node are worth, in nanodollars an hour; pods that nothing takes
        count as nothing.
        """
        worth = [worth if np.isfinite(worth) else 0.0 for worth in self._worth]
        return {
            name: int(sum(count * worth[unit] for unit, count in self._held[number].items()))
            for name, number in self._number_of.items()
        }

    def shun(self, names: Iterable[str]) -> None:
        """Let nobody be moved to these nodes."""
        shunned = [self._number_of[name] for name in names]
        self._shunned = (shunned, self._bins.accept[:, shunned].copy())
        self._bins.accept[:, shunned] = False
        self._is_homeless.clear()

    def welcome(self) -> None:
        """Let pods be moved to shunned nodes after all."""
        shunned, is_open = self._shunned
        self._bins.accept[:, shunned] = is_open
        self._is_homeless.clear()

    def estimate(self, name: str, price: int = NO_LIMIT, *, lets_go: bool = False) -> Estimate:
        """What becomes of the pods of a node, were it gone. Once new nodes are sure to cost as much
        as this price, who else would need some is not looked at. The node may be let go if others
        have room for all its pods: those stay there from now on.
        """
        node = self._number_of[name]
        left = self._unfit_units(self._held[node])
        if left and sum(count * self._worth[unit] for unit, count in left.items()) >= price:
            return self._estimate(left, price)
        is_open_m = self._bins.accept[:, node].copy()
        self._bins.accept[:, node] = False
        left = self._place_on_remaining(self._held[node], price)
        if lets_go and not left:
            for _, nodes, _ in self._bins.log:
                self._visited.update(nodes.tolist())
        else:
            self._take_back()
            self._bins.accept[:, node] = is_open_m
        self._bins.log.clear()
        return self._estimate(left, price)

    def is_visited(self, name: str) -> bool:
        """Whether pods of nodes that were let go are there now."""
        return self._number_of[name] in self._visited

    def _unfit_units(self, moving: Mapping[int, int]) -> dict[int, int]:
        """Of these, the units for which no node has room. As nodes go, room becomes ever less."""
        span = slice(0, self._bins.n_existing)
        counts: dict[int, int] = {}
        for number, count in moving.items():
            if number not in self._is_homeless:
                room = self._bins.room(self._units[number], span)
                self._is_homeless[number] = not room.any()
            if self._is_homeless[number]:
                counts[number] = count
        return counts

    def _place_on_remaining(self, moving: Mapping[int, int], price: int) -> dict[int, int]:
        """Place pods on nodes that stay; how many of each unit find no room."""
        span = slice(0, self._bins.n_existing)
        left: dict[int, int] = {}
        worth = 0.0
        for number in sorted(moving, key=self._turn.__getitem__):
            want = moving[number]
            missing = want - snug_fill(self._bins, number, self._units[number], want, span)
            if missing:
                left[number] = missing
                worth += missing * self._worth[number]
                if worth >= price:
                    break
        return left

    def _take_back(self) -> None:
        """As if nobody had moved."""
        for number, nodes, counts in self._bins.log:
            self._bins.shift(self._units[number], nodes, -counts)

    def _estimate(self, left: Mapping[int, int], price: int) -> Estimate:
        if not left:
            return Estimate()
        n_left = sum(left.values())
        worth = 0.0
        for number, count in left.items():
            if not np.isfinite(self._worth[number]):
                return Estimate(n_left, stuck=self._first[number])
            worth += count * self._worth[number]
        if worth >= price:
            return Estimate(n_left, int(worth))
        fitting = self._one_node(left, self._offers)
        if not len(fitting):
            return Estimate(n_left, int(worth * _SLACK))
        cheapest = int(self._enc.plan_price_o[fitting].min())
        if cheapest >= price:
            return Estimate(n_left, cheapest)
        fitting = self._one_node(left, np.flatnonzero(self._enc.plan_price_o < price))
        return Estimate(n_left, cheapest, len(np.unique(self._enc.type_o[fitting])))

    def _one_node(self, left: Mapping[int, int], offers: Int) -> Int:
        """Those of these offers that take all of these on one node."""
        enc = self._enc
        asked = np.zeros(len(enc.resources), dtype=np.int64)
        for number, count in left.items():
            asked += count * self._units[number].request
        fits: Bool = np.all(enc.cap_or[offers] >= asked, axis=1)
        for number, count in left.items():
            unit = self._units[number]
            if unit.own and count > 1:
                return offers[:0]
            fits &= enc.masks_me[unit.mask, offers]
            if unit.cell != ANY_CELL:
                fits &= enc.cell_o[offers] == unit.cell
        return offers[fits]
