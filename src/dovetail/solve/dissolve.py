"""Which nodes came out badly, and should be packed again?

A node whose pods are worth much less than it costs has something stranded: cpu that no memory is
left for, or a shape that nothing else fits beside. Its pods go back to the queue.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.bins import Bins
from dovetail.solve.units import Unit


def worth_of_nodes(bins: Bins, worth_u: Float) -> Float:
    """What the pods placed on every node are worth."""
    worth = np.zeros(bins.n)
    for number, nodes, counts in bins.log:
        worth[nodes] += counts * worth_u[number]
    return worth


def dissolve(bins: Bins, units: list[Unit], left: Int, gone: Bool) -> None:
    """Close these new nodes for good and put their pods back into `left`."""
    kept = []
    for number, nodes, counts in bins.log:
        out = gone[nodes]
        if not out.any():
            kept.append((number, nodes, counts))
            continue
        left[number] += int(counts[out].sum())
        bins.shift(units[number], nodes[out], -counts[out])
        if not out.all():
            kept.append((number, nodes[~out], counts[~out]))
    bins.log = kept
    for node in np.flatnonzero(gone).tolist():
        bins.accept[:, node] = False
        bins.limits.take(int(bins.offer[node]), -1)
        bins.dead[node] = True


def dissolve_poor(bins: Bins, units: list[Unit], left: Int, worth_u: Float, least: float) -> int:
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
