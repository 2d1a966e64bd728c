"""Empties nodes whose pods fit into the gaps of others.

Numbers of nodes are rounded and pods are whole, so that a bit of room is left on most nodes. The
nodes whose pods are worth least of their price are tried first: if all their pods find a gap, the
node is not bought.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.contents import entries
from dovetail.solve.packing.dissolve import dissolve, worth_of_nodes
from dovetail.solve.packing.filling import snug_fill
from dovetail.solve.packing.units import PodUnit

_TRIES: Final = 40
_WELL: Final = 0.97  # of what nodes cost: where pods are worth more, there is little to be gained


def squeeze(bins: Bins, units: list[PodUnit], left: Int, worth_u: Float) -> int:
    """Spare nodes that others have room for; says how many."""
    new = np.arange(bins.n_kept, bins.n)
    new = new[~bins.dead[new]]
    if len(new) < 2:
        return 0
    price = np.maximum(bins.enc.plan_price_o[bins.offer[new]], 1).astype(np.float64)
    worth = worth_of_nodes(bins, worth_u)[new]
    if worth.sum() > _WELL * price.sum():
        return 0
    n_spared = 0
    log = entries(bins.log)
    failed: set[tuple[tuple[int, int], ...]] = set()  # what has found no gap as things stand
    for node in new[np.argsort(worth / price, kind="stable")][:_TRIES].tolist():
        pods = _pods_on(node, log)
        load = tuple(sorted(pods.items()))
        if load in failed:
            continue
        failed.add(load)
        if _spare(bins, units, left, node, pods):
            n_spared += 1
            log = entries(bins.log)
            failed.clear()
    return n_spared


def _spare(bins: Bins, units: list[PodUnit], left: Int, node: int, pods: Mapping[int, int]) -> bool:
    """Put the pods of a node elsewhere, all of them or none."""
    accept = bins.accept[:, node].copy()
    bins.accept[:, node] = False  # it is not elsewhere
    mark = len(bins.log)
    span = slice(bins.n_kept, bins.n)
    size = {number: float((units[number].request / bins.mean).max()) for number in pods}
    for number in sorted(pods, key=lambda unit: (-size[unit], unit)):
        if snug_fill(bins, number, units[number], pods[number], span) < pods[number]:
            for unit, places, placed in bins.log[mark:]:
                bins.shift(units[unit], places, -placed)
            del bins.log[mark:]
            bins.accept[:, node] = accept
            return False
    gone = np.zeros(bins.n, dtype=bool)
    gone[node] = True
    dissolve(bins, units, left, gone)
    for number, count in pods.items():
        left[number] -= count  # they are there already
    return True


def _pods_on(node: int, log: tuple[Int, Int, Int]) -> dict[int, int]:
    """How many pods of which unit a node holds."""
    numbers, nodes, counts = log
    here = np.flatnonzero(nodes == node)
    pods: dict[int, int] = {}
    for number, count in zip(numbers[here].tolist(), counts[here].tolist(), strict=True):
        pods[number] = pods.get(number, 0) + count
    return pods
