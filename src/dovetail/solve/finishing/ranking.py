"""Ranks plans: by pods left out, then by weight of pools, then by price, then by node count."""

from __future__ import annotations

from collections import Counter

import numpy as np

from dovetail.solve.packing.attempt import PackingResult
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.contents import loads


def rank(packing: PackingResult) -> tuple[list[int], list[int], int, int]:
    """Sort key of plans: pods left out (highest priority first), pods in light pools (lightest
    first), price, nodes.
    """
    attempt, left_out = packing
    enc, bins = attempt.enc, attempt.bins
    n_left_out: Counter[int] = Counter()
    for group, count in left_out.items():
        n_left_out[int(enc.priority_g[group])] += count
    new = np.arange(bins.n_existing, bins.n)
    offers = bins.offer[new[~bins.dead[new]]]
    n_pods: Counter[int] = Counter()
    for node, load in loads(attempt.bins.log).items():
        if bins.offer[node] != EXISTING:
            n_pods[int(enc.weight_o[bins.offer[node]])] += sum(load.values())
    return (
        [n_left_out[priority] for priority in np.unique(enc.priority_g)[::-1].tolist()],
        [n_pods[weight] for weight in attempt.weights[:0:-1]],  # the heaviest are as good as any
        int(enc.plan_price_o[offers].sum()),
        len(offers),
    )
