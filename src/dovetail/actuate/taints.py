"""Taints Nodes that are being removed or should empty, and says on claims why.

A taint on the Node keeps pods off, a condition on its claim says why. Writes of others are not
overwritten: on a conflict the object is read again, and the same change is made to that.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from dovetail import api
from dovetail.actuate.writing import NODE, NODE_CLAIM, Answers, change, write_claim, write_node
from dovetail.decide.lifecycle.conditions import (
    DISRUPTION_REASON,
    ClearCondition,
    ConditionChange,
    SetCondition,
    Status,
)
from dovetail.decide.lifecycle.draining import DISRUPTED
from dovetail.decide.lifecycle.step import Step, claim_with
from dovetail.kube.seam import Kube, Ref
from dovetail.model.claim import NodeObject
from dovetail.model.taints import DISCOURAGED, is_discouraging
from dovetail.state.objects import claim_object, node_object


async def add_disruption_taint(kube: Kube, node: api.Node) -> Answers:
    """Let no pod come to this very Node any more. Raises ApiError."""

    def with_taint(item: NodeObject) -> NodeObject:
        others = tuple(taint for taint in item.taints if taint.key != DISRUPTED.key)
        return msgspec.structs.replace(item, taints=(*others, DISRUPTED))

    return await _change_node(kube, node, with_taint)


async def remove_disruption_taint(kube: Kube, node: api.Node) -> Answers:
    """Let pods come to this very Node again. Raises ApiError."""

    def without_taint(item: NodeObject) -> NodeObject:
        left = tuple(taint for taint in item.taints if taint.key != DISRUPTED.key)
        return msgspec.structs.replace(item, taints=left)

    return await _change_node(kube, node, without_taint)


async def set_disruption_reason(
    kube: Kube, claim: api.NodeClaim, reason: str, now: datetime
) -> Answers:
    """Say on this very claim why its node is taken away. Raises ApiError."""
    change = SetCondition(DISRUPTION_REASON, Status.TRUE, reason)
    return await _change_claim(kube, claim, change, now)


async def clear_disruption_reason(kube: Kube, claim: api.NodeClaim, now: datetime) -> Answers:
    """Say no more on this very claim that its node is taken away. Raises ApiError."""
    return await _change_claim(kube, claim, ClearCondition(DISRUPTION_REASON), now)


async def _change_claim(
    kube: Kube, claim: api.NodeClaim, condition: ConditionChange, now: datetime
) -> Answers:
    async def write(claim: api.NodeClaim) -> Answers:
        after = claim_with(claim_object(claim), Step(conditions=(condition,)), now)
        return await write_claim(kube, claim, after)

    return await change(kube, Ref(NODE_CLAIM, claim.metadata.name), claim, write)


async def _change_node(
    kube: Kube, node: api.Node, changed: Callable[[NodeObject], NodeObject]
) -> Answers:
    async def write(node: api.Node) -> Answers:
        return await write_node(kube, node, changed(node_object(node)))

    return await change(kube, Ref(NODE, node.metadata.name), node, write)


async def add_soft_taint(kube: Kube, node: api.Node) -> Answers:
    """Ask pods to keep off this very Node, unless it turns out to be leaving. Raises ApiError."""

    def with_mark(item: NodeObject) -> NodeObject:
        is_leaving = any(taint.key == DISRUPTED.key for taint in item.taints)
        if is_leaving or item.deleting_at is not None or any(map(is_discouraging, item.taints)):
            return item
        return msgspec.structs.replace(item, taints=(*item.taints, DISCOURAGED))

    return await _change_node(kube, node, with_mark)


async def remove_soft_taint(kube: Kube, node: api.Node) -> Answers:
    """Ask for that no more. Raises ApiError."""

    def without_mark(item: NodeObject) -> NodeObject:
        left = tuple(taint for taint in item.taints if not is_discouraging(taint))
        return msgspec.structs.replace(item, taints=left)

    return await _change_node(kube, node, without_mark)
