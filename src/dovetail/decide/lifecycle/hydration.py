"""Does everybody carry the label of its node class? (spec/core.md 0.3, 5.10)

That label is how a Node is known to be ours when it goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from dovetail.decide.lifecycle.step import STAY, Step, claim_patches, node_patches
from dovetail.model.claim import ClaimObject, ClaimView, NodeObject
from dovetail.model.pool import NodeClassRef

_LONGEST_VALUE: Final = 63


def node_class_label(node_class: NodeClassRef) -> str:
    """The key under which claims and Nodes name their node class."""
    return f"{node_class.group}/{node_class.kind.lower()}"


def is_managed(node_class: NodeClassRef, supported: Iterable[NodeClassRef]) -> bool:
    """Whether the provider launches with this kind of node class; names do not count."""
    kinds = {(one.group, one.kind) for one in supported}
    return (node_class.group, node_class.kind) in kinds


def is_managed_node(node: NodeObject, supported: Iterable[NodeClassRef]) -> bool:
    """Whether the Node was launched with a kind of node class that the provider understands."""
    return any(node_class_label(one) in node.labels for one in supported)


def claims_of(node: NodeObject, claims: Iterable[ClaimObject]) -> tuple[ClaimObject, ...]:
    """The claims with the Node's provider id: one, if all is well. An empty id matches none."""
    wanted = node.provider_id
    return tuple(claim for claim in claims if wanted and claim.provider_id == wanted)


def nodes_of(claim: ClaimObject, nodes: Iterable[NodeObject]) -> tuple[NodeObject, ...]:
    """The Nodes with the claim's provider id: one, if all is well. An empty id matches none."""
    wanted = claim.provider_id
    return tuple(node for node in nodes if wanted and node.provider_id == wanted)


def step(view: ClaimView, now: datetime) -> Step:
    """Label the claim and its Nodes."""
    del now  # the same at all times
    claim = view.claim
    if not (claim.node_class.group and claim.node_class.kind):
        return STAY
    # Names may be longer than labels.
    value = claim.node_class.name[:_LONGEST_VALUE].rstrip("-.")
    mark = {node_class_label(claim.node_class): value}
    labelled = msgspec.structs.replace(claim, labels={**claim.labels, **mark})
    return Step(
        claims=claim_patches(claim, labelled),
        nodes=tuple(
            patch
            for node in view.nodes
            for patch in node_patches(
                node, msgspec.structs.replace(node, labels={**node.labels, **mark})
            )
        ),
    )
