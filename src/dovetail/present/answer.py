"""Chooses the function that explains an object, one for each kind."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.present.explain_node import explain_node
from dovetail.present.explain_pod import explain_pod
from dovetail.present.explain_pool import explain_pool
from dovetail.present.explanation import Explanation


def answer(
    item: Pod | Node | NodePool, snapshot: Snapshot, plan: Plan, now: datetime
) -> Explanation:
    """The whole answer for one object of a cluster that was planned for."""
    match item:
        case Pod():
            return explain_pod(item, snapshot, plan, now)
        case Node():
            return explain_node(item, snapshot, plan, now)
        case NodePool():
            return explain_pool(item, snapshot, plan, now)
        case unknown:
            assert_never(unknown)
