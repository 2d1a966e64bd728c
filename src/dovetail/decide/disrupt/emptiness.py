"""Finds empty nodes that may go.

A node is empty when none of its pods would want another node were it gone: daemon pods and static
pods are part of it. An empty node that has been quiet for as long as its pool wants is proposed;
it goes once that has stood for `Policy.confirm_after`, the dearest first, while budgets last. Pods
for which a plan keeps room, those of capacity buffers too, count as pods of the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from dovetail.decide.disrupt.blockers import block
from dovetail.decide.disrupt.budgets import Allowance, allowances
from dovetail.decide.disrupt.candidates import Findings, Scene, disruption_verdict
from dovetail.decide.lifecycle.conditions import CONSOLIDATABLE
from dovetail.decide.lifecycle.protection import is_active
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.nodes import census, with_memory
from dovetail.decide.pools import node_saving, pools_by_name, price_of, prices
from dovetail.model.ledger import Proposal
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker

_REASON = DisruptionReason.EMPTY


class _Empty(msgspec.Struct, frozen=True):
    """An empty node that nothing keeps, since when that is known, and what it costs: the
    provider's price, and the price per node of its pool.
    """

    node: Node
    since: datetime
    price_nanousd: int
    node_price_nanousd: int


def emptiness(scene: Scene) -> Findings:
    """The empty nodes that may go now, those that wait to be confirmed, and those that may not."""
    empty = [
        node
        for node in _empty_nodes(scene.snapshot.nodes, scene.snapshot.pods)
        if node.name not in scene.leaving and is_dynamic(node, scene.snapshot)
    ]
    idle = [node for node in empty if is_quiet(node) or _is_for_ever(node, scene)]
    if not idle:
        return Findings()
    verdicts = [(node, _verdict(node, scene)) for node in idle]
    kept = [verdict for _, verdict in verdicts if verdict is not None]
    free = _dearest_first(scene, [node for node, verdict in verdicts if verdict is None])
    budgets = allowances(scene.snapshot, _REASON, scene.now)
    taken, held_back = _within_budgets(scene, free, budgets)
    return Findings(
        disruptions=_disruptions(taken),
        proposals=tuple(
            Proposal(_REASON, item.node.name, item.since)
            for item in sorted(free, key=lambda empty: empty.node.name)
        ),
        blocked=tuple(sorted((*kept, *held_back), key=lambda blocked: blocked.node)),
        wake_at=soonest(
            *(item.until for item in kept),
            *(_confirmed_at(item, scene) for item in free),
            *(budgets[item.node.node_pool].changes_at for item in free),
        ),
    )


def is_empty(pods: Sequence[Pod]) -> bool:
    """Whether none of these pods would want another node.

    A node whose pods all have a priority so low that they count as nothing is not called empty,
    though the reference would.
    """
    return not any(is_reschedulable(pod) for pod in pods)


def is_reschedulable(pod: Pod) -> bool:
    """Whether the pod would want another node were its own gone."""
    if pod.is_daemon or pod.is_mirror:
        return False
    is_coming_back = pod.owner is not None and pod.owner.kind == "StatefulSet"
    return is_active(pod) or (is_coming_back and pod.deleting_at is not None)


@with_memory
def _empty_nodes(nodes: tuple[Node, ...], pods: tuple[Pod, ...]) -> tuple[Node, ...]:
    """Nodes of ours that have started and that nobody needs."""
    by_node = census(pods).by_node
    empty_nodes = [
        node
        for node in nodes
        if (is_quiet(node) or node.is_initialized) and is_empty(by_node.get(node.name, ()))
    ]
    return tuple(sorted(empty_nodes, key=lambda node: node.name))


def is_quiet(node: Node) -> bool:
    """Whether no pod has come or gone for as long as its pool wants, as its claim says."""
    return any(item.type == CONSOLIDATABLE and item.status == "True" for item in node.conditions)


def is_dynamic(node: Node, snapshot: Snapshot) -> bool:
    """Static pools say how many nodes they want, empty or not."""
    pool = pools_by_name(snapshot.node_pools).get(node.node_pool)
    return pool is None or pool.replicas is None


def _verdict(node: Node, scene: Scene) -> Blocked | None:
    if node.node_pool in _never_emptied(scene.snapshot.node_pools):
        return block(node.name, Blocker.NEVER, pool=node.node_pool)
    verdict = disruption_verdict(node, scene)
    is_buffered = node.name in scene.buffered or node.node_claim in scene.buffered
    if verdict is None and is_buffered:  # against nothing else
        return block(node.name, Blocker.NOMINATED)
    return verdict


def _is_for_ever(node: Node, scene: Scene) -> bool:
    """Whether its pool never consolidates; then its claim never says that it is quiet."""
    return bool(node.node_claim) and node.node_pool in _never_emptied(scene.snapshot.node_pools)


@with_memory
def _never_emptied(pools: tuple[NodePool, ...]) -> frozenset[str]:
    """Names of pools whose nodes are never taken away for being empty."""
    return frozenset(
        pool.name
        for pool in pools
        if not pool.problems and pool.disruption.consolidate_after is None
    )


def _dearest_first(scene: Scene, nodes: Sequence[Node]) -> list[_Empty]:
    """By what it saves to take the node away; nothing moves, so that is all there is to weigh."""
    ledger, known = scene.snapshot.ledger, prices(scene.snapshot)
    since = {item.node: item.since for item in ledger.proposals if item.reason == _REASON}
    empties = [
        _Empty(
            node,
            min(since.get(node.name, scene.now), scene.now),
            price_of(node, known),
            node_saving(scene.snapshot, (node,)),
        )
        for node in nodes
    ]
    return sorted(
        empties,
        key=lambda empty: (-empty.price_nanousd - empty.node_price_nanousd, empty.node.name),
    )


def _confirmed_at(empty: _Empty, scene: Scene) -> datetime | None:
    """When the node has been seen fit to go for long enough; None once it has."""
    at = empty.since + scene.snapshot.policy.confirm_after
    return at if at > scene.now else None


def _within_budgets(
    scene: Scene, free: Sequence[_Empty], budgets: dict[str, Allowance]
) -> tuple[list[_Empty], list[Blocked]]:
    """Those that may go now, and those that are only held back by the budgets of their pool."""
    n_taken: dict[str, int] = {}
    taken: list[_Empty] = []
    over: list[_Empty] = []
    for empty in free:
        pool = empty.node.node_pool
        if _confirmed_at(empty, scene) is not None:
            continue
        if n_taken.get(pool, 0) < budgets[pool].n_remaining:
            n_taken[pool] = n_taken.get(pool, 0) + 1
            taken.append(empty)
        else:
            over.append(empty)
    return taken, list(_over_budget(over, budgets, n_taken))


def _over_budget(
    over: Sequence[_Empty], budgets: dict[str, Allowance], n_taken: dict[str, int]
) -> Iterator[Blocked]:
    for empty in over:
        pool = empty.node.node_pool
        budget = budgets[pool]
        yield block(
            empty.node.name,
            Blocker.NODE_POOL_BUDGET,
            pool=pool,
            cause=_REASON,
            allowed=budget.n_allowed,
            nodes=budget.n_nodes,
            disrupting=budget.n_disrupting,
            taken=n_taken.get(pool, 0),
            needed=budget.n_disrupting + n_taken.get(pool, 0) + 1,
            until=budget.changes_at,
        )


def _disruptions(taken: Sequence[_Empty]) -> tuple[Disrupt, ...]:
    if not taken:
        return ()
    return (
        Disrupt(
            reason=_REASON,
            nodes=tuple(empty.node.name for empty in taken),
            saving_nanousd=sum(empty.price_nanousd for empty in taken),
            node_saving_nanousd=sum(empty.node_price_nanousd for empty in taken),
        ),
    )
