"""Packs the pods that need dear nodes first.

Pods that ask for on-demand capacity, or for a family that costs more, pay several times what others
pay for the same resources. Packed together with thousands of others, they lose room on their own
nodes to pods that could go anywhere. So their nodes are bought first; others then fill the gaps.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.filling import snug_fill
from dovetail.solve.packing.pack import pack
from dovetail.solve.patterns.rearrange import rearrange


def pack_dear(attempt: Attempt, good: tuple[Int, Float]) -> None:
    """Open nodes for the pods that need dear ones, and let others fill what room is left."""
    bins, units, left = attempt.bins, attempt.units, attempt.left_u
    dear_g = attempt.values.dear_g
    if not dear_g.any():
        return
    is_dear = np.array([dear_g[unit.members[0][0]] for unit in units], dtype=bool) & (left > 0)
    if not is_dear.any():
        return
    start, rest = bins.n, np.where(is_dear, 0, left)
    attempt.left_u = np.where(is_dear, left, 0)
    pack(bins, units, attempt.left_u, attempt.offers, good)
    kept, bins.n_kept = bins.n_kept, max(start, bins.n_kept)
    rearrange(attempt)
    bins.n_kept = kept
    left = attempt.left_u + rest
    span = slice(start, bins.n)
    numbers = np.flatnonzero(rest)
    for number in numbers[np.argsort(-good[1][numbers], kind="stable")].tolist():
        left[number] -= snug_fill(bins, number, units[number], int(left[number]), span)
    attempt.left_u = left
