"""The order of plans: which of two is better."""

from __future__ import annotations

from collections import Counter

import numpy as np

from dovetail.solve.finishing.priority import Outcome
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.contents import loads


def rank(outcome: Outcome) -> tuple[list[int], list[int], int, int]:
    """Sort key of plans: pods left out (highest priority first), pods in light pools (lightest
    first), price, nodes.
    """
    attempt, waiting = outcome
    enc, bins = attempt.enc, attempt.bins
    left_out: Counter[int] = Counter()
    for group, count in waiting.items():
        left_out[-int(enc.priority_g[group])] += count
    new = np.arange(bins.n_existing, bins.n)
    offers = bins.offer[new[~bins.dead[new]]]
    n_pods: Counter[int] = Counter()
    for node, held in loads(attempt.bins.log).items():
        if bins.offer[node] != EXISTING:
            n_pods[int(enc.weight_o[bins.offer[node]])] += sum(held.values())
    return (
        [left_out[-int(one)] for one in np.unique(enc.priority_g)[::-1]],
        [n_pods[weight] for weight in attempt.weights[:0:-1]],  # the heaviest are as good as any
        int(enc.plan_price_o[offers].sum()),
        len(offers),
    )
