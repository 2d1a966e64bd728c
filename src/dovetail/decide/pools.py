"""Says which NodePools may grow for pods and by how much, and what their nodes cost.

Moves are compared by what a node costs in all: its provider's price and the price per node of its
pool (`Policy.node_price_nanousd`). What is shown as money is the provider's price alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dovetail.decide.explain import say
from dovetail.decide.nodes import is_leaving, leaving_nodes, with_memory
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.resources import NODES
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Problem, Reason

RefusedPool = tuple[NodePool, Problem]
Prices = Mapping[tuple[str, str, str, str], int]  # by pool, type, zone and capacity type


@with_memory
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

    Counted in capacity. Nodes on their way out no longer count.
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


def prices(snapshot: Snapshot) -> Prices:
    """What every offering of every pool costs, per hour."""
    return _prices(snapshot.node_pools, snapshot.instance_types)


def whole_prices(snapshot: Snapshot) -> Prices:
    """The same with the price per node of each pool: what moves are compared by."""
    return _whole_prices(prices(snapshot), snapshot.node_pools, snapshot.policy)


def has_node_prices(snapshot: Snapshot) -> bool:
    """Whether nodes of any pool have a price of their own."""
    return any(map(snapshot.policy.node_price_of, snapshot.node_pools))


def node_price(pools: Iterable[str], snapshot: Snapshot) -> int:
    """What nodes of these pools cost beside their provider's prices, one for each name."""
    known = {pool.name: snapshot.policy.node_price_of(pool) for pool in snapshot.node_pools}
    return sum(known.get(name, 0) for name in pools) if any(known.values()) else 0


def launch_price(launches: Iterable[Launch], snapshot: Snapshot) -> int:
    """What these launches cost in all, with the price per node."""
    made = tuple(launches)
    paid = sum(launch.price_nanousd for launch in made)
    return paid + node_price((launch.node_pool for launch in made), snapshot)


def node_saving(snapshot: Snapshot, going: Iterable[Node], launches: Iterable[Launch] = ()) -> int:
    """What is saved of node prices if these nodes go and those launches come."""
    known, whole = prices(snapshot), whole_prices(snapshot)
    saved = sum(price_of(node, whole) - price_of(node, known) for node in going)
    return saved - node_price((launch.node_pool for launch in launches), snapshot)


def price_of(node: Node, known: Prices) -> int:
    """What a node costs; nothing if nobody knows."""
    return known.get((node.node_pool, node.instance_type, node.zone, node.capacity_type), 0)


def running_price(snapshot: Snapshot) -> int:
    """What the cluster's own nodes cost, without those on their way out."""
    return _running_price(snapshot.nodes, leaving_nodes(snapshot), prices(snapshot))


@with_memory
def _prices(pools: tuple[NodePool, ...], types: Mapping[str, tuple[InstanceType, ...]]) -> Prices:
    return {
        (pool.name, kind.name, offering.zone, offering.capacity_type): offering.price_nanousd
        for pool in pools
        for kind in types.get(pool.name, ())
        for offering in kind.offerings
    }


@with_memory
def _whole_prices(known: Prices, pools: tuple[NodePool, ...], policy: Policy) -> Prices:
    more = {pool.name: policy.node_price_of(pool) for pool in pools}
    if not any(more.values()):
        return known
    return {key: price + more[key[0]] for key, price in known.items()}


@with_memory
def _running_price(nodes: tuple[Node, ...], gone: frozenset[str], known: Prices) -> int:
    return sum(price_of(node, known) for node in nodes if node.node_pool and node.name not in gone)
