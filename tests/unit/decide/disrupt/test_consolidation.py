"""What the scenarios in scenarios/disruption do not show: several moves, memory, many nodes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from dovetail.decide import decide
from dovetail.model.ledger import Ledger, Proposal
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocker
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TYPES = (instance_type("small", cpu=2, price=0.1), instance_type("large", cpu=8, price=0.4))
POLICY = Policy(disrupts_for=tuple(DisruptionReason), confirm_after=timedelta(0))


def cluster(n_nodes: int, *, budget: str = "100%", **fields: Any) -> Snapshot:
    """So many large nodes, each with one pod that would fit on a small one."""
    names = [f"n{number:03}" for number in range(n_nodes)]
    made = snapshot(
        nodes=[
            node(name, pool="default", type="large", types=TYPES, is_consolidatable=True)
            for name in names
        ],
        node_pools=[node_pool(budgets=[{"nodes": budget}], types=["small", "large"])],
        types=TYPES,
        pods=[
            pod(f"on-{name}", node=name, cpu="1500m", node_selector={"zone": "a"}) for name in names
        ],
    )
    return msgspec.structs.replace(made, **{"policy": POLICY, **fields})


def going(plan: Plan) -> list[str]:
    """The nodes that go."""
    return [name for one in plan.disruptions for name in one.nodes]


def spoken_of(plan: Plan) -> set[str]:
    """The nodes that were looked at."""
    return {one.node for one in plan.proposals} | {one.node for one in plan.blocked}


def test_replacements_of_several_moves_have_names_of_their_own() -> None:
    """They are counted on from what the plan launches anyway."""
    full = [pod(f"x{number}", cpu="6500m", node=f"n{number:03}") for number in range(3)]
    there = cluster(3)
    tight = msgspec.structs.replace(there, pods=(*there.pods, *full))
    waiting = msgspec.structs.replace(tight, pods=(*tight.pods, pod("waits", cpu=8)))
    plan = decide(waiting, NOW)
    names = [one.name for one in plan.launches]
    names += [new.name for one in plan.disruptions for new in one.replacements]
    assert len(names) == len(set(names))


def test_budgets_hold_for_all_moves_together() -> None:
    """What emptiness and drift took is not to be had again."""
    plan = decide(cluster(6, budget="2"), NOW)
    assert len(going(plan)) == 2
    kept = {one.node: one.reason for one in plan.blocked}
    assert set(kept.values()) <= {
        Blocker.NODE_POOL_BUDGET,
        Blocker.NOMINATED,
        Blocker.NOTHING_TO_GAIN,
    }


def test_a_move_waits_for_the_youngest_of_its_nodes() -> None:
    """Every node must have been part of a move for long enough."""
    policy = msgspec.structs.replace(POLICY, confirm_after=15 * SECOND)
    there = cluster(1, policy=policy)
    first = decide(there, NOW)
    assert going(first) == []
    assert first.wake_at == NOW + 15 * SECOND
    ledger = Ledger(proposals=first.proposals)
    later = msgspec.structs.replace(there, ledger=ledger)
    assert going(decide(later, NOW + 14 * SECOND)) == []
    assert going(decide(later, NOW + 15 * SECOND)) == ["n000"]
    other = Ledger(proposals=(Proposal("Empty", "n000", NOW - 60 * SECOND),))
    assert going(decide(msgspec.structs.replace(there, ledger=other), NOW)) == []


def test_a_node_is_part_of_one_move_only() -> None:
    """Confirmed or not: what is proposed could all be done together."""
    policy = msgspec.structs.replace(POLICY, confirm_after=15 * SECOND)
    names = [one.node for one in decide(cluster(4, policy=policy), NOW).proposals]
    assert names
    assert len(names) == len(set(names))


def test_every_candidate_has_its_turn() -> None:
    """Where there are too many to look at all of them at once, the revision says which."""
    policy = msgspec.structs.replace(POLICY, confirm_after=15 * SECOND)
    there = cluster(150, budget="150", policy=policy)
    seen: set[str] = set()
    for revision in (1, 2):
        plan = decide(msgspec.structs.replace(there, revision=revision), NOW)
        seen |= spoken_of(plan)
    assert len(seen) == 150
    known = Ledger(proposals=(Proposal("Underutilized", "n149", NOW - 20 * SECOND),))
    for revision in (1, 2):
        again = decide(msgspec.structs.replace(there, ledger=known, revision=revision), NOW)
        assert "n149" in spoken_of(again)
