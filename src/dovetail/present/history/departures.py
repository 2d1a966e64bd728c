"""Is a node on its way out, and why? As far as the cluster itself tells, whoever decided it."""

from __future__ import annotations

from typing import Final

from dovetail.model.decision import Decision
from dovetail.model.node import Node

EXPIRED: Final = "Expired"


def is_going(decision: Decision, node: Node) -> bool:
    """Whether somebody has begun to take it away."""
    return node.deleting_at is not None or any(
        one.node == node.name for one in decision.snapshot.ledger.disrupting
    )


def departure_reason(decision: Decision, node: Node) -> str:
    """Why a node goes: what was noted of it, else its age; nothing if nobody knows."""
    for one in decision.snapshot.ledger.disrupting:
        if one.node == node.name:
            return one.reason
    pool = next((one for one in decision.snapshot.node_pools if one.name == node.node_pool), None)
    if pool is None or pool.expire_after is None or node.created_at is None:
        return ""
    is_old = node.created_at + pool.expire_after <= (node.deleting_at or decision.now)
    return EXPIRED if is_old else ""
