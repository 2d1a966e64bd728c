"""Finds NodeClaims and Nodes that Dovetail would replace, launch anew or not manage.

Drift is computed by the steps that the controller takes: the hash of the pool first, then drift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from dovetail import api, labels
from dovetail.decide.lifecycle.conditions import (
    DRIFTED,
    LAUNCHED,
    SetCondition,
    conditions_of_claim,
)
from dovetail.decide.lifecycle.pool import HASH_VERSION, PoolView, hash_step, pool_with
from dovetail.decide.lifecycle.running import NODE_POOL_DRIFTED, DriftView, drift_step
from dovetail.decide.lifecycle.step import claim_after
from dovetail.errors import InputError
from dovetail.migration.findings import MigrationFinding, Severity
from dovetail.migration.objects import ClusterObjects
from dovetail.model.claim import ClaimObject
from dovetail.state.objects import claim_object, pool_view

_POOL_LABEL: Final = f"metadata.labels.{labels.NODE_POOL}"
_HASH: Final = "-hash"
_HASH_VERSION: Final = "-hash-version"


def claim_findings(cluster: ClusterObjects, now: datetime) -> Iterator[MigrationFinding]:
    """NodeClaims that would drift or launch, and Nodes and NodeClaims without a partner."""
    views = {pool.metadata.name: pool_view(pool) for pool in cluster.node_pools}
    claims: list[ClaimObject] = []
    for wire in cluster.node_claims:
        try:
            claims.append(claim_object(wire))
        except InputError as error:
            yield _unreadable(wire, error)
    classes = {(item.kind, item.metadata.name): item for item in cluster.node_classes}
    for claim in claims:
        yield from _drift(claim, views.get(claim.node_pool), claims, now)
        item = classes.get((claim.node_class.kind, claim.node_class.name))
        yield from _node_class_drift(claim, item)
        if "NodePool" not in cluster.hidden and claim.node_pool:
            yield from _without_pool(f"NodeClaim {claim.name}", claim.node_pool, views)
    if "Node" not in cluster.hidden:
        yield from _without_node(cluster, claims, now)
    yield from _nodes(cluster, claims, views)


def _unreadable(wire: api.NodeClaim, error: InputError) -> MigrationFinding:
    return MigrationFinding(
        Severity.ERROR,
        f"NodeClaim {wire.metadata.name}",
        "spec",
        str(error),
        "delete the NodeClaim: its node is drained and replaced",
    )


def _drift(
    claim: ClaimObject, view: PoolView | None, claims: list[ClaimObject], now: datetime
) -> Iterator[MigrationFinding]:
    """As the controller finds it after it has written the hash of the pool."""
    if view is None or view.pool.problems:
        return
    is_marked = conditions_of_claim(claim, now).is_true(DRIFTED)
    step = hash_step(view, claims, now)
    annotations = pool_with(view, step, now).annotations
    known = claim_after(claim, step.claims)
    drift = drift_step(
        DriftView(known, view.pool, annotations, type_seen_at=now),  # types are not read here
        now,
    )
    reasons = [item.reason for item in drift.conditions if isinstance(item, SetCondition)]
    for reason in reasons:
        yield _drifted(claim, view, annotations, reason)
    if is_marked and not reasons:
        yield MigrationFinding(
            Severity.WARNING,
            f"NodeClaim {claim.name}",
            "status.conditions[Drifted]",
            "Karpenter has marked it as drifted; Dovetail asks the provider again, and replaces it "
            "if it still is",
            f'budget "0" in NodePool {claim.node_pool} keeps it until you remove the budget',
        )
    if not reasons:
        yield from _old_hash_version(known, annotations)


def _drifted(
    claim: ClaimObject, view: PoolView, annotations: Mapping[str, str], reason: str
) -> MigrationFinding:
    key = labels.NODE_POOL_HASH
    is_hash = reason == NODE_POOL_DRIFTED
    why = (
        f"{claim.annotations.get(key, 'none')} is not {annotations[key]}, the hash of NodePool "
        f"{view.pool.name}"
        if is_hash
        else f"the node does not satisfy the requirements of NodePool {view.pool.name}"
    )
    return MigrationFinding(
        Severity.WARNING,
        f"NodeClaim {claim.name}",
        f"metadata.annotations.{key}" if is_hash else "metadata.labels",
        f"{why}; it drifts ({reason}) and is replaced",
        f'budget "0" in NodePool {view.pool.name} keeps it until you remove the budget',
    )


def _old_hash_version(
    claim: ClaimObject, annotations: Mapping[str, str]
) -> Iterator[MigrationFinding]:
    key = labels.NODE_POOL_HASH_VERSION
    version = claim.annotations.get(key, "")
    if labels.NODE_POOL_HASH in claim.annotations and version != annotations.get(key):
        yield MigrationFinding(
            Severity.NOTE,
            f"NodeClaim {claim.name}",
            f"metadata.annotations.{key}",
            f"{version or 'none'} is not {HASH_VERSION}: changes of the NodePool are not noticed "
            "as drift",
            "delete the NodeClaim if its node must follow the NodePool",
        )


def _node_class_drift(
    claim: ClaimObject, node_class: api.Object | None
) -> Iterator[MigrationFinding]:
    """By what Karpenter wrote on both; versions that differ are not compared."""
    if node_class is None:
        return
    stated = node_class.metadata.annotations
    for key, value in sorted(stated.items()):
        if not key.endswith(_HASH) or not labels.is_of_provider(key):
            continue
        version = key.removesuffix(_HASH) + _HASH_VERSION
        own = claim.annotations.get(key, "")
        is_comparable = claim.annotations.get(version) == stated.get(version)
        if own and is_comparable and own != value:
            yield MigrationFinding(
                Severity.WARNING,
                f"NodeClaim {claim.name}",
                f"metadata.annotations.{key}",
                f"{own} is not {value}, the hash of {node_class.kind} {node_class.metadata.name}; "
                "it drifts (NodeClassDrift) and is replaced",
                f'budget "0" in NodePool {claim.node_pool} keeps it until you remove the budget',
            )


def _without_pool(
    name: str, pool: str, views: Mapping[str, PoolView]
) -> Iterator[MigrationFinding]:
    if pool not in views:
        yield MigrationFinding(
            Severity.WARNING,
            name,
            _POOL_LABEL,
            f"NodePool {pool} does not exist; the node is never consolidated and never drifts",
            f"create NodePool {pool}, or delete the NodeClaim: its node is drained",
        )


def _without_node(
    cluster: ClusterObjects, claims: list[ClaimObject], now: datetime
) -> Iterator[MigrationFinding]:
    provider_ids = {node.spec.provider_id for node in cluster.nodes}
    for claim in claims:
        if claim.provider_id in provider_ids:
            continue
        is_launched = conditions_of_claim(claim, now).is_true(LAUNCHED)
        yield MigrationFinding(
            Severity.WARNING,
            f"NodeClaim {claim.name}",
            "status.providerID",
            f"no Node has {claim.provider_id}; Dovetail deletes the NodeClaim if the instance is "
            "gone or does not register"
            if is_launched
            else "is not launched; Dovetail launches an instance for it",
            f"kubectl delete nodeclaim {claim.name}, if nobody needs it",
        )


def _nodes(
    cluster: ClusterObjects, claims: list[ClaimObject], views: Mapping[str, PoolView]
) -> Iterator[MigrationFinding]:
    provider_ids = {claim.provider_id for claim in claims}
    for node in cluster.nodes:
        pool = node.metadata.labels.get(labels.NODE_POOL)
        if pool is None:
            continue
        name = f"Node {node.metadata.name}"
        if "NodeClaim" not in cluster.hidden and node.spec.provider_id not in provider_ids:
            yield MigrationFinding(
                Severity.WARNING,
                name,
                "spec.providerID",
                f"no NodeClaim has {node.spec.provider_id or 'it'}; Dovetail does not manage the "
                f"node, though it has the label of NodePool {pool}",
                "adopt it (docs/convert.md#on-a-cluster), or drain it and delete it",
            )
        elif "NodePool" not in cluster.hidden:
            yield from _without_pool(name, pool, views)
