"""Converts Nodes and NodeClaims to nodes, one for each pair.

Until a node has registered, its claim says what it will be; until it is initialised, the claim
fills in what the node does not report yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.model.instance import InstanceType
from dovetail.model.node import Condition, Node
from dovetail.model.requirements import Requirement, Requirements, requirement
from dovetail.model.resources import PODS
from dovetail.model.taints import Taint, is_discouraging
from dovetail.state.conversions import instant, node_labels, resources, span, taints
from dovetail.state.objects import conditions
from dovetail.state.shelf import Inventory

_TRUE: Final = "True"
_REGISTERED: Final = "Registered"
_INITIALIZED: Final = "Initialized"
_NO_LIMITS: Final[Mapping[str, int]] = {}
_DEFAULT_PLACES: Final = 110  # what a kubelet takes unless told otherwise


class Ordered(msgspec.Struct, frozen=True, gc=False):
    """A claim: the node that it will be, and what tells which node has come of it."""

    node: Node
    node_name: str = ""
    instance_types: Requirement | None = None  # None: the claim leaves them open


TypesByPool = Mapping[str, tuple[InstanceType, ...]]


class NodeReport(msgspec.Struct, frozen=True):
    """All that is said about nodes: by themselves, by claims, by their CSI drivers.

    Live, a node of a pool that still starts counts once its claim is known: until the claim says
    so, both would be taken for nodes, with twice the room.
    """

    seen: Mapping[str, Node]
    ordered: Mapping[str, Ordered]
    attach_limits: Mapping[str, Mapping[str, int]]
    types_by_pool: TypesByPool
    is_live: bool = False


class _Joint(msgspec.Struct, frozen=True, gc=False):
    """A node, and what it was put together from."""

    seen: Node | None
    claim: Ordered | None
    attach_limits: Mapping[str, int]
    types: tuple[InstanceType, ...]
    node: Node

    def is_made_of(self, other: _Parts) -> bool:
        """Whether these very objects went into it."""
        seen, claim, limits, types = other
        return (
            self.seen is seen
            and self.claim is claim
            and self.attach_limits is limits
            and self.types is types
        )


_Parts = tuple[Node | None, Ordered | None, Mapping[str, int], tuple[InstanceType, ...]]


class Joints:
    """Nodes put together before, each with what it was made of: what is the same stays the same."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], _Joint] = {}
        self.n_made = 0

    def nodes(self, report: NodeReport) -> tuple[Node, ...]:
        """Every node and every claim in flight, by name."""
        seen = {name: report.seen[name] for name in sorted(report.seen)}
        claims, alone = _pair_claims(
            seen, [report.ordered[name] for name in sorted(report.ordered)]
        )
        if report.is_live:
            seen = {
                name: node for name, node in seen.items() if name in claims or not _starts(node)
            }
        earlier, self._held = self._held, {}
        for claim in alone:
            self._join(
                ("", claim.node.name), (None, claim, _NO_LIMITS, _types(claim, report)), earlier
            )
        for name, node in seen.items():
            paired = claims.get(name)
            limits = report.attach_limits.get(name, _NO_LIMITS)
            types = _types(paired, report, node.node_pool) if paired else ()
            key = (name, paired.node.name if paired else "")
            self._join(key, (node, paired, limits, types), earlier)
        return tuple(sorted((joint.node for joint in self._held.values()), key=_name))

    def _join(
        self, key: tuple[str, str], parts: _Parts, earlier_joints: Mapping[tuple[str, str], _Joint]
    ) -> None:
        earlier = earlier_joints.get(key)
        if earlier is None or not earlier.is_made_of(parts):
            self.n_made += 1
            made = _joined_node(*parts)
            is_same = earlier is not None and made == earlier.node
            earlier = _Joint(*parts, earlier.node if earlier and is_same else made)
        self._held[key] = earlier


def _name(node: Node) -> str:
    return node.name


def _types(claim: Ordered, report: NodeReport, pool: str = "") -> tuple[InstanceType, ...]:
    return report.types_by_pool.get(pool or claim.node.node_pool, ())


def nodes(
    inventory: Inventory, types_by_pool: TypesByPool, *, is_live: bool = False
) -> tuple[Node, ...]:
    """Every node and every claim in flight, by name."""
    report = NodeReport(
        seen={node.metadata.name: node_of(node) for node in inventory.all(api.Node)},
        ordered={claim.metadata.name: ordered_of(claim) for claim in inventory.all(api.NodeClaim)},
        attach_limits={csi.metadata.name: attach_limits(csi) for csi in inventory.all(api.CSINode)},
        types_by_pool=types_by_pool,
        is_live=is_live,
    )
    return Joints().nodes(report)


