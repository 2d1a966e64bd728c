"""How is it said that a node may not go, and what would let it? One sentence for each blocker, and
the smallest change that would help, both filled in with facts.
"""

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
    Blocker.STATIC: "NodePool {pool} is static: it has replicas {replicas}, and keeps its nodes.",
    Blocker.POD_PROTECTED: "The annotation {annotation} of pod {pod} forbids it.",
    Blocker.DISRUPTION_BUDGET: "PodDisruptionBudget {budget} does not let pod {pod} go.",
    Blocker.BUDGET_NEVER_ALLOWS: "PodDisruptionBudget {budget} never lets pod {pod} go: {why}.",
    Blocker.DISRUPTION_BUDGETS: (
        "Several PodDisruptionBudgets select pod {pod}, so it cannot be evicted: {budgets}."
    ),
    Blocker.NEVER: "NodePool {pool} has consolidateAfter Never.",
    Blocker.NOT_QUIET: (
        "Its NodeClaim does not say Consolidatable: a pod came or went too lately for NodePool"
        " {pool}, whose consolidateAfter is {quiet_for}."
    ),
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
    Blocker.SAVES_TOO_LITTLE: (
        "Moving its pods would save ${saving} an hour at most, which does not pay for what it"
        " disturbs: it would have to save ${least} by now, and less, the longer they have stood."
    ),
    Blocker.ROLLOUT: "{workload}, of which it runs pod {pod}, is being rolled out.",
    Blocker.ENDS_SOON: "Pod {pod} ends soon by itself.",
    Blocker.JUST_FILLED: "Pod {pod} has just come to it.",
    Blocker.EVICTED_OFTEN: (
        "Pods of {workload} may be evicted {allowed} times a day, and that would be exceeded."
    ),
    Blocker.NOTHING_TO_GAIN: "Its pods would not run cheaper elsewhere.",
    Blocker.UNSETTLED: (
        "NodePool {pool} has {nodes} nodes and wants {replicas}; others are replaced first."
    ),
    Blocker.LIMITS: (
        "Its replacement comes first, and NodePool {pool} may have no more than {limit} nodes."
    ),
    Blocker.NO_OFFERING: "Nothing that NodePool {pool} could launch instead is on offer.",
    Blocker.SETBACK: "Taking it away came to nothing lately; it is tried again at {again_at}.",
    Blocker.UNCONFIRMED: "It could go for reason {cause} if that still holds at {confirmed_at}.",
    Blocker.NOT_WANTED: "Nodes are not taken away for reason {cause}.",
    Blocker.NOT_LOOKED_AT: "This plan looked at other nodes; it has its turn in a later one.",
}

# Where nothing is to be done, or only waiting helps, there is no change to name.
FIXES: Final[Mapping[Blocker, str]] = {
    Blocker.DISRUPTING: "",
    Blocker.NO_NODE_CLAIM: "remove it by the means it was made with",
    Blocker.NOT_INITIALIZED: "wait until it has started",
    Blocker.LEAVING: "",
    Blocker.NOMINATED: "wait until those pods run",
    Blocker.NODE_PROTECTED: "remove the annotation {annotation} from Node {node}",
    Blocker.NO_NODE_POOL: "create NodePool {pool}, or delete the NodeClaim by hand",
    Blocker.NODE_POOL_INVALID: "mend NodePool {pool}",
    Blocker.NO_INSTANCE_TYPES: "mend the node class of NodePool {pool}",
    Blocker.STATIC: "lower replicas of NodePool {pool}",
    Blocker.POD_PROTECTED: "remove the annotation {annotation} from pod {pod}",
    Blocker.DISRUPTION_BUDGET: "let PodDisruptionBudget {budget} allow one more disruption",
    Blocker.BUDGET_NEVER_ALLOWS: (
        "let PodDisruptionBudget {budget} allow one of its pods to be away, or run more of them"
    ),
    Blocker.DISRUPTION_BUDGETS: "let only one of {budgets} select pod {pod}",
    Blocker.NEVER: "give NodePool {pool} a duration as consolidateAfter",
    Blocker.NOT_QUIET: "wait until its NodeClaim says Consolidatable",
    Blocker.BUDGET: (
        "let the budgets of NodePool {pool} allow {needed} at once for reason {cause}"
    ),
    Blocker.POD_STUCK: (
        "give pod {pod} more choice, or a NodePool that fits it more types or higher limits"
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
    Blocker.NO_OFFERING: "let NodePool {pool} use types, zones or capacity types that can be had",
    Blocker.UNCONFIRMED: "",
    Blocker.NOT_WANTED: "",
    Blocker.NOT_LOOKED_AT: "",
    Blocker.SETBACK: "see why its replacement did not come up",
}


def blocked(
    node: str, reason: Blocker, *, until: datetime | None = None, **facts: str | int
) -> Blocked:
    """A node that may not go, why, and what would let it."""
    fix = FIXES.get(reason, "").format(node=node, **facts)
    return Blocked(node, reason, SENTENCES[reason].format(**facts), until, fix)
