"""Tells the provider's price of an offer from the price by which plans are compared.

A node may cost more than its provider asks: a licence, an address, load on the control plane
(`Policy.node_price_nanousd`). The market adds that to the price of every offer, so that all of
`solve` compares and bounds the sum. What a plan shows is the provider's money, and so is the bound
beside it, which is worked out at the provider's prices.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dovetail.solve.encoding.encode import Encoded


def has_node_prices(enc: Encoded) -> bool:
    """Whether any offer costs more than its provider asks."""
    return not np.array_equal(enc.market.price_o, enc.market.provider_price_o)


def at_provider_prices(enc: Encoded) -> Encoded:
    """The same problem at the provider's prices alone."""
    market = replace(enc.market, price_o=enc.market.provider_price_o)
    return replace(enc, market=market, plan_price_o=market.price_o)
