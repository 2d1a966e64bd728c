"""Raises the prices of spot offers that may be unavailable when they are wanted.

The cheapest spot price is often an outlier: when that type runs out, a launch falls back to one
that costs much more. So the search may compare a blend of an offer's own price and the price of the
fifth cheapest spot type that would do as well: same pool, zone and labels, no smaller, and accepted
by the same pods. What is paid, and the bound, know only true prices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from dovetail import labels
from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.encode import Encoded

_RANK: Final = 5


def with_robust_prices(enc: Encoded) -> Encoded:
    """The same problem, with spot offers compared at blended prices if the policy asks for it."""
    share = min(max(enc.problem.policy.spot_robustness, 0.0), 1.0)
    if share == 0.0 or not enc.n_offers:
        return enc
    blended = enc.price_o.copy()
    for offers in _markets(enc):
        own = enc.price_o[offers]
        beyond = np.maximum(_fifth_price(enc, offers) - own, 0)
        blended[offers] = own + np.rint(share * beyond).astype(np.int64)
    return replace(enc, plan_price_o=blended)


def _markets(enc: Encoded) -> list[Int]:
    """Spot offers that may stand in for each other: one pool, one zone, one choice of labels."""
    by_market: dict[tuple[int, int, str], list[int]] = {}
    for number, offer in enumerate(enc.market.offers):
        if offer.offering.capacity_type == labels.SPOT:
            by_market.setdefault((offer.pool, offer.choice, offer.offering.zone), []).append(number)
    return [np.array(offers, dtype=np.int64) for offers in by_market.values()]


def _fifth_price(enc: Encoded, offers: Int) -> Int:
    """The fifth cheapest price among those that would do, or the dearest if they are fewer."""
    price = enc.price_o[offers]
    order = np.argsort(price, kind="stable")
    serves = _serves(enc, offers, offers[order])
    rank = np.minimum(serves.sum(axis=1), _RANK)
    place = (np.cumsum(serves, axis=1) >= rank[:, None]).argmax(axis=1)
    ranked: Int = price[order][place]
    return ranked


def _serves(enc: Encoded, offers: Int, others: Int) -> Bool:
    """offers x others: whether the other would hold whatever the offer holds; itself included."""
    mine, theirs = enc.masks_me[:, offers], enc.masks_me[:, others]
    missed = mine.T.astype(np.float32) @ (~theirs).astype(np.float32)
    result: Bool = missed == 0
    for resource in range(enc.cap_or.shape[1]):
        cap = enc.cap_or[:, resource]
        result &= cap[offers][:, None] <= cap[others][None, :]
    return result
