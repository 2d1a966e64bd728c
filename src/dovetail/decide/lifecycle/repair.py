"""Deletes the claims of nodes that have been unhealthy for too long.

A provider says which conditions mean broken and for how long they are put up with. Then the node's
claim is deleted with no time to drain: budgets, do-not-disrupt and grace periods have no say. But
when more than a fifth of a pool's nodes are unhealthy at once, the trouble is hardly theirs:
nothing is repaired, and that is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import rfc3339
from dovetail.decide.lifecycle.finalization import termination_deadline
from dovetail.decide.lifecycle.step import DeleteClaim, Event, EventType, Step, claim_patches
from dovetail.model.claim import ClaimObject, NodeObject
from dovetail.model.node import RepairPolicy

UNHEALTHY: Final = "unhealthy"
REPAIR_BLOCKED: Final = "NodeRepairBlocked"
MOST_UNHEALTHY_PERCENT: Final = 20
_TOLD_FOR: Final = timedelta(minutes=15)
_TRY_AGAIN: Final = timedelta(minutes=5)


class UnhealthyCondition(msgspec.Struct, frozen=True, gc=False):
    """A condition that means broken, and when it has been put up with for long enough."""

    condition: str
    status: str
    due_at: datetime


class RepairScope(msgspec.Struct, frozen=True, gc=False):
    """How many nodes there are in the pool of an unhealthy node, itself included, and how many of
    them are unhealthy. Without a pool all nodes of the cluster count.
    """

    n_nodes: int
    n_unhealthy: int
    node_pool: str = ""
    node_pool_uid: str = ""

    @property
    def n_tolerated(self) -> int:
        """How many may be unhealthy while any is repaired: a fifth, rounded up."""
        return -(-MOST_UNHEALTHY_PERCENT * self.n_nodes // 100)

    @property
    def is_blocked(self) -> bool:
        """Whether too many are unhealthy for any to be repaired."""
        return self.n_unhealthy > self.n_tolerated


def unhealthy_condition(
    node: NodeObject, policies: Iterable[RepairPolicy]
) -> UnhealthyCondition | None:
    """What will have been put up with first; None if the node is healthy."""
    conditions = [
        UnhealthyCondition(condition.type, condition.status, since + policy.tolerated_for)
        for policy in policies
        for condition in node.conditions
        if (condition.type, condition.status) == (policy.condition_type, policy.condition_status)
        and (since := condition.changed_at or node.created_at) is not None
    ]
    return min(
        conditions, key=lambda item: (item.due_at, item.condition, item.status), default=None
    )


def is_unhealthy(statuses: Iterable[tuple[str, str]], policies: Sequence[RepairPolicy]) -> bool:
    """Whether any policy takes a Node for broken, put up with or not, that says this: types of
    conditions, each with its status.
    """
    broken = [(policy.condition_type, policy.condition_status) for policy in policies]
    return any(pair in broken for pair in statuses)


class UnhealthyNode(msgspec.Struct, frozen=True, gc=False):
    """An unhealthy Node, and how the others are, once that matters."""

    node: NodeObject
    unhealthy_condition: UnhealthyCondition
    scope: RepairScope | None = None


def step(claim: ClaimObject, unhealthy_node: UnhealthyNode, now: datetime) -> Step:
    """Delete the claim of a broken node at once, unless too many others are broken too. If it is
    being deleted already, only the time to drain is cut short.
    """
    due_at, scope = unhealthy_node.unhealthy_condition.due_at, unhealthy_node.scope
    if now < due_at:
        return Step(look_again_at=due_at)
    if scope is None or scope.is_blocked:
        told = () if scope is None else (_blocked_event(claim, unhealthy_node.node, scope),)
        return Step(events=told, look_again_at=now + _TRY_AGAIN)
    patches = claim_patches(claim, without_grace_period(claim, now))
    if claim.deleting_at is not None:
        return Step(claims=patches)
    action = DeleteClaim(
        claim.name, claim.uid, UNHEALTHY, condition=unhealthy_node.unhealthy_condition.condition
    )
    return Step(claims=patches, actions=(action,))


def without_grace_period(claim: ClaimObject, now: datetime) -> ClaimObject:
    """The claim with no time left to drain its node."""
    deadline = termination_deadline(claim)
    if deadline is not None and deadline <= now:
        return claim
    annotations = {**claim.annotations, labels.TERMINATION_TIMESTAMP: rfc3339(now)}
    return msgspec.structs.replace(claim, annotations=annotations)


def _blocked_event(claim: ClaimObject, node: NodeObject, scope: RepairScope) -> Event:
    where = f"NodePool {scope.node_pool}" if scope.node_pool else "the cluster"
    message = (
        f"{scope.n_unhealthy} of {scope.n_nodes} nodes of {where} are unhealthy; nodes are repaired"
        f" while at most {scope.n_tolerated} are"
    )
    return Event(
        "Node",
        node.name,
        REPAIR_BLOCKED,
        message,
        type=EventType.WARNING,
        uid=node.uid,
        dedupe=(claim.uid, scope.node_pool_uid),
        dedupe_for=_TOLD_FOR,
    )
