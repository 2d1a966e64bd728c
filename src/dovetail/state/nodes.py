"""What nodes are there, or on their way? A Node and its NodeClaim make one noun (spec/core.md 4.3).

Until a node has registered, its claim says what it will be; until it is initialised, the claim
fills in what the node does not report yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.model.node import Condition, Node
from dovetail.model.requirements import Requirements, requirement
from dovetail.model.resources import PODS
from dovetail.model.taints import Taint
from dovetail.state.amounts import instant, resources
from dovetail.state.constraints import taints
from dovetail.state.inventory import Inventory
from dovetail.state.selectors import node_labels

_TRUE: Final = "True"
_REGISTERED: Final = "Registered"
_INITIALIZED: Final = "Initialized"
_DEFAULT_PLACES: Final = 110  # what a kubelet takes unless told otherwise


def nodes(inventory: Inventory) -> tuple[Node, ...]:
    """Every node and every claim in flight, by name."""
    limits = {one.metadata.name: _attach_limits(one) for one in inventory.all(api.CSINode)}
    claims, alone = _paired(inventory.all(api.Node), inventory.all(api.NodeClaim))
    found = [_in_flight(one) for one in alone]
    for wire in inventory.all(api.Node):
        name = wire.metadata.name
        seen = _observed(wire, limits.get(name, {}))
        found.append(_with_claim(seen, claims[name], wire) if name in claims else seen)
    return tuple(sorted(map(_with_places, found), key=lambda node: node.name))


def _paired(
    nodes: Sequence[api.Node], claims: Sequence[api.NodeClaim]
) -> tuple[dict[str, api.NodeClaim], list[api.NodeClaim]]:
    """Claims by the name of their node, found by the provider's id or by name; and the others."""
    by_provider = {one.spec.provider_id: one for one in nodes if one.spec.provider_id}
    by_name = {one.metadata.name: one for one in nodes}
    claim_by_node: dict[str, api.NodeClaim] = {}
    alone: list[api.NodeClaim] = []
    for claim in claims:
        node = by_provider.get(claim.status.provider_id) or by_name.get(claim.status.node_name)
        if node is None or node.metadata.name in claim_by_node:
            alone.append(claim)
        else:
            claim_by_node[node.metadata.name] = claim
    return claim_by_node, alone


def _observed(wire: api.Node, attach_limits: Mapping[str, int]) -> Node:
    """A node by its own word alone."""
    meta = wire.metadata
    held = node_labels(meta.labels)
    return Node(
        name=meta.name,
        labels=held,
        annotations=meta.annotations,
        taints=taints(wire.spec.taints),
        capacity=resources(wire.status.capacity),
        allocatable=resources(wire.status.allocatable),
        node_pool=held.get(labels.NODE_POOL, ""),
        provider_id=wire.spec.provider_id,
        is_ready=_states(wire.status.conditions, "Ready", absent=True),
        is_unschedulable=wire.spec.unschedulable,
        attach_limits=attach_limits,
        conditions=_conditions(wire.status.conditions),
        created_at=instant(meta.creation_timestamp),
        deleting_at=instant(meta.deletion_timestamp),
    )


def _with_claim(seen: Node, claim: api.NodeClaim, wire: api.Node) -> Node:
    """The node's word first, the claim's where the node has not spoken yet."""
    ordered = _in_flight(claim)
    is_registered = _has_come(wire, claim, labels.REGISTERED, _REGISTERED)
    is_initialized = _has_come(wire, claim, labels.INITIALIZED, _INITIALIZED)
    return msgspec.structs.replace(
        seen,
        labels=seen.labels if is_registered else {**ordered.labels, **seen.labels},
        annotations={**ordered.annotations, **seen.annotations},
        taints=seen.taints if is_registered else _united(ordered.taints, seen.taints),
        startup_taints=ordered.startup_taints,
        capacity=_filled(seen.capacity, ordered.capacity, is_initialized=is_initialized),
        allocatable=_filled(seen.allocatable, ordered.allocatable, is_initialized=is_initialized),
        node_pool=seen.node_pool or ordered.node_pool,
        node_claim=ordered.node_claim,
        provider_id=seen.provider_id or ordered.provider_id,
        is_registered=is_registered,
        is_initialized=is_initialized,
        conditions=_united_conditions(ordered.conditions, seen.conditions),
        created_at=ordered.created_at or seen.created_at,
        deleting_at=ordered.deleting_at or seen.deleting_at,
        last_pod_event_at=ordered.last_pod_event_at,
    )


