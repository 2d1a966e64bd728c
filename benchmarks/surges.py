"""What if much comes at once where much is there already? Clusters with nodes, and pods that wait.

    surge    1,000 full nodes, and 2,000 pods of which no two of a deployment share a node (or zone)
    crowd    1,060 nodes of 20 pools, and 2,170 pods, each for one of the pools

Nodes are of one middling size and filled by pods of their own, so that a cluster takes moments to
build. What waits is drawn from the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks import catalogues, fleet_mix
from benchmarks.catalogues import ZONES
from benchmarks.seeds import seeded
from benchmarks.standing import numbered_node
from benchmarks.workloads import NAMESPACE, Deployment, everyday_requests, pods_of, sizes
from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pod import Owner, Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Operator, requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import PodTerm, equality

N_FULL_NODES: Final = 1_000
N_CROWD_NODES: Final = 1_060
N_TEAMS: Final = 20
_STANDING: Final = "m5.4xlarge"
_TEAM: Final = "example.com/team"
_PODS_A_NODE: Final = 7
_FREE_IN_CROWD: Final = 0.15  # of the nodes' cpu and memory
_REPLICAS_APART: Final = 50  # of a deployment that keeps off its own nodes


def host_surge(n_pods: int, seed: int = 1) -> Snapshot:
    """Full nodes, and deployments whose pods each want a node of their own."""
    return _surge(n_pods, seed, labels.HOSTNAME, _REPLICAS_APART)


def zone_surge(n_pods: int, seed: int = 1) -> Snapshot:
    """Full nodes, and deployments whose pods each want a zone of their own: three at most."""
    return _surge(n_pods, seed, labels.ZONE, len(ZONES))


def _surge(n_pods: int, seed: int, topology_key: str, n_replicas: int) -> Snapshot:
    chance = seeded(f"surge {topology_key}", seed)
    pool = NodePool("default", requirements=(fleet_mix.steady_machines(),))
    types = catalogues.cloud(seed)
    nodes = [_node(number, pool, types) for number in range(N_FULL_NODES)]
    coming: list[Pod] = []
    for ordinal, start in enumerate(range(0, n_pods, n_replicas)):
        name = f"surge-{ordinal}"
        apart = (PodTerm(topology_key, equality({"app": name})),)
        spec = PodSpec(requests=everyday_requests(chance), anti_affinity=apart)
        coming += pods_of(Deployment(name, min(n_replicas, n_pods - start), spec))
    return Snapshot(
        pods=(*_filling(nodes, 0.0), *coming),
        nodes=tuple(nodes),
        node_pools=(pool,),
        instance_types={pool.name: types},
        namespaces={NAMESPACE: {}},
    )


def crowd(n_pods: int, seed: int = 1) -> Snapshot:
    """Nodes of many teams with some room, and pods that each belong to one team."""
    chance = seeded("crowd", seed)
    pools = [_team_pool(number) for number in range(N_TEAMS)]
    types = catalogues.cloud(seed)
    nodes = [_node(number, pools[number % N_TEAMS], types) for number in range(N_CROWD_NODES)]
    coming: list[Pod] = []
    for ordinal, size in enumerate(sizes(n_pods, chance)):
        pool = chance.choice(pools)
        spec = PodSpec(
            requests=everyday_requests(chance),
            node_selector={_TEAM: pool.name},
            tolerations=(Toleration(_TEAM, value=pool.name),),
        )
        coming += pods_of(Deployment(f"crowd-{ordinal}", size, spec))
    return Snapshot(
        pods=(*_filling(nodes, _FREE_IN_CROWD), *coming),
        nodes=tuple(nodes),
        node_pools=tuple(pools),
        instance_types={pool.name: types for pool in pools},
        namespaces={NAMESPACE: {}},
    )


def _team_pool(number: int) -> NodePool:
    name = f"team-{number:02}"
    return NodePool(
        name,
        labels={_TEAM: name},
        taints=(Taint(_TEAM, name),),
        requirements=(
            fleet_mix.steady_machines(),
            requirement(labels.CAPACITY_TYPE, Operator.IN, (labels.SPOT, labels.ON_DEMAND)),
        ),
    )


def _node(number: int, pool: NodePool, types: tuple[InstanceType, ...]) -> Node:
    kind = next(one for one in types if one.name == _STANDING)
    return numbered_node(number, pool, kind)


def _filling(nodes: list[Node], left: float) -> Iterator[Pod]:
    """Pods that fill nodes but for this share of them; those of a pool share a template."""
    specs = {node.node_pool: _filler(node, left) for node in nodes}
    labels_by_key = [{"app": f"standing-{number}"} for number in range(_PODS_A_NODE)]
    for node in nodes:
        for number in range(_PODS_A_NODE):
            name = f"{node.name}-{number}"
            yield Pod(
                name=name,
                namespace=NAMESPACE,
                spec=specs[node.node_pool],
                uid=name,
                labels=labels_by_key[number],
                owner=Owner("ReplicaSet", f"standing-{number}", uid=f"standing-{number}"),
                node_name=node.name,
                phase="Running",
            )


def _filler(node: Node, left: float) -> PodSpec:
    share = {
        name: int(node.allocatable[name] * (1 - left)) // _PODS_A_NODE for name in ("cpu", "memory")
    }
    tolerations = (Toleration(_TEAM, value=node.node_pool),)
    return PodSpec(requests={**share, "pods": 1}, tolerations=tolerations)
