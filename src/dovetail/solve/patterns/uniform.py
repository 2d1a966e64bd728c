"""The cheapest nodes for pods that are all alike: exact, by dynamic programming over the count."""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.patterns.market import PatternMarket

_FAR: Final = np.int64(2**62)


def least_prices(holds_o: Int, price_o: Int, count: int) -> tuple[Int, Int]:
    """For every number of pods up to `count` the least price of nodes that hold so many, and the
    place of one of those nodes; among equal prices the fewest nodes.
    """
    best = np.full(count + 1, _FAR, dtype=np.int64)
    n_nodes, choice = np.zeros((2, count + 1), dtype=np.int64)
    best[0] = 0
    for n in range(1, count + 1):
        before = np.maximum(n - holds_o, 0)
        price = best[before] + price_o
        place = int(np.lexsort((n_nodes[before], price))[0])
        best[n], n_nodes[n], choice[n] = price[place], n_nodes[before[place]] + 1, place
    return best, choice


def uniform_nodes(market: PatternMarket) -> list[int] | None:
    """How many pods each node holds, cheapest in all; None if there are several sorts of pods."""
    if len(market.count_s) != 1 or not market.segments:
        return None
    count = int(market.count_s[0])
    holds, price_o = pods_per_node(market)
    _, choice = least_prices(holds, price_o, count)
    loads: list[int] = []
    while count > 0:
        n_pods = min(int(holds[choice[count]]), count)
        loads.append(n_pods)
        count -= n_pods
    return loads


def pods_per_node(market: PatternMarket) -> tuple[Int, Int]:
    """How many pods of the only sort each kind of node holds, and what it costs."""
    request = market.request_sr[0]
    arrays = []
    for segment in market.segments:
        holds = np.full(len(segment.cap_or), int(segment.items.most_i[0]), dtype=np.int64)
        for resource in np.flatnonzero(request > 0).tolist():
            holds = np.minimum(holds, segment.cap_or[:, resource] // request[resource])
        arrays.append(holds)
    return np.concatenate(arrays), np.concatenate([segment.price_o for segment in market.segments])
