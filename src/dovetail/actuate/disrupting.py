"""How is it shown that a node is being taken away, and that it is not after all?

A taint on its Node keeps pods off, a condition on its claim says why. Whoever else writes to either
is not overwritten: what was read is read again, and the same change is made to that.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from dovetail import api
from dovetail.actuate.writing import NODE_CLAIM, TRIES, Answers, change_node, write_claim
from dovetail.decide.lifecycle.conditions import (
    DISRUPTION_REASON,
    ClearCondition,
    ConditionChange,
    SetCondition,
    Status,
)
from dovetail.decide.lifecycle.draining import DISRUPTED
from dovetail.decide.lifecycle.step import Step, claim_with
from dovetail.kube.errors import ConflictError
from dovetail.kube.seam import Kube, Ref
from dovetail.model.claim import ClaimObject, NodeObject
from dovetail.state.objects import claim_object


async def fence(kube: Kube, node: api.Node) -> Answers:
    """Let no pod come to this very Node any more. Raises ApiError."""

    def fenced(held: NodeObject) -> NodeObject:
        others = tuple(one for one in held.taints if one.key != DISRUPTED.key)
        return msgspec.structs.replace(held, taints=(*others, DISRUPTED))

    return await change_node(kube, node, fenced)


async def unfence(kube: Kube, node: api.Node) -> Answers:
    """Let pods come to this very Node again. Raises ApiError."""

    def unfenced(held: NodeObject) -> NodeObject:
        left = tuple(one for one in held.taints if one.key != DISRUPTED.key)
        return msgspec.structs.replace(held, taints=left)

    return await change_node(kube, node, unfenced)


async def give_reason(kube: Kube, claim: api.NodeClaim, reason: str, now: datetime) -> Answers:
    """Say on this very claim why its node is taken away. Raises ApiError."""
    said = SetCondition(DISRUPTION_REASON, Status.TRUE, reason)
    return await _claim_changed(kube, claim, said, now)


async def take_back_reason(kube: Kube, claim: api.NodeClaim, now: datetime) -> Answers:
    """Say no more on this very claim that its node is taken away. Raises ApiError."""
    return await _claim_changed(kube, claim, ClearCondition(DISRUPTION_REASON), now)


async def _claim_changed(
    kube: Kube, claim: api.NodeClaim, change: ConditionChange, now: datetime
) -> Answers:
    for _ in range(TRIES - 1):
        try:
            return await write_claim(kube, claim, _saying(claim_object(claim), change, now))
        except ConflictError:
            fresh = api.decode(api.NodeClaim, await kube.get(Ref(NODE_CLAIM, claim.metadata.name)))
            if fresh.metadata.uid != claim.metadata.uid:
                raise
            claim = fresh
    return await write_claim(kube, claim, _saying(claim_object(claim), change, now))


def _saying(claim: ClaimObject, change: ConditionChange, now: datetime) -> ClaimObject:
    return claim_with(claim, Step(conditions=(change,)), now)
