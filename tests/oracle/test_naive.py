"""The checker accepts a legal plan on any generated cluster, and notices when one is spoiled."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.model.plan import Plan
from tests.laws.strategies import NOW, TINY, seeded
from tests.oracle.check import placing
from tests.oracle.naive import naive
from tests.oracle.optimum import optimum

SEEDS = range(120)


@pytest.mark.parametrize("start", range(0, 120, 30))
def test_nothing_is_wrong_with_a_naive_plan(start: int) -> None:
    """Buying a node whenever none fits is dear but legal, whatever the cluster contains."""
    for seed in range(start, start + 30):
        snapshot = seeded(seed)
        assert placing(snapshot, NOW, naive(snapshot, NOW)) == [], f"seed {seed}"


def spoiled(plan: Plan) -> Plan:
    """The same plan with the first launch squeezed onto the second's node."""
    first, second, *rest = plan.launches
    joined = msgspec.structs.replace(second, pods=(*second.pods, *first.pods))
    return msgspec.structs.replace(plan, launches=(joined, *rest))


def test_a_spoiled_plan_is_noticed() -> None:
    """Moving pods without asking anybody breaks something in every plan."""
    n_spoiled = 0
    for seed in SEEDS:
        snapshot = seeded(seed)
        plan = naive(snapshot, NOW)
        if len(plan.launches) < 2:
            continue
        n_spoiled += 1
        assert placing(snapshot, NOW, spoiled(plan)) != [], f"seed {seed}"
    assert n_spoiled > 20


def test_a_forgotten_pod_is_noticed() -> None:
    """A pod that could have had a node but is said to wait is always found."""
    n_forgotten = 0
    for seed in SEEDS:
        snapshot = seeded(seed)
        plan = naive(snapshot, NOW)
        if not plan.launches:
            continue
        n_forgotten += 1
        *kept, dropped = plan.launches
        orders = tuple(key for key in plan.binding_order if key not in dropped.pods)
        short = msgspec.structs.replace(plan, launches=tuple(kept), binding_order=orders)
        assert placing(snapshot, NOW, short) != [], f"seed {seed}"
    assert n_forgotten > 40


def test_no_plan_is_cheaper_than_the_optimum() -> None:
    """Trying everything costs no more than thoughtless buying, and sometimes less."""
    n_cheaper = 0
    for seed in range(60):
        snapshot = seeded(seed, TINY)
        plan = naive(snapshot, NOW)
        placed = [pod for pod in snapshot.pods if pod.key in set(plan.binding_order)]
        least = optimum(snapshot, NOW, placed)
        assert least is not None, f"seed {seed}"
        assert least <= plan.cost.new_nanousd, f"seed {seed}"
        n_cheaper += least < plan.cost.new_nanousd
    assert n_cheaper > 1
