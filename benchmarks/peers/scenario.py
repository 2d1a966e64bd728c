"""How does the Go program get to know a cluster? As JSON, in the words of the Kubernetes API.

    well_known_labels   label keys that instance types, pools and pods may use without further ado
    node_pools          NodePools
    catalogues          lists of instance types: requirements, capacity, overhead, offerings
    catalogue_by_pool   which of these lists each pool chooses from, by ordinal
    daemon_sets, namespaces
    nodes, node_claims  what is there already; a claim in flight has no node yet
    pods                all that run or wait

Quantities are text; prices are in dollars an hour. Volumes and reserved capacity have no place in
it: a cluster that has any is refused rather than told half of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from benchmarks import manifests
from benchmarks.manifests import Manifest
from dovetail import labels
from dovetail.decide.nodes import CORDON
from dovetail.model import resources
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot

_NANOUSD: Final = 1e9


def written(snapshot: Snapshot) -> bytes:
    """The cluster, as the Go program reads it."""
    catalogues = {id(types): types for types in snapshot.instance_types.values()}
    ordinals = {identity: ordinal for ordinal, identity in enumerate(catalogues)}
    document: Manifest = {
        "well_known_labels": sorted(
            {*_provided(snapshot), *filter(labels.is_well_known, _asked_for(snapshot))}
        ),
        "node_pools": [manifests.node_pool(one) for one in snapshot.node_pools if _grows(one)],
        "catalogues": [[_instance_type(one) for one in types] for types in catalogues.values()],
        "catalogue_by_pool": {
            pool.name: ordinals[id(snapshot.instance_types[pool.name])]
            for pool in snapshot.node_pools
            if _grows(pool) and pool.name in snapshot.instance_types
        },
        "daemon_sets": [manifests.daemon_set(one) for one in snapshot.daemon_sets],
        "namespaces": [_namespace(*pair) for pair in snapshot.namespaces.items()],
        "nodes": [_node(one) for one in snapshot.nodes if one.is_registered],
        "node_claims": [_node_claim(one) for one in snapshot.nodes if one.node_claim],
        "pods": [_pod(one) for one in snapshot.pods if _takes_room(one)],
    }
    return msgspec.json.encode(document)


def _provided(snapshot: Snapshot) -> Iterator[str]:
    """Every label key that machines have: their provider makes those known to the reference."""
    for types in {id(one): one for one in snapshot.instance_types.values()}.values():
        for kind in types:
            yield from kind.requirements
            for offering in kind.offerings:
                yield from offering.requirements


def _asked_for(snapshot: Snapshot) -> Iterator[str]:
    """Every label key that pools and pods ask for."""
    for pool in snapshot.node_pools:
        yield from (one.key for one in pool.requirements)
    for spec in {id(pod.spec): pod.spec for pod in snapshot.pods}.values():
        yield from spec.node_selector
        yield from (one.key for one in _node_expressions(spec))


def _node_expressions(spec: PodSpec) -> Iterator[Requirement]:
    for term in (*spec.required_terms, *(term for _, term in spec.preferred_terms)):
        yield from term.expressions


def _grows(pool: NodePool) -> bool:
    """Whether pods that wait may be given nodes of it."""
    return pool.is_ready and not pool.is_deleting and pool.replicas is None


def _takes_room(pod: Pod) -> bool:
    """Whether it runs on a node, or waits for one that a node autoscaler should see to."""
    if pod.is_terminal:
        return False
    return bool(pod.node_name) or not (
        pod.is_daemon or pod.is_mirror or pod.spec.is_gated or pod.deleting_at is not None
    )


def _pod(pod: Pod) -> Manifest:
    if pod.claim_names:
        msg = f"pod {pod.key} has volumes, which no scenario can tell of"
        raise ValueError(msg)
    return manifests.pod(pod if pod.uid else msgspec.structs.replace(pod, uid=pod.key))


def _namespace(name: str, labels_by_key: Mapping[str, str]) -> Manifest:
    return {"metadata": {"name": name, "labels": dict(labels_by_key)}}


def _instance_type(kind: InstanceType) -> Manifest:
    if any(one.capacity_type == labels.RESERVED for one in kind.offerings):
        msg = f"instance type {kind.name} has reserved capacity, which no scenario can tell of"
        raise ValueError(msg)
    kept = resources.subtract(kind.capacity, kind.allocatable)
    return {
        "name": kind.name,
        "requirements": manifests.expressions(kind.requirements.values()),
        "capacity": manifests.resources(kind.capacity),
        "overhead": manifests.resources(resources.without_zeros(kept)),
        "offerings": [
            {
                "requirements": manifests.expressions(one.requirements.values()),
                "price": one.price_nanousd / _NANOUSD,
                "available": one.is_available,
            }
            for one in kind.offerings
        ],
    }


def _node(node: Node) -> Manifest:
    taints = (*node.taints, CORDON) if node.is_unschedulable else node.taints
    return {
        "metadata": {
            "name": node.name,
            "labels": {labels.HOSTNAME: node.name} | _labels(node) | _marks(node),
            "annotations": dict(node.annotations),
        },
        "spec": {
            "providerID": _provider_id(node),
            "taints": manifests.taints(taints),
            "unschedulable": node.is_unschedulable,
        },
        "status": _amounts(node)
        | {"conditions": [{"type": "Ready", "status": "True" if node.is_ready else "False"}]},
    }


def _node_claim(node: Node) -> Manifest:
    metadata: Manifest = {"name": node.node_claim, "labels": _labels(node)}
    if node.deleting_at is not None:
        metadata["deletionTimestamp"] = node.deleting_at.isoformat()
    return {
        "metadata": metadata,
        "spec": {
            "taints": manifests.taints(node.taints),
            "startupTaints": manifests.taints(node.startup_taints),
            "nodeClassRef": dict(manifests.NODE_CLASS),
            "requirements": [],
        },
        "status": _amounts(node)
        | {
            "providerID": _provider_id(node),
            "nodeName": node.name if node.is_registered else "",
            "conditions": [
                {"type": kind, "status": "True"}
                for kind, is_so in (
                    ("Launched", True),
                    ("Registered", node.is_registered),
                    ("Initialized", node.is_initialized),
                )
                if is_so
            ],
        },
    }


def _amounts(node: Node) -> Manifest:
    return {
        "capacity": manifests.resources(node.capacity),
        "allocatable": manifests.resources(node.allocatable),
    }


def _labels(node: Node) -> dict[str, str]:
    ours = {labels.NODE_POOL: node.node_pool} if node.node_pool else {}
    held = {key: value for key, value in node.labels.items() if key not in labels.SIMULATION_ONLY}
    return held | ours


def _marks(node: Node) -> dict[str, str]:
    """By these labels the reference knows how far a node of its own has come."""
    if not node.node_claim:
        return {}
    initialized = {labels.INITIALIZED: "true"} if node.is_initialized else {}
    return {labels.REGISTERED: "true"} | initialized


def _provider_id(node: Node) -> str:
    """Nodes and claims are joined by it, so that none may be without."""
    return node.provider_id or f"scenario://{node.node_claim or node.name}"
