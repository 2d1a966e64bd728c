"""Puts reasons into words: one general sentence, one template and one short clause each.

The general sentence stands alone (documentation, `dovetail explain`). The template is filled in
with the facts of one pod and one pool. The clause goes into lists: "two pools: limits reached".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.model.verdict import Reason


class Wording(msgspec.Struct, frozen=True, gc=False):
    """A reason in words."""

    general: str
    template: str
    clause: str


WORDINGS: Final[Mapping[Reason, Wording]] = {
    Reason.INVALID_POD: Wording(
        "The pod's own specification is not valid, so nothing can be planned for it.",
        "The pod is not valid: {why}.",
        "invalid pod",
    ),
    Reason.SCHEDULING_GATED: Wording(
        "The pod has scheduling gates, so kube-scheduler does not look at it yet.",
        "The pod has scheduling gates; kube-scheduler does not look at it until they are removed.",
        "scheduling gates",
    ),
    Reason.OTHER_SCHEDULER: Wording(
        "The pod names another scheduler than the default one, whose rules are not known here.",
        "The pod asks for scheduler {scheduler}, whose rules are not known here.",
        "another scheduler",
    ),
    Reason.DYNAMIC_RESOURCES: Wording(
        "The pod uses resource claims (dynamic resource allocation), which are not planned for.",
        "The pod uses resource claims (dynamic resource allocation), which are not planned for.",
        "resource claims",
    ),
    Reason.PRIORITY_CLASS_NOT_FOUND: Wording(
        "The pod names a PriorityClass that does not exist.",
        "PriorityClass {priority_class} does not exist.",
        "missing PriorityClass",
    ),
    Reason.CLAIM_NOT_FOUND: Wording(
        "The pod uses a PersistentVolumeClaim that does not exist.",
        "PersistentVolumeClaim {claim} does not exist.",
        "missing PersistentVolumeClaim",
    ),
    Reason.CLAIM_UNUSABLE: Wording(
        "The pod uses a PersistentVolumeClaim that cannot be mounted now.",
        "PersistentVolumeClaim {claim} {what}.",
        "unusable PersistentVolumeClaim",
    ),
    Reason.VOLUME_NOT_FOUND: Wording(
        "A claim of the pod is bound to a PersistentVolume that does not exist.",
        "PersistentVolume {volume} does not exist, though claim {claim} is bound to it.",
        "missing PersistentVolume",
    ),
    Reason.STORAGE_CLASS_NOT_FOUND: Wording(
        "A claim of the pod names a StorageClass that does not exist.",
        "StorageClass {storage_class} of claim {claim} does not exist.",
        "missing StorageClass",
    ),
    Reason.VOLUME_UNBOUND_IMMEDIATE: Wording(
        "A claim of the pod is bound at once by its class, and has no volume yet.",
        "Claim {claim} has no volume yet, and StorageClass {storage_class} binds immediately.",
        "volume not bound yet",
    ),
    Reason.REFUSES_NODE_POOLS: Wording(
        "The pod refuses every node of a NodePool, and no other node can take it.",
        "The pod asks for karpenter.sh/nodepool DoesNotExist, so no NodePool may serve it.",
        "NodePools refused by the pod",
    ),
    Reason.NO_NODE_POOLS: Wording(
        "There is no NodePool, and no existing node can take the pod.",
        "There is no NodePool, and no existing node can take the pod.",
        "no NodePool",
    ),
    Reason.NODE_POOL_NOT_READY: Wording(
        "The NodePool is not ready, is being deleted, or breaks a validation rule.",
        "The NodePool cannot be used: {why}.",
        "not ready",
    ),
    Reason.NODE_POOL_STATIC: Wording(
        "The NodePool is static: it keeps a fixed number of nodes and never grows for pods.",
        "The NodePool is static: it keeps {replicas} nodes and never grows for pods.",
        "static",
    ),
    Reason.NO_INSTANCE_TYPES: Wording(
        "No instance type satisfies the NodePool itself, whatever the pod.",
        "The NodePool has no usable instance type: {why}.",
        "no instance type",
    ),
    Reason.TAINT_NOT_TOLERATED: Wording(
        "The NodePool's nodes carry a taint that the pod does not tolerate.",
        "Its nodes are tainted {taints}, which the pod does not tolerate.",
        "taint not tolerated",
    ),
    Reason.NODE_AFFINITY: Wording(
        "No instance type of the NodePool has the labels that the pod asks for.",
        "No instance type satisfies {expression}{offered}.",
        "node selector or affinity",
    ),
    Reason.VOLUME_TOPOLOGY: Wording(
        "No instance type of the NodePool can run where the pod's volumes are.",
        "No instance type satisfies {expression}, which its volumes ask for.",
        "volumes elsewhere",
    ),
    Reason.VOLUME_LIMITS: Wording(
        "No instance type of the NodePool takes as many volumes as the pod has.",
        "The pod has {asked} volumes of {driver}; a node takes at most {largest}.",
        "too many volumes",
    ),
    Reason.RESOURCES: Wording(
        "No instance type of the NodePool has what the pod requests, daemon sets taken off.",
        "The pod requests {asked}; {largest}.",
        "not enough resources",
    ),
    Reason.NO_OFFERING: Wording(
        "No instance type that would do is on offer in a zone and capacity type that would do.",
        "None of the types that would do is on offer{where}.",
        "nothing on offer",
    ),
    Reason.HOST_PORTS: Wording(
        "A daemon set takes the host port that the pod needs.",
        "Host port {port} is taken by DaemonSet {daemon_set} on every type that would do.",
        "host port taken",
    ),
    Reason.POD_AFFINITY: Wording(
        "No node can be near the pods that the pod must be near.",
        "A node would do, but not near the pods that it must share {key} with: {selector}.",
        "pod affinity",
    ),
    Reason.POD_ANTI_AFFINITY: Wording(
        "Wherever a node could be, a pod is that the pod must be away from, or that must be "
        "away from it.",
        "A node would do, but wherever one could be, {selector} must not share {key} with it.",
        "pod anti-affinity",
    ),
    Reason.TOPOLOGY_SPREAD: Wording(
        "Wherever a node could be, the pod would break a topology spread constraint.",
        "A node would do, but not within a skew of {max_skew} over {key}.",
        "topology spread",
    ),
    Reason.MIN_VALUES: Wording(
        "Too few kinds of instance would do to satisfy the NodePool's minValues.",
        "The types that would do have {found} values of {key}; minValues asks for {asked}.",
        "minValues",
    ),
    Reason.LIMITS: Wording(
        "The NodePool's limits leave no room for a node that would hold the pod.",
        "Its limits leave {remaining}, and the smallest node that would do needs {needed}.",
        "limits reached",
    ),
    Reason.RESERVATIONS: Wording(
        "Only reserved capacity would do, and all of it is in use.",
        "Only reserved capacity would do, and all of it is in use.",
        "reservations used up",
    ),
}


def say(reason: Reason, **facts: str) -> str:
    """The sentence of a reason with the facts of one case."""
    return WORDINGS[reason].template.format(**facts)


def sentence(reason: str) -> str:
    """The general sentence of a reason; a reason from elsewhere is its own sentence."""
    return WORDINGS[Reason(reason)].general if reason in _KNOWN else reason


def clause(reason: str) -> str:
    """The few words that name a reason in a list."""
    return WORDINGS[Reason(reason)].clause if reason in _KNOWN else reason


_KNOWN: Final = frozenset(str(reason) for reason in Reason)
