"""Which nodes are launched for pods that wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from dovetail.decide import decide
from dovetail.model.ledger import Ledger, Refusal
from dovetail.model.plan import DisruptionReason
from dovetail.model.policy import Policy
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = (instance_type("small", cpu=2, price=0.1), instance_type("large", cpu=8, price=0.4))


def test_no_node_gets_the_name_of_another() -> None:
    """Names are counted, and somebody may have used the next one already."""
    there = snapshot(
        nodes=[node("default-1-1", pool="default", type="small", types=TYPES)],
        node_pools=[node_pool()],
        types=TYPES,
        pods=[pod("p", node="default-1-1", cpu=2), pod("q", cpu=2)],
    )
    assert [one.name for one in decide(there, NOW).launches] == ["default-1-2"]


def test_no_replacement_gets_the_name_of_another() -> None:
    """Not that of the very node it replaces either."""
    there = snapshot(
        nodes=[
            node("default-1-1", pool="default", type="large", types=TYPES, is_consolidatable=True)
        ],
        node_pools=[node_pool()],
        types=TYPES,
        pods=[pod("p", node="default-1-1", cpu=2), pod("q", cpu=2, node_selector={"zone": "b"})],
    )
    policy = Policy(disrupts_for=tuple(DisruptionReason), confirm_after=timedelta(0))
    plan = decide(msgspec.structs.replace(there, policy=policy), NOW)
    assert [one.name for one in plan.launches] == ["default-1-2"]
    assert [new.name for one in plan.disruptions for new in one.replacements] == ["default-1-3"]


def test_what_one_pool_could_not_have_another_may() -> None:
    """A refusal that names a pool is that pool's alone."""
    pools = [node_pool("first", weight=10), node_pool("second")]
    there = snapshot([pod("p", cpu=1)], node_pools=pools, types=TYPES)
    until = NOW + timedelta(minutes=1)
    refusals = tuple(
        Refusal(one.name, at.zone, at.capacity_type, until, "first")
        for one in TYPES
        for at in one.offerings
    )
    for held, want in ((refusals, "second"), ((), "first")):
        cluster = msgspec.structs.replace(there, ledger=Ledger(refusals=held))
        assert [one.node_pool for one in decide(cluster, NOW).launches] == [want]
