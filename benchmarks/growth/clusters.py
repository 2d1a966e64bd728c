"""Which clusters grow? One function for each axis, from a size and a seed to a snapshot.

pods     the scenario `fleet` of so many pods, on the cloud's 1,222 types
nodes    so many nodes with some room, and 2,000 pods of `fleet` that wait
types    `fleet` of 5,000 pods, on so many types
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from benchmarks import catalogues, fleet_mix
from benchmarks.growth.catalogue import catalogue
from benchmarks.scenarios import fleet
from benchmarks.seeds import seeded
from benchmarks.standing import numbered_node
from benchmarks.workloads import NAMESPACE, pods_of
from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pod import Owner, Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot

N_WAITING: Final = 2_000
N_FLEET: Final = 5_000
_STANDING: Final = ("m5.4xlarge", "c5.4xlarge", "r5.4xlarge", "m6g.8xlarge", "r6i.8xlarge")
_PODS_A_NODE: Final = 8
_FREE: Final = 0.15  # of the nodes' cpu and memory


def over_pods(n_pods: int, seed: int = 1) -> Snapshot:
    """Everything waits, and there is no node."""
    return fleet(n_pods, seed)


def over_nodes(n_nodes: int, seed: int = 1) -> Snapshot:
    """Nodes that are nearly full; some of what waits fits on them, if there are many."""
    types = catalogues.cloud(seed)
    pool = NodePool("default", requirements=(fleet_mix.steady_machines(),))
    standing = [one for one in types if one.name in _STANDING]
    nodes = tuple(_node(number, pool, standing) for number in range(n_nodes))
    coming = fleet_mix.deployments(N_WAITING, seeded("growth over nodes", seed))
    return Snapshot(
        pods=(*_filling(nodes), *(pod for one in coming for pod in pods_of(one))),
        nodes=nodes,
        node_pools=(pool,),
        instance_types={pool.name: types},
        namespaces={NAMESPACE: {}},
    )


def over_types(n_types: int, seed: int = 1) -> Snapshot:
    """Both pools of `fleet` choose from the same types, as many as were asked for."""
    types = catalogue(n_types, seed)
    found = fleet(N_FLEET, seed)
    return msgspec.structs.replace(found, instance_types=dict.fromkeys(found.instance_types, types))


CLUSTERS: Final[dict[str, Callable[[int, int], Snapshot]]] = {
    "pods": over_pods,
    "nodes": over_nodes,
    "types": over_types,
}


def _node(number: int, pool: NodePool, standing: list[InstanceType]) -> Node:
    """Kinds and zones in turns; five kinds and three zones give every pair."""
    kind = standing[number % len(standing)]
    return numbered_node(number, pool, kind)


def _filling(nodes: tuple[Node, ...]) -> Iterator[Pod]:
    """Pods that leave some room; those on nodes of one kind share a template."""
    specs = {node.labels[labels.INSTANCE_TYPE]: _filler(node) for node in nodes}
    for node in nodes:
        for ordinal in range(_PODS_A_NODE):
            name = f"{node.name}-{ordinal}"
            app = f"standing-{ordinal}"
            yield Pod(
                name=name,
                namespace=NAMESPACE,
                spec=specs[node.labels[labels.INSTANCE_TYPE]],
                uid=name,
                labels={"app": app},
                owner=Owner("ReplicaSet", app, uid=app),
                node_name=node.name,
                phase="Running",
            )


def _filler(node: Node) -> PodSpec:
    share = {
        name: int(node.allocatable[name] * (1 - _FREE)) // _PODS_A_NODE
        for name in ("cpu", "memory")
    }
    return PodSpec(requests={**share, "pods": 1})
