"""What does a node look like that has been there for a while?"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.catalogues import ZONES
from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pool import NodePool


def numbered_node(number: int, pool: NodePool, kind: InstanceType) -> Node:
    """A node on demand with a number for its name, in the zones by turns."""
    name = f"standing-{number:04}"
    labels_by_key = {
        **kind.requirements.single_values(),
        **pool.labels,
        labels.HOSTNAME: name,
        labels.ZONE: ZONES[number % len(ZONES)],
        labels.CAPACITY_TYPE: labels.ON_DEMAND,
    }
    return standing_node(name, pool, kind, labels_by_key)


def standing_node(
    name: str, pool: NodePool, kind: InstanceType, labels_by_key: Mapping[str, str]
) -> Node:
    """A node of a pool, registered and started, with these labels besides those that say so."""
    return Node(
        name=name,
        labels={
            **labels_by_key,
            labels.NODE_POOL: pool.name,
            labels.REGISTERED: "true",
            labels.INITIALIZED: "true",
        },
        taints=pool.taints,
        capacity=kind.capacity,
        allocatable=kind.allocatable,
        node_pool=pool.name,
        node_claim=name,
        provider_id=f"bench://{name}",
    )
