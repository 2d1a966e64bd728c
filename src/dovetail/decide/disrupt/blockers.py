"""Words the reason for which a node may not be disrupted, and the smallest change that would allow
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from dovetail.model.verdict import Blocked, Blocker

SENTENCES: Final[Mapping[Blocker, str]] = {
    Blocker.DISRUPTING: "It is already being disrupted, for reason {cause}.",
    Blocker.NO_NODE_CLAIM: "It has no NodeClaim, so Dovetail does not manage it.",
    Blocker.NOT_INITIALIZED: "It is not initialized yet.",
    Blocker.LEAVING: "It is already being deleted.",
    Blocker.NOMINATED: "Pods are about to be bound to it.",
    Blocker.NODE_PROTECTED: "Its annotation {annotation} blocks disruption.",
    Blocker.NO_NODE_POOL: "NodePool {pool} does not exist, so its disruption rules are unknown.",
    Blocker.NODE_POOL_INVALID: "NodePool {pool} is not valid: {why}.",
    Blocker.NO_INSTANCE_TYPES: "The instance types of NodePool {pool} are unknown.",
    Blocker.STATIC: "NodePool {pool} is static: it keeps {replicas} replicas.",
    Blocker.POD_PROTECTED: "The annotation {annotation} on pod {pod} blocks disruption.",
    Blocker.POD_DISRUPTION_BUDGET: (
        "PodDisruptionBudget {budget} does not allow pod {pod} to be evicted now."
    ),
    Blocker.BUDGET_NEVER_ALLOWS: (
        "PodDisruptionBudget {budget} never allows pod {pod} to be evicted: {why}."
    ),
    Blocker.SEVERAL_POD_DISRUPTION_BUDGETS: (
        "Several PodDisruptionBudgets select pod {pod}, so it cannot be evicted: {budgets}."
    ),
    Blocker.NEVER: "NodePool {pool} has consolidateAfter Never.",
    Blocker.NOT_QUIET: (
        "Its NodeClaim is not Consolidatable: pods were added or removed recently, and"
        " consolidateAfter of NodePool {pool} is {quiet_for}."
    ),
    Blocker.NODE_POOL_BUDGET: (
        "The budgets of NodePool {pool} allow {allowed} of its {nodes} nodes to be disrupted for"
        " reason {cause}; {disrupting} are unavailable already, {taken} are chosen before it."
    ),
    Blocker.POD_STUCK: "Pod {pod} cannot run on any other node: {why}.",
    Blocker.WHEN_EMPTY: "NodePool {pool} removes only empty nodes (consolidationPolicy WhenEmpty).",
    Blocker.UNPRICED: "Its price is unknown, so no replacement can be shown to be cheaper.",
    Blocker.NOT_WORTH_IT: (
        "Moving its pods saves too little for the disruption that it causes; NodePool {pool} has"
        " consolidationPolicy Balanced."
    ),
    Blocker.SAVES_TOO_LITTLE: (
        "Moving its pods would save at most ${saving} an hour; the disruption is worth it from"
        " ${least} an hour. That amount falls the longer the pods have run."
    ),
    Blocker.ROLLOUT: "{workload}, the owner of pod {pod}, is being rolled out.",
    Blocker.ENDS_SOON: "Pod {pod} will end soon.",
    Blocker.JUST_FILLED: "Pod {pod} has just started on it.",
    Blocker.EVICTED_OFTEN: (
        "Pods of {workload} may be evicted at most {allowed} times a day, which would be exceeded."
    ),
    Blocker.NOTHING_TO_GAIN: "Its pods would not run cheaper elsewhere.",
    Blocker.UNSETTLED: (
        "NodePool {pool} has {nodes} nodes for {replicas} replicas; other nodes are replaced first."
    ),
    Blocker.LIMITS: (
        "Its replacement must start first, and limits.nodes of NodePool {pool} is {limit}."
    ),
    Blocker.NO_OFFERING: "No offering that NodePool {pool} could launch instead is available.",
    Blocker.SETBACK: (
        "The last attempt to remove this node failed; the next attempt is at {again_at}."
    ),
    Blocker.UNCONFIRMED: (
        "It can be removed for reason {cause} if that is still true at {confirmed_at}."
    ),
    Blocker.NOT_WANTED: "The controller does not remove nodes for reason {cause}.",
    Blocker.NOT_LOOKED_AT: "This plan evaluated other nodes; a later plan evaluates this one.",
}

# Where nothing is to be done, or only waiting helps, there is no change to name.
FIXES: Final[Mapping[Blocker, str]] = {
    Blocker.DISRUPTING: "",
    Blocker.NO_NODE_CLAIM: "remove it with the tool that created it",
    Blocker.NOT_INITIALIZED: "wait until it is initialized",
    Blocker.LEAVING: "",
    Blocker.NOMINATED: "wait until those pods run",
    Blocker.NODE_PROTECTED: "remove the annotation {annotation} from Node {node}",
    Blocker.NO_NODE_POOL: "create NodePool {pool}, or delete the NodeClaim by hand",
    Blocker.NODE_POOL_INVALID: "correct NodePool {pool}",
    Blocker.NO_INSTANCE_TYPES: "correct the node class of NodePool {pool}",
    Blocker.STATIC: "lower replicas of NodePool {pool}",
    Blocker.POD_PROTECTED: "remove the annotation {annotation} from pod {pod}",
    Blocker.POD_DISRUPTION_BUDGET: "let PodDisruptionBudget {budget} allow one more disruption",
    Blocker.BUDGET_NEVER_ALLOWS: (
        "let PodDisruptionBudget {budget} allow one unavailable pod, or run more replicas"
    ),
    Blocker.SEVERAL_POD_DISRUPTION_BUDGETS: "let only one of {budgets} select pod {pod}",
    Blocker.NEVER: "give NodePool {pool} a duration as consolidateAfter",
    Blocker.NOT_QUIET: "wait until its NodeClaim is Consolidatable",
    Blocker.NODE_POOL_BUDGET: (
        "let the budgets of NodePool {pool} allow {needed} at once for reason {cause}"
    ),
    Blocker.POD_STUCK: (
        "relax the constraints of pod {pod}, or give a NodePool that fits it more instance types"
        " or higher limits"
    ),
    Blocker.WHEN_EMPTY: ("set consolidationPolicy of NodePool {pool} to WhenEmptyOrUnderutilized"),
    Blocker.UNPRICED: "give its offering a price in the catalogue",
    Blocker.NOT_WORTH_IT: (
        "set consolidationPolicy of NodePool {pool} to WhenEmptyOrUnderutilized"
    ),
    Blocker.SAVES_TOO_LITTLE: "",
    Blocker.ROLLOUT: "",
    Blocker.ENDS_SOON: "",
    Blocker.JUST_FILLED: "",
    Blocker.EVICTED_OFTEN: "raise {annotation} of its NodePool or of its pods",
    Blocker.NOTHING_TO_GAIN: "",
    Blocker.UNSETTLED: "wait until NodePool {pool} has {replicas} nodes",
    Blocker.LIMITS: "raise limits.nodes of NodePool {pool} above {limit}",
    Blocker.NO_OFFERING: (
        "let NodePool {pool} use instance types, zones or capacity types that are available"
    ),
    Blocker.UNCONFIRMED: "",
    Blocker.NOT_WANTED: "",
    Blocker.NOT_LOOKED_AT: "",
    Blocker.SETBACK: "see why its replacement did not start",
}


def block(
    node: str, reason: Blocker, *, until: datetime | None = None, **facts: str | int
) -> Blocked:
    """A node that may not go, why, and what would let it."""
    fix = FIXES.get(reason, "").format(node=node, **facts)
    return Blocked(node, reason, SENTENCES[reason].format(**facts), until, fix)
