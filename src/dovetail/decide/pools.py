"""Which NodePools may grow for pods, and by how much?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dovetail.decide.explain import say
from dovetail.decide.nodes import is_leaving
from dovetail.decide.recall import recalled
from dovetail.model.node import Node
from dovetail.model.pool import NodePool
from dovetail.model.resources import NODES
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Problem, Reason

RefusedPool = tuple[NodePool, Problem]


@recalled
def pools_by_name(pools: tuple[NodePool, ...]) -> Mapping[str, NodePool]:
    """The pools of a snapshot, to be looked up for every node."""
    return {pool.name: pool for pool in pools}


def eligible_pools(snapshot: Snapshot) -> tuple[tuple[NodePool, ...], tuple[RefusedPool, ...]]:
    """Pools that may launch nodes, heaviest first, and the others with what keeps them out."""
    eligible: list[NodePool] = []
    refused: list[RefusedPool] = []
    for pool in sorted(snapshot.node_pools, key=lambda pool: (-pool.weight, pool.name)):
        problem = _problem(pool, n_types=len(snapshot.instance_types.get(pool.name, ())))
        if problem is None:
            eligible.append(pool)
        else:
            refused.append((pool, problem))
    return tuple(eligible), tuple(refused)


def _problem(pool: NodePool, *, n_types: int) -> Problem | None:
    if pool.replicas is not None:
        return Problem(
            Reason.NODE_POOL_STATIC,
            say(Reason.NODE_POOL_STATIC, replicas=str(pool.replicas)),
            f"use a NodePool without replicas, or raise replicas of NodePool {pool.name}",
        )
    if pool.is_deleting:
        return _not_ready("it is being deleted", "use another NodePool")
    if pool.problems:
        first = pool.problems[0]
        return _not_ready(first.message.rstrip("."), first.fix or f"correct NodePool {pool.name}")
    if not pool.is_ready:
        return _not_ready(
            "its Ready condition is not True",
            f"see the conditions of NodePool {pool.name} and of its node class",
        )
    if not n_types:
        return Problem(
            Reason.NO_INSTANCE_TYPES,
            say(Reason.NO_INSTANCE_TYPES, why="its provider lists no instance types"),
            f"check the node class of NodePool {pool.name}",
        )
    return None


def _not_ready(why: str, fix: str) -> Problem:
    return Problem(Reason.NODE_POOL_NOT_READY, say(Reason.NODE_POOL_NOT_READY, why=why), fix)


def remaining_limits(pool: NodePool, nodes: Iterable[Node]) -> dict[str, int]:
    """What the pool's limits leave, `nodes` included; negative where they are exceeded already.

    Counted in capacity. Nodes on their way out no longer count (spec/core.md 3.7).
    """
    remaining = dict(pool.limits)
    if not remaining:
        return remaining
    for node in nodes:
        if node.node_pool != pool.name or is_leaving(node):
            continue
        for name in remaining:
            remaining[name] -= 1 if name == NODES else node.capacity.get(name, 0)
    return remaining