def _starts(seen: Node) -> bool:
    return bool(seen.node_pool) and seen.labels.get(labels.INITIALIZED) != "true"


def _pair_claims(
    seen: Mapping[str, Node], claims: Iterable[Ordered]
) -> tuple[dict[str, Ordered], list[Ordered]]:
    """Claims by the name of their node, found by the provider's id or by name; and the others."""
    by_provider = {item.provider_id: item for item in seen.values() if item.provider_id}
    claim_by_node: dict[str, Ordered] = {}
    alone: list[Ordered] = []
    for claim in claims:
        node = by_provider.get(claim.node.provider_id) or seen.get(claim.node_name)
        if node is None or node.name in claim_by_node:
            alone.append(claim)
        else:
            claim_by_node[node.name] = claim
    return claim_by_node, alone


def _joined_node(
    seen: Node | None,
    claim: Ordered | None,
    limits: Mapping[str, int],
    types: tuple[InstanceType, ...],
) -> Node:
    if seen is None:
        node = claim.node if claim else Node("")
    else:
        node = msgspec.structs.replace(seen, attach_limits=limits) if limits else seen
        node = _with_claim(node, claim.node) if claim else node
    node = _with_places(node)
    return node if claim is None or node.allocatable else _expected_node(node, claim, types)


def _expected_node(node: Node, claim: Ordered, types: tuple[InstanceType, ...]) -> Node:
    """What a claim does not say yet, as its instance types have it. Any of those it names may come,
    so pods may count on the least of each resource, and limits must count on the most.
    """
    named = claim.instance_types
    chosen = node.labels.get(labels.INSTANCE_TYPE)
    possible = [
        item
        for item in types
        if (item.name == chosen if chosen else named is not None and named.has(item.name))
    ]
    if not possible:
        return node
    names = sorted({name for instance_type in possible for name in instance_type.capacity})
    return msgspec.structs.replace(
        node,
        capacity={name: max(item.capacity.get(name, 0) for item in possible) for name in names},
        allocatable={
            name: min(kind.allocatable.get(name, 0) for kind in possible) for name in names
        },
    )


def node_of(wire: api.Node) -> Node:
    """A node by its own word alone."""
    meta = wire.metadata
    own_labels = node_labels(meta.labels)
    borne = taints(wire.spec.taints)
    others = tuple(taint for taint in borne if not is_discouraging(taint))
    return Node(
        name=meta.name,
        labels=own_labels,
        annotations=meta.annotations,
        taints=others,
        capacity=resources(wire.status.capacity),
        allocatable=resources(wire.status.allocatable),
        node_pool=own_labels.get(labels.NODE_POOL, ""),
        provider_id=wire.spec.provider_id,
        is_ready=all(
            item.status == _TRUE for item in wire.status.conditions if item.type == "Ready"
        ),
        is_unschedulable=wire.spec.unschedulable,
        is_discouraged=len(others) < len(borne),
        conditions=conditions(wire.status.conditions),
        created_at=instant(meta.creation_timestamp),
        deleting_at=instant(meta.deletion_timestamp),
    )


def ordered_of(claim: api.NodeClaim) -> Ordered:
    """A claim by its own word alone."""
    node = _in_flight(claim)
    # Once it says what it will have, nobody need guess from its types, which may be hundreds.
    asked = None if node.allocatable else claim_requirements(claim).get(labels.INSTANCE_TYPE)
    return Ordered(node, claim.status.node_name, asked)


def _with_claim(seen: Node, ordered: Node) -> Node:
    """The node's word first, the claim's where the node has not spoken yet."""
    is_registered = _has_come(seen, ordered, labels.REGISTERED, _REGISTERED)
    is_initialized = _has_come(seen, ordered, labels.INITIALIZED, _INITIALIZED)
    return msgspec.structs.replace(
        seen,
        labels=seen.labels if is_registered else {**ordered.labels, **seen.labels},
        annotations={**ordered.annotations, **seen.annotations},
        taints=seen.taints if is_registered else _united_taints(ordered.taints, seen.taints),
        startup_taints=ordered.startup_taints,
        capacity=_with_expected(seen.capacity, ordered.capacity, is_initialized=is_initialized),
        allocatable=_with_expected(
            seen.allocatable, ordered.allocatable, is_initialized=is_initialized
        ),
        node_pool=seen.node_pool or ordered.node_pool,
        node_claim=ordered.node_claim,
        provider_id=seen.provider_id or ordered.provider_id,
        is_registered=is_registered,
        is_initialized=is_initialized,
        conditions=_united_conditions(ordered.conditions, seen.conditions),
        created_at=ordered.created_at or seen.created_at,
        deleting_at=ordered.deleting_at or seen.deleting_at,
        last_pod_event_at=ordered.last_pod_event_at,
        termination_grace_period=ordered.termination_grace_period,
    )


