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

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.kernel import loading
from dovetail.solve.patterns import compiled
from dovetail.solve.patterns.compiled import Scratch

SHIFT: Final = 24  # multipliers are fractions of 2^24
CPU, MEMORY, PODS = 0, 1, 2  # places among the resources
_LARGEST: Final = 2**62
_BOUNDLESS: Final = 2**50  # of a resource; what is priced is never so much
_MARGIN: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Items:
    """Sorts of pods that one kind of node takes. `most` is how many of each a node could hold."""

    request_ir: Int
    most_i: Int
    apart_ii: Bool  # which never share a node


@dataclass(frozen=True, slots=True)
class Grids:
    """What tables (k) are made of: the resource that is exact, in steps of a unit, how many cells
    that makes, and the prices of the other resources.
    """

    exact_k: Int
    unit_k: Int
    size_k: Int
    price_kr: Int


@dataclass(frozen=True, slots=True)
class KnapsackFill:
    """For each kind of node the best pods found, what they are worth, and an upper bound."""

    worth_o: Int
    count_oi: Int
    bound_o: Int


def as_numbers(cap_or: Int) -> Float:
    """Capacities as numbers to multiply with prices."""
    return np.minimum(cap_or, _BOUNDLESS).astype(np.float64)


def simple_bounds(items: Items, value_i: Int, price_rk: Float, bounded_or: Float) -> Int:
    """Upper bounds on what pods of every kind of node are worth, by prices of resources alone: what
    the node has at these prices, and what pods are worth beyond them. `bounded_or` are capacities
    as `as_numbers` gives them.
    """
    beyond_ik = np.maximum(value_i[:, None] - items.request_ir @ price_rk, 0.0)
    bound_o = (bounded_or @ price_rk + items.most_i @ beyond_ik).min(axis=1)
    # Floating point is off by far less than this.
    bound_o = np.minimum(np.ceil(bound_o * (1 + _MARGIN)), _LARGEST)
    bound_v: Int = bound_o.astype(np.int64) + 1
    return bound_v


