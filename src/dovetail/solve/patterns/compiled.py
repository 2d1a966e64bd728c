"""Calls `knapsack.c`: lays out what it reads, and memory for it to work in."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.kernel.loops import address


class Scratch:
    """Memory to work in, kept from call to call: fresh pages are dear."""

    def __init__(self) -> None:
        self._numbers: Int = np.empty(0, dtype=np.int64)
        self._at = 0

    def room(self, count: int) -> int:
        """Where so many numbers have room; what they are is left open."""
        if len(self._numbers) < count:
            self._numbers = np.empty(2 * count, dtype=np.int64)
            self._at = address(self._numbers)
        return self._at


def fill_best(
    library: ctypes.CDLL,
    columns: Sequence[Int],
    nodes: tuple[Int, Int, Bool],
    steps: int,
    memory: Scratch,
) -> tuple[Int, Int, Int]:
    """Fill nodes as well as possible: what each is worth then, with which pods, and bounds.

    `columns`: as `Search` in `knapsack.c` lists them, up to where tables start, but for who keeps
    apart. `nodes`: capacities, floors, and who keeps apart.
    """
    cap_or, floor_o, apart = nodes
    n_items, n_resources = columns[0].shape
    size_k = columns[5].tolist()
    n_tables, width = len(size_k), int(columns[2].max(initial=0)) + 1
    # All numbers in one array: to ask for an address takes longer than to copy a few.
    numbers = np.concatenate([one.ravel() for one in (*columns, cap_or, floor_o)])
    apart = np.ascontiguousarray(apart)
    given = _one_after_another(address(numbers), [one.size for one in (*columns, cap_or, floor_o)])
    n_paid, n_rows = 2 * n_tables * (n_items + 1), (n_items + 1) * sum(size_k)
    sizes = (n_paid, n_rows, 2 * max(size_k), n_tables, n_tables, n_resources, *[n_items] * 3)
    places = _one_after_another(memory.room(sum(sizes) + n_items * width), [*sizes, 0])
    struct = (*given[:3], address(apart), *given[3 : len(columns)], *places)
    block = np.array([n_items, n_resources, n_tables, *struct, width, 0, 0], dtype=np.int64)
    answer = np.empty(len(floor_o) * (n_items + 2), dtype=np.int64)
    n_offers = len(floor_o)
    out = _one_after_another(address(answer), (n_offers, n_offers * n_items, 0))
    library.dovetail_fill_best(address(block), n_offers, *given[-2:], steps, *out)
    worth, counts, bound = np.split(answer, (n_offers, n_offers * (n_items + 1)))
    return worth, counts.reshape(n_offers, n_items), bound


def _one_after_another(start: int, sizes: Sequence[int]) -> list[int]:
    """Where each of some arrays of 64-bit numbers begins, if the first begins at `start`."""
    return [start + 8 * before for before in accumulate(sizes[:-1], initial=0)]
