"""disrupt — which nodes may be taken away by choice, and when? (spec/core.md 6)

    candidates   what keeps a node from being disrupted at all
    blockers     the same in words
    budgets      how many nodes of a pool may go at once
    emptiness    nodes that nobody needs

Each method looks at the snapshot and at what the same plan has already decided, and returns its
`Findings`. Waiting is data: a node that could go is a proposal in the ledger, and goes once that
has stood for long enough.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from dovetail.decide.disrupt.candidates import scene_of
from dovetail.decide.disrupt.emptiness import emptiness
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot

__all__ = ["disrupt"]


def disrupt(snapshot: Snapshot, plan: Plan, now: datetime) -> Plan:
    """The plan for waiting pods, and with it what may go meanwhile."""
    found = emptiness(scene_of(snapshot, plan, now))
    saved = sum(one.saving_nanousd for one in found.disruptions)
    after = plan.cost.cluster_after_nanousd - saved
    return msgspec.structs.replace(
        plan,
        disruptions=found.disruptions,
        proposals=found.proposals,
        blocked=found.blocked,
        cost=msgspec.structs.replace(plan.cost, cluster_after_nanousd=after),
        wake_at=found.wake_at,
    )
