"""Finds the pods that are worth most together on one node: exact knapsacks over sorts of pods.

A knapsack has one row for each sort of pod (`items`), in order of size, and one column for each
resource, including one for each cap on pods of a node (`hosts`). Upper bounds come from tables that
are exact in CPU or memory, on a grid, and price the other resources by multipliers. The search
follows the bounds, so it rarely turns back. Work is counted, never timed.

`knapsack.c` is the compiled form. Everything is in integers, so both give the same answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

import numpy as np

from dovetail.solve import kernel
from dovetail.solve.axes import Bool, Float, Int

SHIFT: Final = 24  # multipliers are fractions of 2^24
_MOST_CELLS: Final = 4096
CPU, MEMORY, PODS = 0, 1, 2  # places among the resources
_LARGEST: Final = 2**62


@dataclass(frozen=True, slots=True)
class Items:
    """Sorts of pods that one kind of node takes. `most` is how many of each a node could hold."""

    request_ir: Int
    most_i: Int
    apart_ii: Bool  # which never share a node


@dataclass(frozen=True, slots=True)
class Table:
    """Upper bounds that are exact in one resource, in steps of `unit`."""

    exact: int
    unit: int
    price_r: Int
    rows: Int  # (items + 1) x cells


@dataclass(frozen=True, slots=True)
class Filled:
    """For each kind of node the best pods found, what they are worth, and an upper bound."""

    worth_o: Int
    count_oi: Int
    bound_o: Int


def tables(
    items: Items, value_i: Int, ways: Sequence[tuple[int, Float]], largest_r: Int
) -> list[Table]:
    """Tables for these values of pods: for each way the resource that is exact and the multipliers
    of the others. `largest_r` is the most of each resource that any node has.
    """
    plans = []
    asked_r = (items.request_ir * items.most_i[:, None]).sum(axis=0)
    for exact, vector in ways:
        requests = items.request_ir[:, exact]
        if not requests.any():
            continue
        most = int(min(largest_r[exact], asked_r[exact]))
        unit = max(gcd(*requests.tolist()), -(-most // (_MOST_CELLS - 1)), 1)
        plans.append((exact, unit, _prices(vector, exact), most // unit + 1))
    if not plans:  # they ask for neither CPU nor memory: all of them fit
        plans.append((CPU, 1, np.zeros(items.request_ir.shape[1], dtype=np.int64), 1))
    n_rows = len(value_i) + 1
    # One block for all, as the compiled search wants it.
    block = np.empty(n_rows * sum(size for _, _, _, size in plans), dtype=np.int64)
    found, start = [], 0
    for exact, unit, price_r, size in plans:
        rows = block[start : start + n_rows * size].reshape(n_rows, size)
        _fill_rows(items, value_i, (items.request_ir[:, exact] // unit, price_r), rows)
        found.append(Table(exact, unit, price_r, rows))
        start += n_rows * size
    return found


def _prices(vector: Float, exact: int) -> Int:
    scaled = np.minimum(np.maximum(vector, 0.0) * 2.0**SHIFT, _LARGEST / 2)
    price_r: Int = scaled.astype(np.int64)
    price_r[exact] = 0
    return price_r


def _fill_rows(items: Items, value_i: Int, grid: tuple[Int, Int], rows: Int) -> None:
    weight_i, price_r = grid
    # A product may exceed 64 bits: Python's integers do not mind.
    prices, values = price_r.tolist(), value_i.tolist()
    net_i = np.array(
        [
            value - sum(each * asked >> SHIFT for each, asked in zip(prices, row, strict=True))
            for value, row in zip(values, items.request_ir.tolist(), strict=True)
        ],
        dtype=np.int64,
    )
    library = kernel.library()
    if library is None:
        _fill_table(rows, weight_i, net_i, items.most_i)
    else:
        kernel.table(library, (weight_i, net_i, items.most_i), rows)


def _fill_table(rows: Int, weight_i: Int, net_i: Int, most_i: Int) -> None:
    """The plain form of the compiled loop."""
    size = rows.shape[1]
    rows[-1] = 0
    for item in range(len(rows) - 2, -1, -1):
        row = rows[item]
        row[:] = rows[item + 1]
        weight, net, most = int(weight_i[item]), int(net_i[item]), int(most_i[item])
        if net <= 0:
            continue
        if weight == 0:
            row += most * net
            continue
        most, step = min(most, (size - 1) // weight), 1
        while most > 0:
            count = min(step, most)
            used = count * weight
            np.maximum(row[used:], row[: size - used] + count * net, out=row[used:])
            most -= count
            step *= 2


def fill_best(
    items: Items, value_i: Int, bounds: Sequence[Table], nodes: tuple[Int, Int], budget: int
) -> Filled:
    """The best pods for every kind of node, if they are worth more than its floor.

    `nodes` are the capacities and the floors; `budget` is how many steps the search may take on
    each.
    """
    cap_or, floor_o = nodes
    library = kernel.library()
    if library is None:
        return _filled_plainly(items, value_i, bounds, nodes, budget)
    worth, bound = np.empty((2, len(cap_or)), dtype=np.int64)
    counts = np.empty((len(cap_or), len(value_i)), dtype=np.int64)
    starts = np.cumsum([0, *(one.rows.size for one in bounds[:-1])])
    columns = (
        items.request_ir,
        value_i,
        items.most_i,
        items.apart_ii,
        np.array([one.exact for one in bounds], dtype=np.int64),
        np.array([one.unit for one in bounds], dtype=np.int64),
        np.array([one.rows.shape[1] for one in bounds], dtype=np.int64),
        np.array([one.price_r for one in bounds], dtype=np.int64),
        starts.astype(np.int64),
        bounds[0].rows,  # and those of the others, which follow it in the same block
    )
    kernel.fill_best(library, columns, (cap_or, floor_o), budget, (worth, counts, bound))
    return Filled(worth, counts, bound)


def _filled_plainly(
    items: Items, value_i: Int, bounds: Sequence[Table], nodes: tuple[Int, Int], budget: int
) -> Filled:
    """The plain form of the compiled loop."""
    worth, counts, proven = [], [], []
    for cap, floor in zip(nodes[0].tolist(), nodes[1].tolist(), strict=True):
        search = _Search(items, value_i, bounds, cap)
        most = search.at_most(0)
        search.best, search.left = floor, budget
        if most > floor:
            search.visit(0, 0)
        worth.append(search.best)
        counts.append(search.best_count)
        proven.append(min(most, search.best) if search.left > 0 else most)
    return Filled(
        np.array(worth, dtype=np.int64),
        np.array(counts, dtype=np.int64).reshape(len(worth), len(value_i)),
        np.array(proven, dtype=np.int64),
    )


class _Search:
    """Depth first over the sorts, the most promising count of each first."""

    def __init__(
        self, items: Items, value_i: Int, bounds: Sequence[Table], cap: list[int]
    ) -> None:
        self._request = items.request_ir.tolist()
        self._most: list[int] = items.most_i.tolist()
        self._apart: list[list[bool]] = items.apart_ii.tolist()
        self._value: list[int] = value_i.tolist()
        self._bounds = [(one, one.price_r.tolist()) for one in bounds]
        self._free = cap
        n_items = len(self._value)
        self._barred = [0] * n_items
        self._count = [0] * n_items
        self.best_count = [0] * n_items
        self.best = self.left = 0

    def at_most(self, item: int) -> int:
        """The most that this sort and the following ones can be worth in what is free."""
        lowest = -1
        for table, prices in self._bounds:
            cell = min(self._free[table.exact] // table.unit, table.rows.shape[1] - 1)
            bound = int(table.rows[item, cell])
            bound += sum(
                each * free >> SHIFT
                for each, free in zip(prices, self._free, strict=True)
                if each
            )
            if lowest < 0 or bound < lowest:
                lowest = bound
        return lowest

    def _take(self, item: int, count: int) -> None:
        self._free = [
            free - count * asked
            for free, asked in zip(self._free, self._request[item], strict=True)
        ]

    def visit(self, item: int, value: int) -> None:
        """Choose how many of a sort and of the following ones, given what is chosen."""
        if value > self.best:
            self.best, self.best_count = value, list(self._count)
        if item == len(self._value) or self.left <= 0:
            return
        self.left -= 1
        bound = self._options(item, value)
        while self.left > 0:
            chosen = max(range(len(bound)), key=lambda a: (bound[a], a))
            if bound[chosen] <= self.best:
                return
            bound[chosen] = -1
            self._choose(item, chosen, value)

    def _options(self, item: int, value: int) -> list[int]:
        """For every count of the sort, the most that all could be worth then."""
        most = 0 if self._barred[item] else self._most[item]
        for free, asked in zip(self._free, self._request[item], strict=True):
            if asked > 0:
                most = min(most, free // asked)
        bound = []
        for count in range(most + 1):
            bound.append(value + count * self._value[item] + self.at_most(item + 1))
            self._take(item, 1)
        self._take(item, -(most + 1))
        return bound

    def _choose(self, item: int, chosen: int, value: int) -> None:
        self._take(item, chosen)
        self._count[item] = chosen
        self._bar(item, int(chosen > 0))
        self.visit(item + 1, value + chosen * self._value[item])
        self._bar(item, -int(chosen > 0))
        self._count[item] = 0
        self._take(item, -chosen)

    def _bar(self, item: int, more: int) -> None:
        if more:
            for other in range(item + 1, len(self._value)):
                self._barred[other] += more * self._apart[item][other]
