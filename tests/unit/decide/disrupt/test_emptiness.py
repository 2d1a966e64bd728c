"""What the scenarios in scenarios/disruption do not show: order, memory and figures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from dovetail.decide import decide
from dovetail.model.ledger import Ledger, Proposal
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocker
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TYPES = (instance_type("cheap", price=0.1), instance_type("dear", price=0.5))


def cluster(*names: str, budget: str = "100%", **fields: object) -> Snapshot:
    """Empty nodes called after their type and a number."""
    nodes = [
        node(name, pool="default", type=name[:-1], types=TYPES, is_consolidatable=True)
        for name in names
    ]
    pools = [node_pool(budgets=[{"nodes": budget}])]
    made = snapshot(nodes=nodes, node_pools=pools, types=TYPES)
    return msgspec.structs.replace(made, **fields)


def proposed(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The same cluster once the plan's proposals are written down."""
    ledger = msgspec.structs.replace(snapshot.ledger, proposals=plan.proposals)
    return msgspec.structs.replace(snapshot, ledger=ledger)


def going(plan: Plan) -> list[str]:
    """The nodes that go."""
    return [name for one in plan.disruptions for name in one.nodes]


def test_what_saves_most_goes_first() -> None:
    """Names decide between equals."""
    ledger = Ledger(
        proposals=tuple(
            Proposal("Empty", name, NOW - 15 * SECOND) for name in ("cheap1", "dear1", "dear2")
        )
    )
    there = cluster("dear2", "cheap1", "dear1", budget="2", ledger=ledger)
    plan = decide(there, NOW)
    assert going(plan) == ["dear1", "dear2"]
    assert plan.cost.cluster_before_nanousd == 1_100_000_000
    assert plan.disruptions[0].saving_nanousd == 1_000_000_000
    assert plan.cost.cluster_after_nanousd == 100_000_000


def test_a_node_that_is_confirmed_does_not_wait_for_one_that_is_dearer() -> None:
    """Whoever has stood for long enough goes, if the budget lets it."""
    ledger = Ledger(proposals=(Proposal("Empty", "cheap1", NOW - 15 * SECOND),))
    plan = decide(cluster("cheap1", "dear1", budget="1", ledger=ledger), NOW)
    assert going(plan) == ["cheap1"]
    assert [(one.node, one.since) for one in plan.proposals] == [
        ("cheap1", NOW - 15 * SECOND),
        ("dear1", NOW),
    ]


def test_a_proposal_for_another_reason_confirms_nothing() -> None:
    """Each reason is waited for by itself."""
    ledger = Ledger(proposals=(Proposal("Underutilized", "cheap1", NOW - 60 * SECOND),))
    assert going(decide(cluster("cheap1", ledger=ledger), NOW)) == []


def test_a_clock_that_was_set_back_makes_nobody_wait_longer_than_once() -> None:
    """A proposal from the future counts from now."""
    ledger = Ledger(proposals=(Proposal("Empty", "cheap1", NOW + 3600 * SECOND),))
    plan = decide(cluster("cheap1", ledger=ledger), NOW)
    assert [one.since for one in plan.proposals] == [NOW]
    assert plan.wake_at == NOW + 15 * SECOND


def test_a_node_that_was_not_empty_meanwhile_waits_anew() -> None:
    """A proposal that a plan does not make again is over."""
    there = cluster("cheap1")
    there = proposed(there, decide(there, NOW))
    busy = msgspec.structs.replace(there, pods=(pod("web", node="cheap1"),))
    again = msgspec.structs.replace(proposed(busy, decide(busy, NOW)), pods=())
    late = NOW + 20 * SECOND
    assert going(decide(proposed(there, decide(there, late)), late)) == ["cheap1"]
    assert going(decide(again, late)) == []
    assert decide(again, late).wake_at == late + 15 * SECOND


def test_a_node_goes_on_being_named_until_somebody_begins() -> None:
    """Asking twice gives the same plan."""
    there = cluster("cheap1")
    there = proposed(there, decide(there, NOW))
    late = NOW + 15 * SECOND
    plan = decide(there, late)
    assert going(plan) == ["cheap1"]
    assert decide(proposed(there, plan), late) == plan


def test_an_empty_node_of_a_pool_that_never_consolidates_is_told_of() -> None:
    """Though nobody says of it that it is quiet: in such a pool no claim ever says so."""
    never = node_pool("never", consolidate_after="Never")
    soon = node_pool("soon", consolidate_after="30s")
    nodes = tuple(node(f"of-{one.name}", pool=one.name, type="small") for one in (never, soon))
    cluster = snapshot(nodes=nodes, node_pools=(never, soon))
    found = decide(cluster, NOW)
    assert [(one.node, one.reason) for one in found.blocked] == [("of-never", Blocker.NEVER)]
    busy = snapshot((pod("p", node="of-never"),), nodes=nodes, node_pools=(never, soon))
    assert decide(busy, NOW).blocked == ()
