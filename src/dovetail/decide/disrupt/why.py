"""Explains for every node why it stays.

A plan tells of nodes that could go but may not. Here are also those that were no candidates at all:
nodes of others, nodes that still start or are on their way out, that are not quiet yet, or that
nobody wants to go; and for a single node everything that is in its way, not only the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.decide.apply import begin
from dovetail.decide.disrupt.blockers import block
from dovetail.decide.disrupt.budgets import UNLIMITED, allowances, allowed_disruptions
from dovetail.decide.disrupt.candidates import Scene, disruption_verdict, scene_of
from dovetail.decide.disrupt.course import over_budget
from dovetail.decide.disrupt.emptiness import is_empty, is_quiet
from dovetail.decide.lifecycle.conditions import DRIFTED, rfc3339
from dovetail.decide.pools import pools_by_name
from dovetail.model.node import Node
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.pool import ConsolidationPolicy, NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker
from dovetail.units import duration

# What keeps a node whatever its pool and its pods say, so that those are worth hearing too.
_BY_ITSELF: Final = frozenset({Blocker.NOMINATED, Blocker.NODE_PROTECTED, Blocker.SETBACK})


def staying_nodes(snapshot: Snapshot, plan: Plan, now: datetime) -> tuple[Blocked, ...]:
    """Why each node stays that the plan does not take away, by its name."""
    going = {name for disruption in plan.disruptions for name in disruption.nodes}
    told = {verdict.node: verdict for verdict in plan.blocked}
    scene = scene_of(snapshot, plan, now)
    return tuple(
        told.get(node.name) or _default_reason(node, scene, plan)
        for node in sorted(snapshot.nodes, key=lambda node: node.name)
        if node.name not in going
    )


def obstacles(node: Node, snapshot: Snapshot, plan: Plan, now: datetime) -> tuple[Blocked, ...]:
    """Everything that keeps this node now, what the plan tells of it first."""
    scene = scene_of(snapshot, plan, now)
    told = [verdict for verdict in plan.blocked if verdict.node == node.name]
    verdicts = [*told, *_reasons(node, scene)]
    if not any(verdict.reason == Blocker.NODE_POOL_BUDGET for verdict in verdicts):
        verdicts += _budget(node, scene, plan)
    verdicts = verdicts or [_default_reason(node, scene, plan)]
    unique: dict[tuple[str, str], Blocked] = {}
    for verdict in verdicts:
        unique.setdefault((verdict.reason, verdict.message), verdict)
    return tuple(unique.values())


def cause(node: Node, scene: Scene) -> DisruptionReason:
    """For which reason this node would go, if for any."""
    if any(item.type == DRIFTED and item.status == "True" for item in node.conditions):
        return DisruptionReason.DRIFTED
    if is_empty(scene.pods_by_node.get(node.name, ())):
        return DisruptionReason.EMPTY
    return DisruptionReason.UNDERUTILIZED


def tightest(name: str, snapshot: Snapshot, reason: str, now: datetime) -> str:
    """Which budget of a pool binds for this reason, as one writes it; nothing if none does."""
    by_pool = allowances(snapshot, reason, now)
    for pool in snapshot.node_pools:
        for index, budget in enumerate(pool.disruption.budgets):
            is_meant = pool.name == name and budget.is_about(reason)
            n_nodes, n_allowed = by_pool[pool.name].n_nodes, by_pool[pool.name].n_allowed
            if is_meant and allowed_disruptions((budget,), n_nodes, now) == n_allowed < UNLIMITED:
                return f"budgets[{index}], nodes {budget.nodes}"
    return ""


def _default_reason(node: Node, scene: Scene, plan: Plan) -> Blocked:
    """Why a node stays that the plan does not speak of."""
    why = cause(node, scene)
    verdict = next(_reasons(node, scene), None)
    if verdict is not None:
        return verdict
    if why not in scene.snapshot.policy.disrupts_for:
        return block(node.name, Blocker.NOT_WANTED, cause=why)
    for proposal in plan.proposals:
        if proposal.node == node.name:
            at = proposal.since + scene.snapshot.policy.confirm_after
            facts = {"cause": proposal.reason, "confirmed_at": rfc3339(at)}
            return block(node.name, Blocker.UNCONFIRMED, until=at, **facts)
    return block(node.name, Blocker.NOT_LOOKED_AT)


def _reasons(node: Node, scene: Scene) -> Iterator[Blocked]:
    """What keeps a node, from what it is to who is on it."""
    verdict = disruption_verdict(node, scene, ignores_pods=True)
    if verdict is not None:
        yield verdict
    pool = pools_by_name(scene.snapshot.node_pools).get(node.node_pool)
    if (verdict is not None and verdict.reason not in _BY_ITSELF) or pool is None or pool.problems:
        return
    if pool.replicas is not None:
        yield block(node.name, Blocker.STATIC, pool=pool.name, replicas=pool.replicas)
        return
    why = cause(node, scene)
    if why != DisruptionReason.DRIFTED:
        yield from _consolidation_blockers(node, pool, why, scene.now)
    if why != DisruptionReason.DRIFTED or node.termination_grace_period is None:
        yield from _pods(node, scene)


def _consolidation_blockers(
    node: Node, pool: NodePool, why: DisruptionReason, now: datetime
) -> Iterator[Blocked]:
    """What its pool says of when nodes may go to save money."""
    wanted = pool.disruption
    if wanted.consolidate_after is None:
        yield block(node.name, Blocker.NEVER, pool=pool.name)
        return
    is_bare = why == DisruptionReason.EMPTY
    if not is_bare and wanted.consolidation_policy == ConsolidationPolicy.WHEN_EMPTY:
        yield block(node.name, Blocker.WHEN_EMPTY, pool=pool.name)
    if not is_quiet(node):
        until = _quiet_at(node, wanted.consolidate_after, now)
        quiet_for = duration.render(wanted.consolidate_after)
        yield block(node.name, Blocker.NOT_QUIET, until=until, pool=pool.name, quiet_for=quiet_for)


def _quiet_at(node: Node, quiet_for: timedelta, now: datetime) -> datetime | None:
    """When the node will be quiet, if that is known and still to come."""
    if node.last_pod_event_at is None:
        return None
    at = node.last_pod_event_at + quiet_for
    return at if at > now else None


def _pods(node: Node, scene: Scene) -> Iterator[Blocked]:
    """What each of its pods says, one by one."""
    before = disruption_verdict(node, scene, ignores_pods=True)
    free = msgspec.structs.replace(node, annotations={})
    for pod in sorted(scene.pods_by_node.get(node.name, ()), key=lambda pod: pod.key):
        by_node = {node.name: (pod,)}
        alone = msgspec.structs.replace(scene, pods_by_node=by_node, nominated=frozenset())
        verdict = disruption_verdict(free, alone)
        if verdict is not None and (before is None or verdict.reason != before.reason):
            yield verdict


def _budget(node: Node, scene: Scene, plan: Plan) -> Iterator[Blocked]:
    """The budgets of its pool, if what the plan does leaves nothing of them."""
    why = cause(node, scene)
    world = begin(scene.snapshot, plan, scene.now)
    budget = allowances(world, why, scene.now).get(node.node_pool)
    if node.node_claim and budget is not None and not budget.n_remaining:
        yield over_budget(node, why, budget)
