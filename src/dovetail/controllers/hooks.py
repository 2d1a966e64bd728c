"""What does the cloud want done before a node counts as registered? Its hooks are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from dovetail import api
from dovetail.cloud.errors import CloudError
from dovetail.cloud.provider import CloudProvider, NodeLifecycleHook
from dovetail.controllers.drifts import joint
from dovetail.model.claim import HookAnswer
from dovetail.model.node import Node


def hooks_of(cloud: CloudProvider) -> tuple[NodeLifecycleHook, ...]:
    """The hooks of a cloud: it is one itself, or has none."""
    return (cloud,) if isinstance(cloud, NodeLifecycleHook) else ()


async def answers(
    hooks: Iterable[NodeLifecycleHook], claim: api.NodeClaim, nodes: Iterable[api.Node]
) -> tuple[HookAnswer, ...]:
    """What each hook says of a node, all asked at once."""
    node = joint(claim, nodes)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(_answer(hook, node)) for hook in hooks]
    return tuple(one.result() for one in asked)


async def _answer(hook: NodeLifecycleHook, node: Node) -> HookAnswer:
    try:
        return HookAnswer(hook.name, await hook.registered(node))
    except CloudError as error:
        return HookAnswer(hook.name, error=str(error))
