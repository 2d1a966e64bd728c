"""Checks what would happen if Dovetail took over: the objects of a cluster become findings."""

from __future__ import annotations

from datetime import datetime

from dovetail.migration.claims import claim_findings
from dovetail.migration.controllers import controller_findings
from dovetail.migration.definitions import definition_findings
from dovetail.migration.findings import MigrationFinding, in_order
from dovetail.migration.objects import ClusterObjects
from dovetail.migration.older import older_findings
from dovetail.migration.permissions import permission_findings
from dovetail.migration.pools import pool_findings
from dovetail.migration.webhooks import webhook_findings
from dovetail.present.installation.choices import Choices


def check(cluster: ClusterObjects, choices: Choices, now: datetime) -> tuple[MigrationFinding, ...]:
    """Everything that would go wrong or change, the worst first."""
    return in_order(
        (
            *permission_findings(cluster, choices),
            *definition_findings(cluster, choices),
            *webhook_findings(cluster, choices),
            *controller_findings(cluster, choices, now),
            *older_findings(cluster),
            *pool_findings(cluster, choices),
            *claim_findings(cluster, now),
        )
    )
