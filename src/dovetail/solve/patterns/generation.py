"""Finds patterns that the program lacks, until none would pay.

The multipliers of the program say what a pod of each sort is worth; a pattern pays if its pods are
worth more than its node costs. The multipliers are smoothed towards the best ones seen, or they
would jump about (Wentges). Upper bounds of the knapsacks give a lower bound on the price of any mix
of patterns at every step (Farley).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.patterns.knapsack import CPU, MEMORY, Filled, fill_best, tables
from dovetail.solve.patterns.market import PatternMarket, Shelf
from dovetail.solve.patterns.master import Master, Mix

_SMOOTHING: Final = 0.8
_CLOSE: Final = 1e-3  # of the price: nearer to the bound than this there is little to gain
_PAYS: Final = 1e-6
STEPS: Final = 120  # of search for one kind of node
_IDLE: Final = 2_000  # a part of the price: who pays less than that more is not looked for
_LEAST_WORTH: Final = 1.0  # nanodollars
_TIMES: Final = ((CPU, MEMORY, (0.0, 1.0, 1.6)), (MEMORY, CPU, (0.0, 0.5)))


@dataclass(slots=True)
class Generator:
    """Column generation for one market: patterns (j), as counts of each sort (s), and prices."""

    market: PatternMarket
    worth_s: Float  # the multipliers that gave the best bound
    bound: float = 0.0  # nanodollars
    count_js: list[Int] = field(default_factory=list)
    _known: set[bytes] = field(default_factory=set)

    def add(self, master: Master, patterns: Sequence[tuple[Int, int]]) -> int:
        """Let the program use patterns that are new, each with its price; says how many are."""
        fresh = []
        for count_s, price in patterns:
            key = count_s.tobytes()
            if key not in self._known:
                self._known.add(key)
                fresh.append((count_s, price))
        self.count_js += [count_s for count_s, _ in fresh]
        master.add([count_s for count_s, _ in fresh], [price for _, price in fresh])
        return len(fresh)

    def generate(self, master: Master, demand_s: Int, rounds: int, *, steps: int = STEPS) -> Mix:
        """Add patterns that pay, for so many rounds at most; returns the last solution."""
        mix = master.solve()
        smoothing = _SMOOTHING
        for _ in range(rounds):
            worth = smoothing * self.worth_s + (1 - smoothing) * mix.worth_s
            worth = np.maximum(worth, _LEAST_WORTH)
            filled, ratio = self.price(worth, demand_s, steps)
            bound = float(demand_s @ worth) / max(ratio, 1e-9)
            if bound > self.bound:
                self.bound, self.worth_s = bound, worth
            if mix.price <= self.bound * (1 + _CLOSE):
                break
            if self.add(master, self._paying(filled, mix)):
                mix = master.solve()
                smoothing = _SMOOTHING
            elif smoothing > 0:
                smoothing = 0.0 if smoothing < _SMOOTHING / 2 else smoothing / 4
            else:
                break
        return mix

    def price(
        self, worth_s: Float, demand_s: Int, steps: int, *, idle: int = 1
    ) -> tuple[list[tuple[Shelf, Filled]], float]:
        """The best pods for every kind of node, and how many times its price the pods of a node
        are worth at most. With `idle` 0 also those that hardly pay are looked for.
        """
        value_s = worth_s.astype(np.int64)
        found, ratio = [], 0.0
        for shelf in self.market.shelves:
            value_i = value_s[shelf.rows]
            most_i = np.minimum(shelf.items.most_i, demand_s[shelf.rows])
            items = replace(shelf.items, most_i=most_i)
            bounds = tables(items, value_i, _ways(shelf, value_i), shelf.cap_or.max(axis=0))
            floor_o = shelf.price_o + idle * (shelf.price_o // _IDLE)
            filled = fill_best(items, value_i, bounds, (shelf.cap_or, floor_o), steps)
            found.append((shelf, filled))
            ratio = max(ratio, float((filled.bound_o / np.maximum(shelf.price_o, 1)).max()))
        return found, ratio

    def _paying(self, found: Sequence[tuple[Shelf, Filled]], mix: Mix) -> list[tuple[Int, int]]:
        """The patterns that pay by the program's own multipliers."""
        patterns = []
        for shelf, filled in found:
            for place in np.flatnonzero(filled.count_oi.any(axis=1)).tolist():
                counts, price = filled.count_oi[place], int(shelf.price_o[place])
                if float(counts @ mix.worth_s[shelf.rows]) > price * (1 + _PAYS):
                    count_s = np.zeros(len(self.market.count_s), dtype=np.int64)
                    count_s[shelf.rows] = counts
                    patterns.append((count_s, price))
        return patterns


def _ways(shelf: Shelf, value_i: Int) -> list[tuple[int, Float]]:
    """Resources to be exact in, with prices of the others that may explain the values of pods: on
    nodes with memory to spare it is worth nothing, on others more than on average.
    """
    two = _fitted(shelf, value_i, 2)
    ways = [(CPU, _fitted(shelf, value_i, 3))]
    for exact, other, times in _TIMES:
        for factor in times:
            vector = np.zeros(shelf.cap_or.shape[1])
            vector[other] = factor * two[other]
            ways.append((exact, vector))
    return ways


def _fitted(shelf: Shelf, value_i: Int, n_resources: int) -> Float:
    """The prices of the first few resources that explain the values of pods best (least squares)."""
    request_ir = shelf.items.request_ir[:, :n_resources].astype(np.float64)
    scale = np.maximum(request_ir.max(axis=0), 1.0)
    size_ir = request_ir / scale
    used = np.flatnonzero(size_ir.any(axis=0))
    price = np.zeros(shelf.cap_or.shape[1])
    while len(used):
        gram = size_ir[:, used].T @ size_ir[:, used] + 1e-9 * np.eye(len(used))
        found = np.linalg.solve(gram, size_ir[:, used].T @ value_i)
        if found.min() >= 0:
            price[used] = found / scale[used]
            break
        used = used[found > 0]
    return price
