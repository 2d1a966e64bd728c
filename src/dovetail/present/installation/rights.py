"""What may the controller do in a cluster? What its parts need, named one by one, and no more.

It never replaces an object whole, so nowhere is `update` asked for; `finalizers` is a right in
name only, which the owner of an object needs where OwnerReferencesPermissionEnforcement is on.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail.api.decoding import Tree

LEASE: Final = "karpenter-leader-election"
_READ: Final = ("get", "list", "watch")
_EDIT: Final = (*_READ, "create", "update", "patch", "delete")
_OURS: Final = "karpenter.sh"
_KWOK: Final = "karpenter.kwok.sh"
_BUFFERS: Final = "autoscaling.x-k8s.io"


class Rule(msgspec.Struct, frozen=True):
    """What may be done with which resources of a group; with `names`, only to those objects."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def tree(self) -> Tree:
        """As a role says it."""
        named: dict[str, Tree] = {"resourceNames": list(self.names)} if self.names else {}
        return {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            **named,
            "verbs": list(self.verbs),
        }


# What decisions are made from.
READING: Final = (
    Rule(_OURS, ("nodepools", "nodeclaims", "nodeoverlays"), _READ),
    Rule(_BUFFERS, ("capacitybuffers",), _READ),
    Rule(
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
    Rule("apps", ("daemonsets", "deployments", "replicasets", "statefulsets"), _READ),
    Rule("storage.k8s.io", ("csinodes", "storageclasses", "volumeattachments"), _READ),
    Rule("policy", ("poddisruptionbudgets",), _READ),
    Rule("scheduling.k8s.io", ("priorityclasses",), _READ),
    Rule("node.k8s.io", ("runtimeclasses",), _READ),
)

CORE: Final = (
    *READING,
    # Claims are made, followed and ended.
    Rule(_OURS, ("nodeclaims",), ("create", "patch", "delete")),
    Rule(_OURS, ("nodepools",), ("patch",)),
    Rule(_OURS, ("nodeclaims/status", "nodepools/status", "nodeoverlays/status"), ("patch",)),
    Rule(_BUFFERS, ("capacitybuffers/status",), ("patch",)),
    Rule(_OURS, ("nodeclaims/finalizers", "nodepools/finalizers"), ("update",)),
    # Nodes are labelled and tainted, drained and removed.
    Rule("", ("nodes",), ("patch", "delete")),
    Rule("", ("pods/eviction",), ("create",)),
    Rule("", ("pods",), ("delete",)),
    # Planned pods are steered to their node (status.nominatedNodeName), and those of nodes that
    # are to empty may go first.
    Rule("", ("pods/status",), ("patch",)),
    # What happened is told.
    Rule("", ("events",), ("create",)),
)

MEMORY: Final = "dovetail-evictions"

HOME: Final = (
    # The lease for which the replicas compete.
    Rule("coordination.k8s.io", ("leases",), ("create",)),
    Rule("coordination.k8s.io", ("leases",), ("get", "patch"), (LEASE,)),
    # How often pods were evicted, which outlives them.
    Rule("", ("configmaps",), ("create",)),
    Rule("", ("configmaps",), ("get", "patch"), (MEMORY,)),
)

ADMIN: Final = (
    Rule(
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
    Rule(_KWOK, ("kwoknodeclasses", "kwoknodeclasses/status"), _EDIT),
)


def kwok(*, kubelets: bool) -> tuple[Rule, ...]:
    """What pretending machines takes: a Node for each, and with stand-ins also its status."""
    rules = (
        Rule(_KWOK, ("kwoknodeclasses",), _READ),
        Rule(_KWOK, ("kwoknodeclasses/status",), ("patch",)),
        Rule("", ("nodes",), ("create",)),
    )
    return (*rules, Rule("", ("nodes/status",), ("patch",))) if kubelets else rules


def kwok_shadow() -> tuple[Rule, ...]:
    """What looking at pools of pretended machines takes."""
    return (Rule(_KWOK, ("kwoknodeclasses",), _READ),)


def node_leases(*, kubelets: bool) -> tuple[Rule, ...]:
    """Leases of nodes that are gone are removed; stand-ins renew those of their nodes."""
    verbs = (*_READ, "delete", *(("create", "patch") if kubelets else ()))
    return (Rule("coordination.k8s.io", ("leases",), verbs),)