def _in_flight(claim: api.NodeClaim) -> Node:
    """A claim whose node has yet to appear, as that node."""
    meta, status = claim.metadata, claim.status
    held = _claim_labels(claim)
    return Node(
        name=meta.name,
        labels=held,
        annotations=meta.annotations,
        taints=(*taints(claim.spec.taints), *taints(claim.spec.startup_taints)),
        startup_taints=taints(claim.spec.startup_taints),
        capacity=resources(status.capacity),
        allocatable=resources(status.allocatable),
        node_pool=held.get(labels.NODE_POOL, ""),
        node_claim=meta.name,
        provider_id=status.provider_id,
        is_registered=False,
        is_initialized=False,
        is_ready=False,
        conditions=_conditions(status.conditions),
        created_at=instant(meta.creation_timestamp),
        deleting_at=instant(meta.deletion_timestamp),
        last_pod_event_at=instant(status.last_pod_event_time),
    )


def claim_requirements(claim: api.NodeClaim) -> Requirements:
    """What a claim says of its node's labels, as one set."""
    return Requirements(
        requirement(one.key, one.operator, one.values) for one in claim.spec.requirements
    )


def _claim_labels(claim: api.NodeClaim) -> dict[str, str]:
    """Labels that are certain: those of the claim, and requirements that leave one value."""
    certain = {
        one.key: value
        for one in claim_requirements(claim).sorted()
        if not one.complement and len(one.values) == 1
        for value in one.values
    }
    pools = [one.name for one in claim.metadata.owner_references if one.kind == "NodePool"]
    owned = {labels.NODE_POOL: pools[0]} if pools else {}
    return {**owned, **certain, **node_labels(claim.metadata.labels)}


def _has_come(node: api.Node, claim: api.NodeClaim, label: str, condition: str) -> bool:
    """Whether the node's label or the claim's condition says so."""
    return node.metadata.labels.get(label) == "true" or _states(
        claim.status.conditions, condition, absent=False
    )


def _states(conditions: Sequence[api.Condition], kind: str, *, absent: bool) -> bool:
    return next((one.status == _TRUE for one in conditions if one.type == kind), absent)


def _united(ours: Iterable[Taint], theirs: Iterable[Taint]) -> tuple[Taint, ...]:
    """Both; key and effect tell taints apart, the later word counts."""
    found = {(one.key, one.effect): one for one in (*ours, *theirs)}
    return tuple(found.values())


def _filled(
    reported: Mapping[str, int], expected: Mapping[str, int], *, is_initialized: bool
) -> Mapping[str, int]:
    """Until the node is initialised, zeros and gaps in its report are what the claim expects."""
    if is_initialized:
        return reported
    gaps = {name: one for name, one in expected.items() if not reported.get(name)}
    return {**reported, **gaps}


def _with_places(node: Node) -> Node:
    """Every kubelet says how many pods it takes; a node written by hand may leave that out."""
    if PODS in node.allocatable or not (node.allocatable or node.capacity):
        return node
    n_places = node.capacity.get(PODS, _DEFAULT_PLACES)
    allocatable = {**node.allocatable, PODS: n_places} if node.allocatable else {}
    capacity = {**node.capacity, PODS: n_places}
    return msgspec.structs.replace(node, capacity=capacity, allocatable=allocatable)


def _conditions(wire: Iterable[api.Condition]) -> tuple[Condition, ...]:
    return tuple(
        Condition(one.type, one.status, one.reason, one.message, instant(one.last_transition_time))
        for one in wire
    )


def _united_conditions(
    claim: Sequence[Condition], node: Sequence[Condition]
) -> tuple[Condition, ...]:
    """The claim's, and those of the node that the claim does not speak of."""
    spoken = {one.type for one in claim}
    return (*claim, *(one for one in node if one.type not in spoken))


def _attach_limits(wire: api.CSINode) -> Mapping[str, int]:
    return {
        driver.name: driver.allocatable.count
        for driver in wire.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