def _in_flight(claim: api.NodeClaim) -> Node:
    """A claim whose node has yet to appear, as that node."""
    meta, status = claim.metadata, claim.status
    own_labels = _claim_labels(claim)
    return Node(
        name=meta.name,
        labels=own_labels,
        annotations=meta.annotations,
        taints=(*taints(claim.spec.taints), *taints(claim.spec.startup_taints)),
        startup_taints=taints(claim.spec.startup_taints),
        capacity=resources(status.capacity),
        allocatable=resources(status.allocatable),
        node_pool=own_labels.get(labels.NODE_POOL, ""),
        node_claim=meta.name,
        provider_id=status.provider_id,
        is_registered=False,
        is_initialized=False,
        is_ready=False,
        conditions=conditions(status.conditions),
        created_at=instant(meta.creation_timestamp),
        deleting_at=instant(meta.deletion_timestamp),
        last_pod_event_at=instant(status.last_pod_event_time),
        termination_grace_period=_grace(claim),
    )


def _grace(claim: api.NodeClaim) -> timedelta | None:
    """How long its node may take to drain; nothing if the claim says nothing that makes sense."""
    try:
        return span(claim.spec.termination_grace_period)
    except ValueError:
        return None


def claim_requirements(claim: api.NodeClaim) -> Requirements:
    """What a claim says of its node's labels, as one set."""
    return Requirements(
        requirement(claim_requirement.key, claim_requirement.operator, claim_requirement.values)
        for claim_requirement in claim.spec.requirements
    )


def _claim_labels(claim: api.NodeClaim) -> dict[str, str]:
    """Labels that are certain: those of the claim, and requirements that leave one value."""
    certain = claim_requirements(claim).single_values()
    pools = [owner.name for owner in claim.metadata.owner_references if owner.kind == "NodePool"]
    owned = {labels.NODE_POOL: pools[0]} if pools else {}
    return {**owned, **certain, **node_labels(claim.metadata.labels)}


def _has_come(seen: Node, ordered: Node, label: str, condition: str) -> bool:
    """Whether the node's label or the claim's condition says so."""
    states = (item.status == _TRUE for item in ordered.conditions if item.type == condition)
    return seen.labels.get(label) == "true" or next(states, False)


def _united_taints(ours: Iterable[Taint], theirs: Iterable[Taint]) -> tuple[Taint, ...]:
    """Both; key and effect tell taints apart, the later word counts."""
    by_key = {(taint.key, taint.effect): taint for taint in (*ours, *theirs)}
    return tuple(by_key.values())


def _with_expected(
    reported: Mapping[str, int], expected: Mapping[str, int], *, is_initialized: bool
) -> Mapping[str, int]:
    """Until the node is initialised, zeros and gaps in its report are what the claim expects."""
    if is_initialized:
        return reported
    gaps = {name: item for name, item in expected.items() if not reported.get(name)}
    return {**reported, **gaps}


def _with_places(node: Node) -> Node:
    """Every kubelet says how many pods it takes; a node written by hand may leave that out."""
    if PODS in node.allocatable or not (node.allocatable or node.capacity):
        return node
    n_places = node.capacity.get(PODS, _DEFAULT_PLACES)
    allocatable = {**node.allocatable, PODS: n_places} if node.allocatable else {}
    capacity = {**node.capacity, PODS: n_places}
    return msgspec.structs.replace(node, capacity=capacity, allocatable=allocatable)


def _united_conditions(
    claim: Sequence[Condition], node: Sequence[Condition]
) -> tuple[Condition, ...]:
    """The claim's, and those of the node that the claim does not speak of."""
    spoken = {condition.type for condition in claim}
    return (*claim, *(condition for condition in node if condition.type not in spoken))


def attach_limits(wire: api.CSINode) -> Mapping[str, int]:
    """How many volumes of each driver a node takes."""
    return {
        driver.name: driver.allocatable.count
        for driver in wire.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
