"""Calls `knapsack.c`: lays out what it reads, and memory for it to work in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.kernel.loading import Library
from dovetail.solve.kernel.structures import KnapsackStruct, address, pointer_to


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
    library: Library,
    columns: Mapping[str, Int],
    nodes: tuple[Int, Int, Bool],
    steps: int,
    memory: Scratch,
) -> tuple[Int, Int, Int]:
    """Fill nodes as well as possible: what each is worth then, with which pods, and bounds.

    `columns`: the arrays of the structure `Knapsack` in `knapsack.c` by name, up to where tables
    start, but for `apart`. `nodes`: capacities, floors, and who keeps apart.
    """
    cap_or, floor_o, apart = nodes
    n_items, n_resources = columns["request"].shape
    size_k = columns["size"].tolist()
    n_tables, width = len(size_k), int(columns["most"].max(initial=0)) + 1
    # All numbers in one array: to ask for an address takes longer than to copy a few.
    arrays = (*columns.values(), cap_or, floor_o)
    numbers = np.concatenate([array.ravel() for array in arrays])
    *given, cap, floor = _one_after_another(address(numbers), [array.size for array in arrays])
    scratch = {
        "paid": 2 * n_tables * (n_items + 1),
        "rows": (n_items + 1) * sum(size_k),
        "spare": 2 * max(size_k),
        "cell": n_tables,
        "alike": n_tables,
        "free": n_resources,
        "barred": n_items,
        "count": n_items,
        "best_count": n_items,
        "order": n_items * width,
    }
    sizes = list(scratch.values())
    places = _one_after_another(memory.room(sum(sizes)), sizes)
    knapsack = KnapsackStruct(
        n_items=n_items,
        n_resources=n_resources,
        n_tables=n_tables,
        apart=apart,
        **dict(zip(columns, given, strict=True)),
        **dict(zip(scratch, places, strict=True)),
        width=width,
        best=0,
        left=0,
    )
    n_offers = len(floor_o)
    answer = np.empty(n_offers * (n_items + 2), dtype=np.int64)
    out = _one_after_another(address(answer), (n_offers, n_offers * n_items, n_offers))
    library.dovetail_fill_best(pointer_to(knapsack), n_offers, cap, floor, steps, *out)
    worth, counts, bound = np.split(answer, (n_offers, n_offers * (n_items + 1)))
    return worth, counts.reshape(n_offers, n_items), bound


def _one_after_another(start: int, sizes: Sequence[int]) -> list[int]:
    """Where each of some arrays of 64-bit numbers begins, if the first begins at `start`."""
    return [start + 8 * before for before in accumulate(sizes[:-1], initial=0)]
