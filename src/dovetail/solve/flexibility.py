"""What else could a planned node be, if its first choice cannot be had?

Every instance type that would hold the node's pods, cheapest first. minValues of the pool ask that
enough different values of a label remain among them.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.attempt import Attempt
from dovetail.solve.axes import Bool, Int
from dovetail.solve.bins import EXISTING
from dovetail.solve.units import ANY_CELL


def alternatives(
    attempt: Attempt, by_node: dict[int, dict[int, int]]
) -> dict[int, tuple[Int, bool]]:
    """For every new node the other offers that would do (cheapest first), and whether minValues
    had to give way.
    """
    enc, bins = attempt.enc, attempt.bins
    result: dict[int, tuple[Int, bool]] = {}
    memo: dict[tuple[tuple[int, ...], int, bool, bytes], Int] = {}
    order = np.lexsort((np.arange(enc.n_offers), enc.price_o))
    for node, held in by_node.items():
        offer = int(bins.offer[node])
        if offer == EXISTING:
            continue
        masks = tuple(sorted({attempt.units[number].mask for number in held}))
        pinned = any(attempt.units[number].cell != ANY_CELL for number in held)
        used = enc.cap_or[offer] - bins.free[:, node]
        key = (masks, offer, pinned, used.tobytes())
        if key not in memo:
            memo[key] = _fallbacks(attempt, offer, (masks, pinned, used), order)
        result[node] = (memo[key], False)
    return result


def _fallbacks(
    attempt: Attempt, offer: int, load: tuple[tuple[int, ...], bool, Int], order: Int
) -> Int:
    enc = attempt.enc
    masks, pinned, used = load
    fits: Bool = (
        (enc.pool_o == enc.pool_o[offer])
        & (enc.supply_o > 0)
        & _same_choice(attempt, offer)
        & enc.masks_me[list(masks), : enc.n_offers].all(axis=0)
    )
    if pinned:
        fits &= enc.cell_o == enc.cell_o[offer]
    for resource in range(enc.cap_or.shape[1]):
        fits &= enc.cap_or[:, resource] >= used[resource]
    fits[offer] = False
    return order[fits[order]]


def _same_choice(attempt: Attempt, offer: int) -> Bool:
    market = attempt.enc.market
    if len(market.choices) == 1:
        return np.ones(attempt.enc.n_offers, dtype=bool)
    choice = market.offers[offer].choice
    return np.array([one.choice == choice for one in market.offers], dtype=bool)
