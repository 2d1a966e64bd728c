from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.solve.patterns.uniform import least_prices, pods_per_node, uniform_nodes
from dovetail.testing.builders import deployment, instance_type, pod
from tests.unit.solve.patterns.instances import market_for
from tests.unit.solve.puzzles import encoded

NODES = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 40)), min_size=1, max_size=4)


def cheapest(nodes: list[tuple[int, int]], count: int) -> tuple[int, int]:
    """The least price of nodes that hold so many, and the fewest nodes for it: all are tried."""
    if count <= 0:
        return (0, 0)
    ways = [(cheapest(nodes, count - held), price) for held, price in nodes]
    return min((before[0] + price, before[1] + 1) for before, price in ways)


@given(NODES, st.integers(1, 7))
def test_the_least_price_is_found_for_every_count(nodes: list[tuple[int, int]], most: int) -> None:
    """And among equal prices the fewest nodes."""
    holds, prices = (np.array(column, dtype=np.int64) for column in zip(*nodes, strict=True))
    best, choice = least_prices(holds, prices, most)
    for count in range(1, most + 1):
        left, n_nodes = count, 0
        while left > 0:
            left -= int(holds[choice[left]])
            n_nodes += 1
        assert (int(best[count]), n_nodes) == cheapest(nodes, count)


def test_nodes_hold_all_pods() -> None:
    """Seven pods of 1 CPU: one node of 4 for 0.3 and three CPU for 0.1 each."""
    kinds = [
        instance_type("s", cpu=1, price=0.1, zones=("a",)),
        instance_type("l", cpu=4, price=0.3, zones=("a",)),
    ]
    market = market_for(encoded(deployment(7, cpu=1), *kinds))
    assert sorted(uniform_nodes(market) or []) == [3, 4]


def test_fewer_nodes_are_preferred_at_equal_price() -> None:
    """One node of 4 CPU for 0.4 rather than four of 1 for 0.1."""
    kinds = [
        instance_type("s", cpu=1, price=0.1, zones=("a",)),
        instance_type("l", cpu=4, price=0.4, zones=("a",)),
    ]
    market = market_for(encoded(deployment(4, cpu=1), *kinds))
    assert uniform_nodes(market) == [4]


def test_pods_that_stand_alone_get_a_node_each() -> None:
    """Anti-affinity to its own kind caps what a node holds."""
    pods = deployment(3, cpu=1, anti_affinity=[{"topology_key": "hostname"}])
    market = market_for(encoded(pods, instance_type("l", cpu=4, price=0.4, zones=("a",))))
    assert pods_per_node(market)[0].tolist() == [1]
    assert uniform_nodes(market) == [1, 1, 1]


def test_several_sorts_are_none_of_its_business() -> None:
    """Nor are pods that no node takes."""
    assert uniform_nodes(market_for(encoded([pod("a", cpu=1), pod("b", cpu=2)]))) is None
    enc = encoded([pod("a", cpu=1)])
    assert uniform_nodes(market_for(enc, np.zeros(0, dtype=np.int64))) is None


def test_prices_of_2_to_the_50_do_not_overflow() -> None:
    """A thousand nodes of a million dollars an hour."""
    best, _ = least_prices(np.array([1]), np.array([2**50]), 1000)
    assert int(best[1000]) == 1000 * 2**50
