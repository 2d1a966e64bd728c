"""Finds patterns that the program lacks, until none would pay.

The multipliers of the program say what a pod of each sort is worth; a pattern pays if its pods are
worth more than its node costs. Upper bounds of the knapsacks give a lower bound on the price of any
mix of patterns (Farley). Smoothing the multipliers was tried, and took twice as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.patterns.compiled import Scratch
from dovetail.solve.patterns.knapsack import (
    CPU,
    MEMORY,
    PODS,
    Items,
    KnapsackFill,
    fill_best,
    grids,
    simple_bounds,
)
from dovetail.solve.patterns.market import MarketSegment, PatternMarket
from dovetail.solve.patterns.master import Master, MasterSolution

_CLOSE: Final = 1e-3  # of the price: nearer to the bound than this there is little to gain
_PAYS: Final = 1e-6
_WHOLE_EVERY: Final = 16  # rounds: in the others only nodes that paid lately are looked at
_STEPS: Final = 15  # of search for one kind of node and one sort of pod
_MORE_STEPS: Final = 8  # times as many, where nothing was found
_MOST_STEPS: Final = 80
_IDLE: Final = 2_000  # a part of the price: who pays less than that more is not looked for
_CELLS: Final = 4_096  # of a table: a coarser grid is filled faster, and costs more rounds
_LEAST_WORTH: Final = 1.0  # nanodollars
_RIDGE: Final = 1e-9  # equations that say the same are solved all the same
_TIMES: Final = ((CPU, MEMORY, 1.6), (MEMORY, CPU, 0.5))  # exact in, other price, times that


@dataclass(slots=True)
class Generator:
    """Column generation for one market: patterns (j), as counts of each sort (s), and prices."""

    market: PatternMarket
    worth_s: Float  # the multipliers that gave the best bound
    work: int  # cells of tables that may still be filled
    bound: float = 0.0  # nanodollars
    count_js: list[Int] = field(default_factory=list)
    price_j: list[int] = field(default_factory=list)
    _known: set[bytes] = field(default_factory=set)
    _paid: list[bool] = field(default_factory=list)  # by segment: whether it had patterns that pay
    _scratch: Scratch = field(default_factory=Scratch)
    _fit: _Fit = field(init=False)

    def __post_init__(self) -> None:
        """Prepare what does not change from round to round."""
        self._fit = _Fit(self.market.request_sr)

    def add(self, master: Master, patterns: Sequence[tuple[Int, int]]) -> int:
        """Let the program use patterns that are new, each with its price; says how many are."""
        fresh = []
        for count_s, price in patterns:
            key = count_s.tobytes()
            if key not in self._known:
                self._known.add(key)
                fresh.append((count_s, price))
        self.count_js += [count_s for count_s, _ in fresh]
        self.price_j += [price for _, price in fresh]
        master.add([count_s for count_s, _ in fresh], [price for _, price in fresh])
        return len(fresh)

    def generate(self, master: Master, demand_s: Int, rounds: int) -> MasterSolution:
        """Add patterns that pay, for so many rounds at most; returns the last solution."""
        mix = master.solve()
        is_whole, steps = True, _STEPS
        for number in range(rounds):
            if self.work <= 0:
                break
            is_whole |= number % _WHOLE_EVERY == 0
            worth = np.maximum(mix.worth_s, _LEAST_WORTH)
            filled, ratio = self.price(worth, demand_s, steps, is_whole=is_whole)
            if is_whole:
                self._note(worth, float(demand_s @ worth) / max(ratio, 1e-9))
            if is_whole and mix.price <= self.bound * (1 + _CLOSE):
                break
            if self.add(master, self._paying_patterns(filled, mix)):
                mix, is_whole = master.solve(), False
            elif not is_whole:
                is_whole = True
            elif steps < _MOST_STEPS:
                steps *= _MORE_STEPS  # there is something to be found, if bounds are to be believed
            else:
                break
        return mix

    def _note(self, worth_s: Float, bound: float) -> None:
        """Remember the multipliers of the best bound."""
        if bound > self.bound:
            self.bound, self.worth_s = bound, worth_s

    def price(
        self, worth_s: Float, demand_s: Int, steps: int, *, idle: int = 1, is_whole: bool = True
    ) -> tuple[list[tuple[MarketSegment, KnapsackFill]], float]:
        """The best pods for every kind of node, and how many times its price the pods of a node
        are worth at most. With `idle` 0 also those that hardly pay are looked for. If not whole,
        only segments that had something last time are looked at.
        """
        value_s = worth_s.astype(np.int64)
        ways = self._ways(value_s)
        prices = ways, np.array([vector for _, vector in ways]).T
        paid = self._paid if self._paid and not is_whole else [True] * len(self.market.segments)
        fills, ratio, self._paid = [], 0.0, list(paid)
        for place, segment in enumerate(self.market.segments):
            if not paid[place]:
                continue
            most_i = np.minimum(segment.items.most_i, demand_s[segment.rows])
            items = Items(segment.items.request_ir, most_i, segment.items.apart_ii)
            filled = self._fill_segment(
                segment, (items, value_s[segment.rows]), prices, (steps, idle)
            )
            fills.append((segment, filled))
            self._paid[place] = bool(filled.count_oi.any())
            ratio = max(ratio, float((filled.bound_o / np.maximum(segment.price_o, 1)).max()))
        return fills, ratio

    def _fill_segment(
        self,
        segment: MarketSegment,
        pods: tuple[Items, Int],
        prices: tuple[Sequence[tuple[int, Float]], Float],
        effort: tuple[int, int],
    ) -> KnapsackFill:
        """The best pods for the nodes of one segment. Nodes for which prices of resources alone
        prove that nothing pays are left out.
        """
        items, value_i = pods
        ways, price_rk = prices
        steps, idle = effort
        floor_o = segment.price_o + idle * (segment.price_o // _IDLE)
        bound_o = simple_bounds(items, value_i, price_rk, segment.bounded_or)
        open_o = np.flatnonzero(bound_o > floor_o)
        worth_o = floor_o.copy()
        count_oi = np.zeros((len(floor_o), len(value_i)), dtype=np.int64)
        if len(open_o):
            cap_or = segment.cap_or[open_o]
            made_of = grids(items, ways, cap_or.max(axis=0), _CELLS)
            self.work -= len(value_i) * int(made_of.size_k.sum())
            best = fill_best(
                items,
                value_i,
                made_of,
                (cap_or, floor_o[open_o]),
                (steps * len(value_i), self._scratch),
            )
            worth_o[open_o], bound_o[open_o] = best.worth_o, best.bound_o
            count_oi[open_o] = best.count_oi
        return KnapsackFill(worth_o, count_oi, bound_o)

    def _ways(self, value_s: Int) -> list[tuple[int, Float]]:
        """Resources to be exact in, with prices of all that may explain the values of pods: on
        nodes with memory to spare it is worth nothing, on others more than on average.
        """
        weight_r = self._fit.weights(value_s)
        two = self._fit.prices(weight_r, (CPU, MEMORY))
        ways = [(CPU, self._fit.prices(weight_r, (CPU, MEMORY, PODS))), (CPU, two)]
        ways += [(only, self._fit.prices(weight_r, (only,))) for only in (CPU, MEMORY)]
        for exact, other, factor in _TIMES:
            vector = two.copy()
            vector[other] *= factor
            ways.append((exact, vector))
        return ways

    def _paying_patterns(
        self, fills: Sequence[tuple[MarketSegment, KnapsackFill]], mix: MasterSolution
    ) -> list[tuple[Int, int]]:
        """The patterns that pay by the program's own multipliers."""
        patterns = []
        for segment, filled in fills:
            for place in np.flatnonzero(filled.count_oi.any(axis=1)).tolist():
                counts, price = filled.count_oi[place], int(segment.price_o[place])
                if float(counts @ mix.worth_s[segment.rows]) > price * (1 + _PAYS):
                    count_s = np.zeros(len(self.market.count_s), dtype=np.int64)
                    count_s[segment.rows] = counts
                    patterns.append((count_s, price))
        return patterns


