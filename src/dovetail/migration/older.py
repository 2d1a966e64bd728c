"""Finds objects of older versions, which Dovetail does not read, and kinds that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail.migration.findings import MigrationFinding, Severity
from dovetail.migration.objects import ClusterObjects

_PROVISIONER_LABEL: Final = "karpenter.sh/provisioner-name"
# Kinds of older versions: a lost setting is an error, a Machine only tracked an instance.
OLDER_KINDS: Final = {
    "Provisioner": (
        Severity.ERROR,
        "dovetail convert writes the NodePool of v1; apply it, then delete this object",
    ),
    "AWSNodeTemplate": (
        Severity.ERROR,
        "dovetail convert writes the node class of v1; apply it, then delete this object",
    ),
    "Machine": (
        Severity.WARNING,
        "replace or adopt its node (docs/convert.md#on-a-cluster), then delete this object",
    ),
}
_VERSIONED: Final = (
    Severity.ERROR,
    "dovetail convert writes it as v1; install the definitions of v1, then apply it",
)


def older_findings(cluster: ClusterObjects) -> Iterator[MigrationFinding]:
    """Older objects, Nodes of Provisioners, and kinds that nobody could read."""
    for item in cluster.older:
        severity, remedy = OLDER_KINDS.get(item.kind, _VERSIONED)
        yield MigrationFinding(
            severity,
            f"{item.kind} {item.metadata.name}",
            "apiVersion",
            f"{item.api_version} means nothing to Dovetail",
            remedy,
        )
    for node in cluster.nodes:
        pool = node.metadata.labels.get(_PROVISIONER_LABEL)
        if pool is not None:
            yield MigrationFinding(
                Severity.WARNING,
                f"Node {node.metadata.name}",
                f"metadata.labels.{_PROVISIONER_LABEL}",
                f"it belongs to Provisioner {pool}; Dovetail does not manage it",
                "replace or adopt it (docs/convert.md#on-a-cluster)",
            )
    for kind, problem in cluster.failures:
        yield MigrationFinding(
            Severity.ERROR,
            kind,
            "",
            f"cannot be read: {problem}",
            "repair it, or delete it; Dovetail reads the same objects",
        )
