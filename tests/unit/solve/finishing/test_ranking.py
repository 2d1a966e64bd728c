from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.finishing.ranking import rank
from dovetail.solve.packing.attempt import PackingResult
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod
from tests.unit.solve.puzzles import empty_attempt, encoded

SMALL = instance_type("small", cpu=2, memory="8Gi", price=0.1, zones=("a",))
LARGE = instance_type("large", cpu=8, memory="32Gi", price=0.35, zones=("a",))
POOLS = (node_pool("light", weight=1), node_pool("middle", weight=5), node_pool("heavy", weight=9))


def planned(
    pods: tuple[Pod, ...],
    nodes: Mapping[tuple[str, str], list[int]],
    waiting: Mapping[int, int] | None = None,
    **parts: object,
) -> PackingResult:
    """New nodes by pool and type, with so many pods of the first group on each."""
    attempt = empty_attempt(encoded(pods, SMALL, LARGE, **parts))
    market = attempt.enc.market
    number = attempt.book.add(0, -1, sum(map(sum, nodes.values())))
    for (pool, kind), counts in nodes.items():
        (offer,) = (
            place
            for place, one in enumerate(market.offers)
            if (market.pools[one.pool].name, market.types[one.type].name) == (pool, kind)
        )
        for count in counts:
            node = np.array([attempt.bins.open(offer, 1).start])
            attempt.bins.put(number, attempt.units[number], node, np.array([count]))
    return PackingResult(attempt, dict(waiting or {}))


def weighed(nodes: Mapping[tuple[str, str], list[int]]) -> PackingResult:
    """The same with pools of three weights."""
    kinds = dict.fromkeys(("light", "middle", "heavy"), (SMALL, LARGE))
    return planned(deployment(4, cpu=1), nodes, node_pools=POOLS, instance_types=kinds)


def test_pods_left_out_come_first_by_priority() -> None:
    """One of high priority weighs more than many of low priority, and both more than any price."""
    pods = (*deployment(2, "low", priority=1), pod("high", priority=9))
    enc = planned(pods, {})[0].enc
    high = int(np.argmax(enc.priority_g))
    free, without_low = planned(pods, {}, {1 - high: 2}), planned(pods, {}, {1 - high: 1})
    without_high = planned(pods, {}, {high: 1})
    dear = planned(pods, {("default", "large"): [1, 1]})
    assert rank(dear) < rank(without_low) < rank(free) < rank(without_high)
    assert rank(without_high)[0] == [1, 0]


def test_pods_in_light_pools_come_before_price() -> None:
    """The lightest first; the heaviest pool counts for nothing."""
    heavy = weighed({("heavy", "large"): [4]})
    middle = weighed({("middle", "small"): [2, 2]})
    light = weighed({("light", "small"): [1], ("heavy", "large"): [3]})
    assert rank(heavy) < rank(middle) < rank(light)
    assert [rank(one)[1] for one in (heavy, middle, light)] == [[0, 0], [0, 4], [1, 0]]


def test_of_plans_that_place_as_many_the_cheaper_is_better() -> None:
    """Two small nodes cost less than one large node."""
    pods = deployment(4, cpu=1)
    small, large = ("default", "small"), ("default", "large")
    assert rank(planned(pods, {small: [2, 2]})) < rank(planned(pods, {large: [4]}))


def test_of_plans_that_cost_the_same_the_one_with_fewer_nodes_is_better() -> None:
    """Nodes that cost nothing."""
    pods = deployment(2, cpu=1)
    free = (instance_type("free", cpu=8, memory="32Gi", price=0.0, zones=("a",)),)
    kinds = {"default": free}
    one = planned(pods, {("default", "free"): [2]}, instance_types=kinds)
    two = planned(pods, {("default", "free"): [1, 1]}, instance_types=kinds)
    assert rank(one) < rank(two)
    assert [rank(one)[3], rank(two)[3]] == [1, 2]


def test_pods_on_existing_nodes_are_in_no_pool_and_cost_nothing() -> None:
    """They are placed, and that is all."""
    kinds = dict.fromkeys(("light", "middle", "heavy"), (SMALL, LARGE))
    there = node("n1", zone="a", cpu=4, memory="16Gi")
    enc = encoded([pod()], node_pools=POOLS, instance_types=kinds, nodes=(there,))
    attempt = empty_attempt(enc)
    number = attempt.book.add(0, -1, 1)
    attempt.bins.put(number, attempt.units[number], np.array([0]), np.array([1]))
    assert rank(PackingResult(attempt, {})) == ([0], [0, 0], 0, 0)


def test_nodes_that_were_closed_do_not_count() -> None:
    """Neither their price nor their number."""
    attempt, _ = outcome = planned(deployment(1), {("default", "small"): [1]})
    dead = attempt.bins.open(0, 1)
    before = rank(outcome)
    attempt.bins.dead[dead] = True
    assert before[3] == 2
    assert rank(outcome)[2:] == (100_000_000, 1)
