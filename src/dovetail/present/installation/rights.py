"""What may the controller do in a cluster? What its parts need, named one by one, and no more.

It never replaces an object whole, so nowhere is `update` asked for; `finalizers` is a right in
name only, which the owner of an object needs where OwnerReferencesPermissionEnforcement is on.
"""

from __future__ import annotations

from typing import Final

from dovetail.api.rbac import PolicyRule

LEASE: Final = "karpenter-leader-election"
_READ: Final = ("get", "list", "watch")
_EDIT: Final = (*_READ, "create", "update", "patch", "delete")
_OURS: Final = "karpenter.sh"
_BUFFERS: Final = "autoscaling.x-k8s.io"


# What decisions are made from.
READING: Final = (
    PolicyRule(_OURS, ("nodepools", "nodeclaims", "nodeoverlays"), _READ),
    PolicyRule(_BUFFERS, ("capacitybuffers",), _READ),
    PolicyRule(
        "",
        (
            "limitranges",
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "replicationcontrollers",
            "services",
        ),
        _READ,
    ),
    PolicyRule("apps", ("daemonsets", "deployments", "replicasets", "statefulsets"), _READ),
    PolicyRule("storage.k8s.io", ("csinodes", "storageclasses", "volumeattachments"), _READ),
    PolicyRule("policy", ("poddisruptionbudgets",), _READ),
    PolicyRule("scheduling.k8s.io", ("priorityclasses",), _READ),
    PolicyRule("node.k8s.io", ("runtimeclasses",), _READ),
)

CORE: Final = (
    *READING,
    # Claims are made, followed and ended.
    PolicyRule(_OURS, ("nodeclaims",), ("create", "patch", "delete")),
    PolicyRule(_OURS, ("nodepools",), ("patch",)),
    PolicyRule(_OURS, ("nodeclaims/status", "nodepools/status", "nodeoverlays/status"), ("patch",)),
    PolicyRule(_BUFFERS, ("capacitybuffers/status",), ("patch",)),
    PolicyRule(_OURS, ("nodeclaims/finalizers", "nodepools/finalizers"), ("update",)),
    # Nodes are labelled and tainted, drained and removed.
    PolicyRule("", ("nodes",), ("patch", "delete")),
    PolicyRule("", ("pods/eviction",), ("create",)),
    PolicyRule("", ("pods",), ("delete",)),
    # Planned pods are steered to their node (status.nominatedNodeName), and those of nodes that
    # are to empty may go first.
    PolicyRule("", ("pods/status",), ("patch",)),
    # What happened is told.
    PolicyRule("", ("events",), ("create",)),
)

MEMORY: Final = "dovetail-evictions"

HOME: Final = (
    # The lease for which the replicas compete.
    PolicyRule("coordination.k8s.io", ("leases",), ("create",)),
    PolicyRule("coordination.k8s.io", ("leases",), ("get", "patch"), (LEASE,)),
    # How often pods were evicted, which outlives them.
    PolicyRule("", ("configmaps",), ("create",)),
    PolicyRule("", ("configmaps",), ("get", "patch"), (MEMORY,)),
)

ADMIN: Final = (
    PolicyRule(
        _OURS,
        (
            "nodepools",
            "nodepools/status",
            "nodeclaims",
            "nodeclaims/status",
            "nodeoverlays",
            "nodeoverlays/status",
        ),
        _EDIT,
    ),
)


def node_leases(*, kubelets: bool) -> tuple[PolicyRule, ...]:
    """Leases of nodes that are gone are removed; stand-ins renew those of their nodes."""
    verbs = (*_READ, "delete", *(("create", "patch") if kubelets else ()))
    return (PolicyRule("coordination.k8s.io", ("leases",), verbs),)
