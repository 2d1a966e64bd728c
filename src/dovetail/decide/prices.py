"""What do the nodes cost that are there? As far as a catalogue still knows their offering."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.decide.nodes import leaving
from dovetail.decide.recall import recalled
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot

Prices = Mapping[tuple[str, str, str, str], int]  # by pool, type, zone and capacity type


def prices(snapshot: Snapshot) -> Prices:
    """What every offering of every pool costs, per hour."""
    return _prices(snapshot.node_pools, snapshot.instance_types)


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
def _running_price(nodes: tuple[Node, ...], gone: frozenset[str], known: Prices) -> int:
    return sum(price_of(node, known) for node in nodes if node.node_pool and node.name not in gone)
