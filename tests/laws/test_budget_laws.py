"""The budget law: at no moment more nodes of a pool are away than its budgets allow.

`make fuzz` asks the same of thousands of clusters.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.model.plan import Disrupt, Plan
from dovetail.testing import node, node_pool, snapshot
from tests.laws.lively import lively
from tests.laws.strategies import NOW
from tests.laws.thrift import Thrift, overdrawn

N_CLUSTERS, N_BATCHES = 160, 4


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_budgets_hold_while_much_is_under_way(batch: int) -> None:
    """Counted when anything begins, whatever else goes on; nobody is disturbed who may not be, and
    the checker found nothing in any plan.
    """
    n_begun: Counter[str] = Counter()
    n_under_way = 0
    for seed in range(batch, N_CLUSTERS, N_BATCHES):
        thrift = Thrift(lively(seed), Random(seed))
        assert thrift.complaints() == [], f"seed {seed}"
        n_begun += thrift.n_begun
        n_under_way += thrift.n_under_way
    least = N_CLUSTERS // N_BATCHES // 8  # else it says little
    assert min(n_begun[one] for one in ("Empty", "Drifted", "Underutilized")) >= least, n_begun
    assert n_under_way >= least // 2


def test_one_node_too_many_is_noticed() -> None:
    """Two nodes go at once where budgets allow one."""
    nodes = [node(name, pool="default", is_consolidatable=True) for name in ("a", "b")]
    before = snapshot(nodes=nodes, node_pools=[node_pool(budgets=[{"nodes": "1"}])])
    thrift = Thrift(before, Random(0))
    plan = msgspec.structs.replace(
        decide(before, NOW), disruptions=(Disrupt("Empty", ("a",)), Disrupt("Drifted", ("b",)))
    )
    thrift.bustle.begin(plan)
    assert list(overdrawn(before, thrift.bustle.snapshot, plan, NOW))
    one = Plan(disruptions=plan.disruptions[:1])
    fine = Thrift(before, Random(0))
    fine.bustle.begin(one)
    assert not list(overdrawn(before, fine.bustle.snapshot, one, NOW))
