"""Takes nodes apart whose pods are worth too little, so that they are packed again.

A node whose pods are worth much less than it costs has something stranded: cpu that no memory is
left for, or a shape that nothing else fits beside. Its pods go back to the queue.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.contents import Log, entries
from dovetail.solve.packing.units import PodUnit


def worth_of_nodes(bins: Bins, worth_u: Float) -> Float:
    """What the pods placed on every node are worth."""
    if not bins.log:
        return np.zeros(bins.n)
    numbers, nodes, counts = entries(bins.log)
    worth = np.bincount(nodes, weights=counts * worth_u[numbers], minlength=bins.n)
    return worth.astype(np.float64)


def dissolve(bins: Bins, units: list[PodUnit], left: Int, gone: Bool) -> None:
    """Close these new nodes for good and put their pods back into `left`."""
    kept = []
    for entry, out in zip(bins.log, _per_entry(bins.log, gone), strict=True):
        if out is None:
            kept.append(entry)
            continue
        number, nodes, counts = entry
        left[number] += int(counts[out].sum())
        bins.shift(units[number], nodes[out], -counts[out])
        if not out.all():
            kept.append((number, nodes[~out], counts[~out]))
    bins.log = kept
    for node in np.flatnonzero(gone).tolist():
        bins.accept[:, node] = False
        bins.limits.take(int(bins.offer[node]), -1)
        bins.dead[node] = True


def _per_entry(log: Log, gone: Bool) -> list[Bool | None]:
    """For every entry of the log which of its nodes go; None where none does."""
    stops = np.cumsum([len(nodes) for _, nodes, _ in log])
    out = gone[np.concatenate([nodes for _, nodes, _ in log])] if log else gone[:0]
    hit = np.unique(np.searchsorted(stops, np.flatnonzero(out), side="right")).tolist()
    result: list[Bool | None] = [None] * len(log)
    for place in hit:
        result[place] = out[stops[place] - len(log[place][1]) : stops[place]]
    return result


def dissolve_poor(bins: Bins, units: list[PodUnit], left: Int, worth_u: Float, least: float) -> int:
    """Dissolve new nodes whose pods are worth less than `least` of their price."""
    new = slice(bins.n_kept, bins.n)
    price = bins.enc.plan_price_o[bins.offer[new]].astype(np.float64)
    ratio = worth_of_nodes(bins, worth_u)[new] / np.maximum(price, 1.0)
    gone = np.zeros(bins.n, dtype=bool)
    gone[new] = (ratio < least) & ~bins.dead[new]
    count = int(gone.sum())
    if count:
        dissolve(bins, units, left, gone)
    return count
