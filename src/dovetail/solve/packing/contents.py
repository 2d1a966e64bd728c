"""Lists what is on each node, from the log of placements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.solve.axes import Int

Log = Sequence[tuple[int, Int, Int]]  # unit, nodes, how many on each


def loads(log: Log) -> dict[int, dict[int, int]]:
    """How many pods of which unit every node holds."""
    result: dict[int, dict[int, int]] = defaultdict(dict)
    for number, nodes, counts in log:
        for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
            if count:
                load = result[node]
                load[number] = load.get(number, 0) + count
    return result


def entries(log: Log) -> tuple[Int, Int, Int]:
    """The whole log (which must not be empty) as columns: units, nodes, counts."""
    sizes = [len(nodes) for _, nodes, _ in log]
    numbers = np.repeat([number for number, _, _ in log], sizes)
    nodes = np.concatenate([nodes for _, nodes, _ in log])
    return numbers, nodes, np.concatenate([counts for _, _, counts in log])


def kinds_by_node(log: Log, kind_u: Int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every node that holds pods, in order, with the kinds of units that it holds."""
    if not log:
        return
    numbers, nodes, counts = entries(log)
    n_kinds = int(kind_u.max(initial=0)) + 1
    pairs = np.unique((nodes * n_kinds + kind_u[numbers])[counts > 0])
    node_x, kind_x = np.divmod(pairs, n_kinds)
    starts = np.flatnonzero(np.diff(node_x, prepend=-1))
    kinds, stops = kind_x.tolist(), [*starts[1:].tolist(), len(kind_x)]
    for node, start, stop in zip(node_x[starts].tolist(), starts.tolist(), stops, strict=True):
        yield node, tuple(kinds[start:stop])
