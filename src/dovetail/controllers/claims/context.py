"""Asks the pool, the cloud and the Node what the next step of a claim depends on.

`DriftChecks` is about drift, `hook_answers` about registration, `NodeHealth` about node repair.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from dovetail import api, labels
from dovetail.cloud.errors import CloudError, NodeClaimNotFoundError
from dovetail.cloud.provider import CloudProvider, NodeLifecycleHook
from dovetail.cloud.repeated_faults import RepeatedFaults
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.decide.lifecycle.claim import PoolContext
from dovetail.decide.lifecycle.repair import (
    RepairScope,
    UnhealthyNode,
    is_unhealthy,
    unhealthy_condition,
)
from dovetail.decide.lifecycle.timing import DRIFT_RECHECK, DRIFT_RETRY, DRIFT_SETTLES_AFTER
from dovetail.model.claim import ClaimObject, HookAnswer, NodeObject
from dovetail.model.node import Node, RepairPolicy
from dovetail.state.nodes import Joints, NodeReport, node_of, ordered_of
from dovetail.state.objects import node_pool


class _Answer(msgspec.Struct, frozen=True):
    """What the cloud said of a claim, when, and of which pool and node class. `ask_again_at` is set
    while an edit of these is new, as their controllers may not have seen to it yet, and where the
    cloud could not be asked.
    """

    reason: str
    asked_at: datetime
    asked_of: tuple[int, int]
    ask_again_at: datetime | None = None


class DriftChecks:
    """What was found out about each claim, by its UID."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("nodeclaim.disruption")
        self._faults = RepeatedFaults(dependencies.clock)
        self._answers: dict[str, _Answer] = {}
        self._seen_at: dict[str, datetime] = {}

    async def beside(
        self, wire: api.NodeClaim, claim: ClaimObject, nodes: Iterable[api.Node], now: datetime
    ) -> PoolContext | None:
        """The claim's pool with everything that drift depends on; None: nobody can tell."""
        wire_pool = self._cache.pool(claim.node_pool) if claim.node_pool else None
        pool = node_pool(wire_pool) if wire_pool is not None else None
        if wire_pool is None or pool is None or pool.problems or claim.deleting_at is not None:
            return None
        # Not before it has a Node: that must not wait for an answer.
        if claim.node_name and self._is_due(claim, wire_pool, now):
            await self._ask(joined_node(wire, nodes), claim, wire_pool, now)
        answer = self._answers.get(claim.uid)
        types = self._cache.cluster.instance_types(pool.name)
        return PoolContext(
            pool=pool,
            annotations=wire_pool.metadata.annotations,
            instance_types=types,
            # A catalogue that is not known yet says nothing of what can be bought.
            type_seen_at=self._seen_at.get(claim.uid) if types else now,
            provider_reason=answer.reason if answer is not None else "",
            ask_again_at=answer.ask_again_at if answer is not None else None,
        )

    def see_type(self, uid: str, now: datetime) -> None:
        """The claim's instance type can still be bought."""
        self._seen_at[uid] = now

    def forget(self, uid: str) -> None:
        """The claim is gone."""
        self._answers.pop(uid, None)
        self._seen_at.pop(uid, None)

    def _is_due(self, claim: ClaimObject, pool: api.NodePool, now: datetime) -> bool:
        answer = self._answers.get(claim.uid)
        return (
            answer is None
            or answer.asked_of != self._generations(claim, pool)
            or (answer.ask_again_at is not None and answer.ask_again_at <= now)
            or not timedelta(0) <= now - answer.asked_at < DRIFT_RECHECK
        )

    def _generations(self, claim: ClaimObject, pool: api.NodePool) -> tuple[int, int]:
        node_class = self._cache.node_class(claim.node_class)
        return pool.metadata.generation, node_class.metadata.generation if node_class else 0

    async def _ask(self, node: Node, claim: ClaimObject, pool: api.NodePool, now: datetime) -> None:
        """An answer that cannot be had leaves the earlier one as it is."""
        answer = self._answers.get(claim.uid)
        reason = answer.reason if answer is not None else ""
        asked_of = self._generations(claim, pool)
        is_edited = answer is not None and answer.asked_of != asked_of
        ask_again_at = now + DRIFT_SETTLES_AFTER if is_edited else None
        try:
            reason = await self._dependencies.cloud.drift_reason(node)
        except NodeClaimNotFoundError:
            reason = ""  # what is gone has not drifted
        except CloudError as error:
            ask_again_at = now + DRIFT_RETRY
            n_times = self._faults.n_to_report(str(error).replace(node.name, ""))
            if n_times:
                self._log.warning(
                    "could not ask for drift", node_claim=claim.name, error=error, n_times=n_times
                )
        self._answers[claim.uid] = _Answer(reason, now, asked_of, ask_again_at)


def joined_node(claim: api.NodeClaim, nodes: Iterable[api.Node]) -> Node:
    """The claim and its Node as one thing, which is what clouds are asked about."""
    report = NodeReport(
        seen={node.metadata.name: node_of(node) for node in nodes},
        ordered={claim.metadata.name: ordered_of(claim)},
        attach_limits={},
        types_by_pool={},
    )
    name = claim.metadata.name
    return next(node for node in Joints().nodes(report) if node.node_claim == name)


def hooks_of(cloud: CloudProvider) -> tuple[NodeLifecycleHook, ...]:
    """The hooks of a cloud: it is one itself, or has none."""
    return (cloud,) if isinstance(cloud, NodeLifecycleHook) else ()


async def hook_answers(
    hooks: Iterable[NodeLifecycleHook], claim: api.NodeClaim, nodes: Iterable[api.Node]
) -> tuple[HookAnswer, ...]:
    """What each hook says of a node, all asked at once."""
    node = joined_node(claim, nodes)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(_answer(hook, node)) for hook in hooks]
    return tuple(item.result() for item in asked)


async def _answer(hook: NodeLifecycleHook, node: Node) -> HookAnswer:
    try:
        return HookAnswer(hook.name, await hook.registered(node))
    except CloudError as error:
        return HookAnswer(hook.name, error=str(error))


class NodeHealth:
    """Judges the health of Nodes by these policies; without any, all are healthy."""

    def __init__(self, cache: WatchCache, policies: tuple[RepairPolicy, ...]) -> None:
        self._cache = cache
        self._policies = policies

    def unhealthy_node(
        self, claim: ClaimObject, nodes: Sequence[NodeObject], now: datetime
    ) -> UnhealthyNode | None:
        """The claim's Node if it is unhealthy; None if it is not, or unclear which one it is."""
        condition = unhealthy_condition(nodes[0], self._policies) if len(nodes) == 1 else None
        if condition is None:
            return None
        scope = self._scope(claim) if now >= condition.due_at else None
        return UnhealthyNode(nodes[0], condition, scope)

    def _scope(self, claim: ClaimObject) -> RepairScope:
        """All Nodes of the claim's pool, or of the cluster if it has none."""
        name = claim.node_pool
        nodes = [
            node
            for node in self._cache.nodes.all()
            if not name or node.metadata.labels.get(labels.NODE_POOL) == name
        ]
        pool = self._cache.pool(name) if name else None
        return RepairScope(
            n_nodes=len(nodes),
            n_unhealthy=sum(self._is_unhealthy(node) for node in nodes),
            node_pool=name,
            node_pool_uid=pool.metadata.uid if pool is not None else "",
        )

    def _is_unhealthy(self, node: api.Node) -> bool:
        statuses = ((condition.type, condition.status) for condition in node.status.conditions)
        return is_unhealthy(statuses, self._policies)