class _Fit:
    """Prices of some resources that explain the values of pods best (least squares)."""

    def __init__(self, request_sr: Int) -> None:
        self._n_resources = request_sr.shape[1]
        size_sr = request_sr[:, [CPU, MEMORY, PODS]].astype(np.float64)
        self._scale: list[float] = size_sr.max(axis=0, initial=0.0).tolist()
        self._size_sr = size_sr / np.maximum(self._scale, 1.0)
        self._gram: list[list[float]] = (self._size_sr.T @ self._size_sr).tolist()

    def weights(self, value_s: Int) -> list[float]:
        """How much each resource has to do with these values."""
        weights: list[float] = (value_s @ self._size_sr).tolist()
        return weights

    def prices(self, weight_r: list[float], resources: tuple[int, ...]) -> Float:
        """The price of each resource, 0 for all but these; none is negative."""
        price = np.zeros(self._n_resources)
        used = [resource for resource in resources if self._scale[resource] > 0]
        while used:
            rows = [[self._gram[resource][other] for other in used] for resource in used]
            solution = _solve_equations(rows, [weight_r[resource] for resource in used])
            if min(solution) >= 0:
                price[used] = [
                    each / self._scale[row] for each, row in zip(solution, used, strict=True)
                ]
                break
            used = [resource for each, resource in zip(solution, used, strict=True) if each > 0]
        return price


def _solve_equations(rows: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a few equations: symmetric, and positive with a little on the diagonal."""
    rows = [[*row, more] for row, more in zip(rows, right, strict=True)]
    for place, row in enumerate(rows):
        row[place] += _RIDGE
    for place, row in enumerate(rows):
        for other in rows[:place] + rows[place + 1 :]:
            times = other[place] / row[place]
            for column in range(place, len(row)):
                other[column] -= times * row[column]
    return [row[-1] / row[place] for place, row in enumerate(rows)]
