"""Is there a cheaper offer that would hold what a node holds?"""

from __future__ import annotations

import numpy as np

from dovetail.solve.attempt import Attempt
from dovetail.solve.axes import Bool
from dovetail.solve.bins import EXISTING
from dovetail.solve.decode import loads
from dovetail.solve.units import ANY_CELL


def right_size(attempt: Attempt) -> None:
    """Give every new node the cheapest offer that holds its pods, in its cell if they need that."""
    enc, bins = attempt.enc, attempt.bins
    offers = attempt.offers
    memo: dict[tuple[tuple[int, ...], int, int], Bool] = {}
    for node, held in loads(attempt).items():
        offer = int(bins.offer[node])
        if offer == EXISTING:
            continue
        masks = tuple(sorted({attempt.units[number].mask for number in held}))
        pinned = any(attempt.units[number].cell != ANY_CELL for number in held)
        cell = int(bins.cell[node]) if pinned else ANY_CELL
        weight = int(enc.weight_o[offer])
        key = (masks, cell, weight)
        if key not in memo:
            accept = enc.masks_me[list(masks)][:, offers].all(axis=0)
            accept &= enc.weight_o[offers] == weight
            if pinned:
                accept &= enc.cell_o[offers] == cell
            memo[key] = accept
        used = enc.cap_or[offer] - bins.free[:, node]
        fits = memo[key] & (enc.cap_or[offers] >= used).all(axis=1)
        price = np.where(fits, enc.plan_price_o[offers], enc.plan_price_o[offer])
        best = int(np.argmin(price))
        if price[best] < enc.plan_price_o[offer]:
            swap(attempt, node, int(offers[best]))


def swap(attempt: Attempt, node: int, offer: int) -> bool:
    """Make a node one of another offer, if limits and daemon sets allow; says whether they did."""
    enc, bins = attempt.enc, attempt.bins
    old = int(bins.offer[node])
    bins.limits.take(old, -1)
    if bins.limits.most(offer) < 1 or not bins.same_daemons(old, offer):
        bins.limits.take(old, 1)
        return False
    bins.limits.take(offer, 1)
    bins.free[:, node] += enc.cap_or[offer] - enc.cap_or[old]
    bins.offer[node] = offer
    bins.cell[node] = enc.cell_o[offer]
    bins.weight[node] = enc.weight_o[offer]
    bins.accept[:, node] = enc.masks_me[:, offer]
    return True
