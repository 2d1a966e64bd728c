"""How are pods asked to keep off a node, and how is that taken back?

By a soft taint on its Node: kube-scheduler goes there last, and there it goes before a pod waits.
"""

from __future__ import annotations

import msgspec

from dovetail import api
from dovetail.actuate.writing import Answers, change_node
from dovetail.decide.lifecycle.draining import DISRUPTED
from dovetail.kube.seam import Kube
from dovetail.model.claim import NodeObject
from dovetail.model.taints import DISCOURAGED, is_discouraging


async def discourage(kube: Kube, node: api.Node) -> Answers:
    """Ask pods to keep off this very Node, unless it turns out to be leaving. Raises ApiError."""

    def marked(held: NodeObject) -> NodeObject:
        is_leaving = any(one.key == DISRUPTED.key for one in held.taints)
        if is_leaving or held.deleting_at is not None or any(map(is_discouraging, held.taints)):
            return held
        return msgspec.structs.replace(held, taints=(*held.taints, DISCOURAGED))

    return await change_node(kube, node, marked)


async def welcome(kube: Kube, node: api.Node) -> Answers:
    """Ask for that no more. Raises ApiError."""

    def unmarked(held: NodeObject) -> NodeObject:
        left = tuple(one for one in held.taints if not is_discouraging(one))
        return msgspec.structs.replace(held, taints=left)

    return await change_node(kube, node, unmarked)
