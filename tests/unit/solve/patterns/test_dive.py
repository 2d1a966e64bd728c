from __future__ import annotations

import numpy as np
import pytest

from dovetail.solve.axes import Int
from dovetail.solve.kernel import loading
from dovetail.solve.patterns.dive import DiveDepth, dive
from tests.unit.solve.patterns.instances import (
    all_patterns,
    cheapest_nodes,
    drawn_market,
    fits_some_node,
    generator_for,
    started,
)


def dived(seed: int, *, by_price: bool = False) -> tuple[list[Int], int]:
    """The nodes for a drawn market, and the optimum."""
    market = drawn_market(seed)
    generator, master = generator_for(market), started(market)
    alone = list(np.eye(len(market.count_s), dtype=np.int64))
    generator.count_js += alone
    generator.price_j += [10**9] * len(alone)
    generator.generate(master, market.count_s, 80)
    nodes = dive(generator, master, DiveDepth(2), by_price=by_price)
    return nodes, cheapest_nodes(market, all_patterns(market))


@pytest.mark.parametrize("by_price", [False, True], ids=["by fraction", "by price"])
@pytest.mark.parametrize("seed", range(12))
def test_whole_nodes_hold_the_pods(seed: int, *, by_price: bool) -> None:
    """Never more of a sort than there are, each node holds something and can be bought."""
    market = drawn_market(seed)
    nodes, _ = dived(seed, by_price=by_price)
    held = np.sum(nodes, axis=0) if nodes else np.zeros_like(market.count_s)
    assert (held <= market.count_s).all()
    assert all(one.any() and fits_some_node(market, one) for one in nodes)


@pytest.mark.parametrize("by_price", [False, True], ids=["by fraction", "by price"])
def test_most_pods_are_placed_near_the_optimum(*, by_price: bool) -> None:
    """Over some markets: nearly all pods, for little more than the optimum."""
    n_pods = n_placed = 0
    for seed in range(12):
        market = drawn_market(seed)
        nodes, optimum = dived(seed, by_price=by_price)
        n_pods += int(market.count_s.sum())
        n_placed += sum(int(one.sum()) for one in nodes)
        priced = list(all_patterns(market))
        paid = sum(min(p for held, p in priced if (held >= one).all()) for one in nodes)
        assert paid <= 1.5 * optimum
    assert n_placed >= 0.7 * n_pods


def test_the_same_market_gives_the_same_nodes() -> None:
    """To the last byte; with the plain twins too."""
    first, second = dived(4)[0], dived(4)[0]
    with loading.plain():
        third = dived(4)[0]
    assert [one.tolist() for one in first] == [one.tolist() for one in second]
    assert [one.tolist() for one in first] == [one.tolist() for one in third]
