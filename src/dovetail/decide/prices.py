"""What do nodes cost? Those that are there, as far as a catalogue still knows their offering.

Moves are compared by what a node costs in all: its provider's price and the price per node of its
pool (`Policy.node_price_nanousd`). What is shown as money is the provider's price alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dovetail.decide.census import recalled
from dovetail.decide.nodes import leaving
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot

Prices = Mapping[tuple[str, str, str, str], int]  # by pool, type, zone and capacity type


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
    paid = sum(one.price_nanousd for one in made)
    return paid + node_price((one.node_pool for one in made), snapshot)


def node_saving(snapshot: Snapshot, going: Iterable[Node], launches: Iterable[Launch] = ()) -> int:
    """What is saved of node prices if these nodes go and those launches come."""
    known, whole = prices(snapshot), whole_prices(snapshot)
    saved = sum(price_of(node, whole) - price_of(node, known) for node in going)
    return saved - node_price((one.node_pool for one in launches), snapshot)


def price_of(node: Node, known: Prices) -> int:
    """What a node costs; nothing if nobody knows."""
    return known.get((node.node_pool, node.instance_type, node.zone, node.capacity_type), 0)


def running_price(snapshot: Snapshot) -> int:
    """What the cluster's own nodes cost, without those on their way out."""
    return _running_price(snapshot.nodes, leaving(snapshot), prices(snapshot))


@recalled
def _prices(pools: tuple[NodePool, ...], types: Mapping[str, tuple[InstanceType, ...]]) -> Prices:
    return {
        (pool.name, kind.name, one.zone, one.capacity_type): one.price_nanousd
        for pool in pools
        for kind in types.get(pool.name, ())
        for one in kind.offerings
    }


@recalled
def _whole_prices(known: Prices, pools: tuple[NodePool, ...], policy: Policy) -> Prices:
    more = {pool.name: policy.node_price_of(pool) for pool in pools}
    if not any(more.values()):
        return known
    return {key: price + more[key[0]] for key, price in known.items()}


@recalled
def _running_price(nodes: tuple[Node, ...], gone: frozenset[str], known: Prices) -> int:
    return sum(price_of(node, known) for node in nodes if node.node_pool and node.name not in gone)