def grids(
    items: Items, ways: Sequence[tuple[int, Float]], largest_r: Int, most_cells: int
) -> Grids:
    """Tables for these ways: the resource that is exact, and the multipliers of the others.
    `largest_r` is the most of each resource that any node has.
    """
    asked_r = (items.request_ir * items.most_i[:, None]).sum(axis=0)
    most_r = np.minimum(largest_r, asked_r).tolist()
    unit_r = {}
    for exact in sorted({exact for exact, _ in ways}):
        step = gcd(*items.request_ir[:, exact].tolist())
        if step:
            unit_r[exact] = max(step, -(-most_r[exact] // (most_cells - 1)))
    used = [(exact, vector) for exact, vector in ways if exact in unit_r]
    if not used:  # they ask for neither CPU nor memory: all of them fit
        used, unit_r, most_r = [(CPU, np.zeros(len(largest_r)))], {CPU: 1}, [0] * len(most_r)
    scaled_kr = np.array([vector for _, vector in used]) * 2.0**SHIFT
    price_kr = np.clip(scaled_kr, 0.0, _LARGEST / 2).astype(np.int64)
    exact_k = np.array([exact for exact, _ in used], dtype=np.int64)
    price_kr[np.arange(len(used)), exact_k] = 0
    return Grids(
        exact_k,
        np.array([unit_r[exact] for exact, _ in used], dtype=np.int64),
        np.array([most_r[exact] // unit_r[exact] + 1 for exact, _ in used], dtype=np.int64),
        price_kr,
    )


def fill_best(
    items: Items, value_i: Int, made_of: Grids, nodes: tuple[Int, Int], effort: tuple[int, Scratch]
) -> KnapsackFill:
    """The best pods for every kind of node, if they are worth more than its floor.

    `nodes` are the capacities and the floors; `effort` is how many steps the search may take on
    each, and memory to work in, which callers that come again should keep.
    """
    cap_or, floor_o = nodes
    steps, scratch = effort
    library = loading.library()
    if library is None:
        return _fill_plainly(items, value_i, made_of, nodes, steps)
    n_cells_k = (len(value_i) + 1) * made_of.size_k
    columns = {
        "request": items.request_ir,
        "value": value_i,
        "most": items.most_i,
        "exact": made_of.exact_k,
        "unit": made_of.unit_k,
        "size": made_of.size_k,
        "price": made_of.price_kr,
        "start": np.cumsum(n_cells_k) - n_cells_k,
    }
    given = (cap_or, floor_o, items.apart_ii)
    return KnapsackFill(*compiled.fill_best(library, columns, given, steps, scratch))


@dataclass(frozen=True, slots=True)
class _Table:
    """Upper bounds: for every item and cell the most that it and the following ones are worth."""

    exact: int
    unit: int
    prices: list[int]
    rows: Int


def _tables(items: Items, value_i: Int, made_of: Grids) -> list[_Table]:
    """The tables, without the compiled loops."""
    tables = []
    columns = (made_of.exact_k, made_of.unit_k, made_of.size_k, made_of.price_kr)
    for exact, unit, size, prices in zip(*(column.tolist() for column in columns), strict=True):
        # A product may exceed 64 bits: Python's integers do not mind.
        net_i = [
            value - sum(each * asked >> SHIFT for each, asked in zip(prices, row, strict=True))
            for value, row in zip(value_i.tolist(), items.request_ir.tolist(), strict=True)
        ]
        rows = np.zeros((len(value_i) + 1, size), dtype=np.int64)
        _fill_table(rows, (items.request_ir[:, exact] // unit).tolist(), net_i, items.most_i)
        tables.append(_Table(exact, unit, prices, rows))
    return tables


def _fill_table(rows: Int, weights: list[int], nets: list[int], most_i: Int) -> None:
    size = rows.shape[1]
    for item in range(len(rows) - 2, -1, -1):
        row = rows[item]
        row[:] = rows[item + 1]
        weight, net, most = weights[item], nets[item], int(most_i[item])
        if net <= 0:
            continue
        if weight == 0:
            row += most * net
            continue
        most, step = min(most, (size - 1) // weight), 1
        while most > 0:
            count = min(step, most)
            used = count * weight
            row[used:] = np.maximum(row[used:], row[: size - used] + count * net)
            most -= count
            step *= 2


def _fill_plainly(
    items: Items, value_i: Int, made_of: Grids, nodes: tuple[Int, Int], steps: int
) -> KnapsackFill:
    """The plain form of the compiled loop."""
    worth, counts, proven = [], [], []
    bounds = _tables(items, value_i, made_of)
    for cap, floor in zip(nodes[0].tolist(), nodes[1].tolist(), strict=True):
        search = _Search(items, value_i, bounds, cap)
        most = search.at_most(0)
        search.best, search.left = floor, steps
        if most > floor:
            search.visit(0, 0)
        worth.append(search.best)
        counts.append(search.best_count)
        proven.append(min(most, search.best) if search.left > 0 else most)
    return KnapsackFill(
        np.array(worth, dtype=np.int64),
        np.array(counts, dtype=np.int64).reshape(len(worth), len(value_i)),
        np.array(proven, dtype=np.int64),
    )


class _Search:
    """Depth first over the sorts, the most promising count of each first."""

    def __init__(
        self, items: Items, value_i: Int, bounds: Sequence[_Table], cap: list[int]
    ) -> None:
        self._request = items.request_ir.tolist()
        self._most: list[int] = items.most_i.tolist()
        self._apart: list[list[bool]] = items.apart_ii.tolist()
        self._value: list[int] = value_i.tolist()
        self._bounds = bounds
        self._free = cap
        n_items = len(self._value)
        self._barred = [0] * n_items
        self._count = [0] * n_items
        self.best_count = [0] * n_items
        self.best = self.left = 0

    def at_most(self, item: int) -> int:
        """The most that this sort and the following ones can be worth in what is free."""
        lowest = -1
        for table in self._bounds:
            cell = min(self._free[table.exact] // table.unit, table.rows.shape[1] - 1)
            pairs = zip(table.prices, self._free, strict=True)
            paid = sum(each * free for each, free in pairs)
            bound = int(table.rows[item, cell]) + (paid >> SHIFT)
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
