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
        "The pod has scheduling gates, so kube-scheduler does not consider it yet.",
        "The pod has scheduling gates; kube-scheduler ignores it until they are removed.",
        "scheduling gates",
    ),
    Reason.OTHER_SCHEDULER: Wording(
        "The pod names a scheduler whose rules are unknown to Dovetail.",
        "The pod uses scheduler {scheduler}, whose rules are unknown to Dovetail.",
        "another scheduler",
    ),
    Reason.DYNAMIC_RESOURCES: Wording(
        "The pod uses resource claims (dynamic resource allocation), which are not supported.",
        "The pod uses resource claims (dynamic resource allocation), which are not supported.",
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
        "A claim of the pod has no volume yet, and its StorageClass binds immediately.",
        "Claim {claim} has no volume yet, and StorageClass {storage_class} binds immediately.",
        "volume not bound yet",
    ),
    Reason.REFUSES_NODE_POOLS: Wording(
        "The pod excludes every node of a NodePool, and no other node can run it.",
        "The pod requires karpenter.sh/nodepool DoesNotExist, so no NodePool can be used.",
        "NodePools excluded by the pod",
    ),
    Reason.NO_NODE_POOLS: Wording(
        "There is no NodePool, and no existing node can run the pod.",
        "There is no NodePool, and no existing node can run the pod.",
        "no NodePool",
    ),
    Reason.NODE_POOL_NOT_READY: Wording(
        "The NodePool is not ready, is being deleted, or breaks a validation rule.",
        "The NodePool cannot be used: {why}.",
        "not ready",
    ),
    Reason.NODE_POOL_STATIC: Wording(
        "The NodePool is static: it keeps a fixed number of nodes and does not scale for pods.",
        "The NodePool is static: it keeps {replicas} nodes and does not scale for pods.",
        "static",
    ),
    Reason.NO_INSTANCE_TYPES: Wording(
        "No instance type satisfies the requirements of the NodePool itself.",
        "The NodePool has no usable instance type: {why}.",
        "no instance type",
    ),
    Reason.TAINT_NOT_TOLERATED: Wording(
        "The NodePool's nodes carry a taint that the pod does not tolerate.",
        "Its nodes are tainted {taints}, which the pod does not tolerate.",
        "taint not tolerated",
    ),
    Reason.NODE_AFFINITY: Wording(
        "No instance type of the NodePool has the labels that the pod requires.",
        "No instance type satisfies {expression}{offered}.",
        "node selector or affinity",
    ),
    Reason.VOLUME_TOPOLOGY: Wording(
        "No instance type of the NodePool is available where the pod's volumes are.",
        "No instance type satisfies {expression}, which its volumes require.",
        "volumes elsewhere",
    ),
    Reason.VOLUME_LIMITS: Wording(
        "No instance type of the NodePool can attach as many volumes as the pod has.",
        "The pod has {asked} volumes of {driver}; a node can attach at most {largest}.",
        "too many volumes",
    ),
    Reason.RESOURCES: Wording(
        "No instance type of the NodePool has enough allocatable resources for the pod and the "
        "DaemonSets.",
        "The pod requests {asked}; {largest}.",
        "not enough resources",
    ),
    Reason.NO_OFFERING: Wording(
        "No matching instance type is available in a matching zone and capacity type.",
        "None of the matching instance types is available{where}.",
        "no offering available",
    ),
    Reason.HOST_PORTS: Wording(
        "A DaemonSet uses the host port that the pod needs.",
        "Host port {port} is used by DaemonSet {daemon_set} on every matching instance type.",
        "host port in use",
    ),
    Reason.POD_AFFINITY: Wording(
        "No node can satisfy the required pod affinity.",
        "No node can share {key} with the pods of its required affinity: {selector}.",
        "pod affinity",
    ),
    Reason.POD_ANTI_AFFINITY: Wording(
        "No node can satisfy the required pod anti-affinity, of the pod or of other pods.",
        "Every {key} that is available has pods of its required anti-affinity: {selector}.",
        "pod anti-affinity",
    ),
    Reason.TOPOLOGY_SPREAD: Wording(
        "No node can satisfy a topology spread constraint of the pod.",
        "No node can satisfy the spread over {key} with maxSkew {max_skew}.",
        "topology spread",
    ),
    Reason.MIN_VALUES: Wording(
        "Too few instance types match to satisfy minValues of the NodePool.",
        "The matching instance types have {found} values of {key}; minValues is {asked}.",
        "minValues",
    ),
    Reason.LIMITS: Wording(
        "The limits of the NodePool leave no room for a node that fits the pod.",
        "Its limits leave {remaining}, and the smallest matching node needs {needed}.",
        "limits reached",
    ),
    Reason.RESERVATIONS: Wording(
        "Only reserved capacity matches, and all of it is in use.",
        "Only reserved capacity matches, and all of it is in use.",
        "reservations exhausted",
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
