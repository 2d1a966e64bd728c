"""How is it said that a node may not go? One sentence for each blocker, filled in with facts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from dovetail.model.verdict import Blocked, Blocker

SENTENCES: Final[Mapping[Blocker, str]] = {
    Blocker.DISRUPTING: "It is being disrupted already, for reason {cause}.",
    Blocker.NO_NODE_CLAIM: "It has no NodeClaim, so it is not ours to take away.",
    Blocker.NOT_INITIALIZED: "It has not started yet.",
    Blocker.LEAVING: "It is being deleted already.",
    Blocker.NOMINATED: "Pods are about to be bound to it.",
    Blocker.NODE_PROTECTED: "Its annotation {annotation} forbids it.",
    Blocker.NO_NODE_POOL: "NodePool {pool} does not exist, so nobody says when it may go.",
    Blocker.NODE_POOL_INVALID: "NodePool {pool} does not say when it may go: {why}.",
    Blocker.NO_INSTANCE_TYPES: "The instance types of NodePool {pool} are not known.",
    Blocker.POD_PROTECTED: "The annotation {annotation} of pod {pod} forbids it.",
    Blocker.DISRUPTION_BUDGET: "PodDisruptionBudget {budget} does not let pod {pod} go.",
    Blocker.DISRUPTION_BUDGETS: (
        "Several PodDisruptionBudgets select pod {pod}, so it cannot be evicted: {budgets}."
    ),
    Blocker.NEVER: "NodePool {pool} has consolidateAfter Never.",
    Blocker.BUDGET: (
        "The budgets of NodePool {pool} allow {allowed} of its {nodes} nodes to be disrupted for"
        " reason {cause}; {disrupting} are not ready or leaving, {taken} are about to go."
    ),
    Blocker.POD_STUCK: "Pod {pod} could not run anywhere else: {why}.",
    Blocker.WHEN_EMPTY: "NodePool {pool} lets nodes go only when they are empty.",
    Blocker.UNPRICED: "Nobody knows what it costs, so nothing can be said to be cheaper.",
    Blocker.NOT_WORTH_IT: (
        "Moving its pods saves too little for what it disturbs; NodePool {pool} is Balanced."
    ),
    Blocker.NOTHING_TO_GAIN: "Its pods would not run cheaper elsewhere.",
    Blocker.UNSETTLED: (
        "NodePool {pool} has {nodes} nodes and wants {replicas}; others are replaced first."
    ),
    Blocker.LIMITS: (
        "Its replacement comes first, and NodePool {pool} may have no more than {limit} nodes."
    ),
    Blocker.NO_OFFERING: "Nothing that NodePool {pool} could launch instead is on offer.",
}


def blocked(
    node: str, reason: Blocker, *, until: datetime | None = None, **facts: str | int
) -> Blocked:
    """A node that may not go, and why."""
    return Blocked(node, reason, SENTENCES[reason].format(**facts), until)
