"""Finds other controllers that act on the same NodePools: Deployments of Karpenter, and leases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from dovetail.migration.findings import MigrationFinding, Severity
from dovetail.migration.objects import ClusterObjects, ControllerDeployment, ElectionLease
from dovetail.present.installation.choices import NAME, Choices
from dovetail.present.installation.rights import LEASE

_KARPENTER: Final = "karpenter"
_NAME_LABEL: Final = "app.kubernetes.io/name"


def controller_findings(
    cluster: ClusterObjects, choices: Choices, now: datetime
) -> Iterator[MigrationFinding]:
    """Deployments of Karpenter that run, and leases that somebody holds elsewhere.

    In our own namespace both compete for one lease, so only one of them acts.
    """
    running = [item for item in cluster.deployments if _is_karpenter(item) and item.spec.replicas]
    for deployment in running:
        yield _running(deployment, choices)
    places = {deployment.metadata.namespace for deployment in running}
    for lease in cluster.leases:
        if _is_active_elsewhere(lease, choices, now) and lease.metadata.namespace not in places:
            yield _held(lease, choices)


def _is_karpenter(deployment: ControllerDeployment) -> bool:
    name = deployment.metadata.labels.get(_NAME_LABEL, "")
    if name:
        return name == _KARPENTER
    images = (container.image for container in deployment.spec.template.spec.containers)
    return any(f"/{_KARPENTER}/controller" in image for image in images)


def _running(deployment: ControllerDeployment, choices: Choices) -> MigrationFinding:
    meta, n_replicas = deployment.metadata, deployment.spec.replicas
    is_beside = meta.namespace == choices.namespace
    message = (
        "Karpenter runs; it holds the lease until it is scaled to 0"
        if is_beside
        else f"Karpenter runs here, Dovetail in {choices.namespace}: two leases, and both act"
    )
    return MigrationFinding(
        Severity.NOTE if is_beside else Severity.ERROR,
        f"Deployment {meta.namespace}/{meta.name}",
        "spec.replicas",
        f"{n_replicas}: {message}",
        f"kubectl scale deployment {meta.name} -n {meta.namespace} --replicas 0"
        + ("" if is_beside else f", or install with --namespace {meta.namespace}"),
    )


def _is_active_elsewhere(lease: ElectionLease, choices: Choices, now: datetime) -> bool:
    spec = lease.spec
    if lease.metadata.name != LEASE or lease.metadata.namespace == choices.namespace:
        return False
    if not spec.holder_identity or spec.renew_time is None:
        return False
    return now <= spec.renew_time + timedelta(seconds=spec.lease_duration_seconds)


def _held(lease: ElectionLease, choices: Choices) -> MigrationFinding:
    namespace, holder = lease.metadata.namespace, lease.spec.holder_identity
    return MigrationFinding(
        Severity.ERROR,
        f"Lease {namespace}/{lease.metadata.name}",
        "spec.holderIdentity",
        f"{holder} holds it and renews it: a controller acts on the same NodePools, and "
        f"{NAME} in {choices.namespace} would not wait for it",
        f"stop the controller {holder}, or install with --namespace {namespace}",
    )
