"""Laws of nodes that have a price of their own, over generated clusters."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.solve import Puzzle, solve
from tests.fuzz import tiny
from tests.laws.lively import lively
from tests.laws.strategies import NOW
from tests.oracle.check import check
from tests.oracle.node_prices import counted, extra_by_pool

MILLI = 10**6


def priced(chance: Random, snapshot: Snapshot) -> Snapshot:
    """The same cluster where nodes cost something beside their price, those of some pools more or
    nothing.
    """
    price = chance.choice((1, 10, 25, 50, 100)) * MILLI
    pools = tuple(
        msgspec.structs.replace(pool, node_price_nanousd=chance.choice((0, 2 * price)))
        if chance.randrange(4) == 0
        else pool
        for pool in snapshot.node_pools
    )
    policy = msgspec.structs.replace(snapshot.policy, node_price_nanousd=price)
    return msgspec.structs.replace(snapshot, policy=policy, node_pools=pools)


def whole_price(snapshot: Snapshot, plan: Plan) -> int:
    """What the new nodes of a plan cost in this cluster, node prices counted."""
    extra = extra_by_pool(snapshot)
    return plan.cost.new_nanousd + sum(extra[one.node_pool] for one in plan.launches)


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_plans_are_right_where_nodes_have_a_price(first: int) -> None:
    """Both bounds are proven, moves pay with node prices counted, and money adds up."""
    for seed in range(first, first + 20):
        for cluster in (tiny.built(tiny.words_of(seed)), lively(seed)):
            snapshot = priced(Random(seed), cluster)
            plain = check(cluster, NOW, decide(cluster, NOW))
            broken = check(snapshot, NOW, decide(snapshot, NOW))
            assert broken == [] or plain, f"seed {seed}"


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_a_price_per_node_never_makes_a_plan_dearer_all_counted(first: int) -> None:
    """The plan found without it is a candidate, too."""
    for seed in range(first, first + 50):
        cluster = tiny.built(tiny.words_of(seed))
        snapshot = priced(Random(seed), cluster)
        with_price, without = decide(snapshot, NOW), decide(cluster, NOW)
        assert len(with_price.unschedulable) <= len(without.unschedulable), f"seed {seed}"
        if len({pool.weight for pool in cluster.node_pools}) > 1:
            continue  # weight comes before price
        if len(with_price.unschedulable) == len(without.unschedulable):
            assert whole_price(snapshot, with_price) <= whole_price(snapshot, without), seed


def test_moves_are_what_they_would_be_if_providers_asked_for_node_prices() -> None:
    """Nothing but what is shown tells node prices from prices."""
    for seed in range(60):
        snapshot = priced(Random(seed), lively(seed))
        plan = decide(snapshot, NOW)
        world, _ = counted(snapshot, plan)
        want = [(one.reason, one.nodes, one.pods) for one in decide(world, NOW).disruptions]
        assert [(one.reason, one.nodes, one.pods) for one in plan.disruptions] == want


def test_the_dearest_nodes_do_not_overflow() -> None:
    """A thousand dollars an hour for each of many nodes is still an exact sum."""
    cluster = tiny.built(tiny.words_of(0))
    policy = msgspec.structs.replace(cluster.policy, node_price_nanousd=10**12)
    plan = decide(msgspec.structs.replace(cluster, policy=policy), NOW)
    assert plan.cost.node_price_nanousd == len(plan.launches) * 10**12
    assert 10**12 * 10**6 < 2**63  # so many nodes that no plan has


def test_nothing_to_place_costs_nothing() -> None:
    """An empty puzzle has no bound, with node prices or without."""
    policy = msgspec.structs.replace(tiny.built(tiny.words_of(0)).policy, node_price_nanousd=5)
    assert solve(Puzzle(pods=(), policy=policy)).node_price_nanousd == 0
