"""Which clusters are measured? One function each, from a size and a seed to a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from benchmarks import catalogues, fleet_mix
from benchmarks.diverse_mix import diverse_pod
from benchmarks.seeds import seeded
from benchmarks.tiny_mix import tiny_pods
from benchmarks.workloads import (
    Deployment,
    everyday_requests,
    odd_requests,
    pods_of,
    sizes,
)
from dovetail.model.pod import PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot


def plain(n_pods: int, seed: int = 1) -> Snapshot:
    """Deployments of heavy-tailed size without constraints, on the cloud's catalogue."""
    chance = seeded("plain", seed)
    deployments = [
        Deployment(f"plain-{ordinal}", size, PodSpec(requests=everyday_requests(chance)))
        for ordinal, size in enumerate(sizes(n_pods, chance))
    ]
    return _unconstrained(deployments, seed)


def odd(n_pods: int, seed: int = 1) -> Snapshot:
    """As `plain`, but every deployment has its own odd request: no two shapes repeat."""
    chance = seeded("odd", seed)
    deployments = [
        Deployment(f"odd-{ordinal}", size, PodSpec(requests=odd_requests(chance)))
        for ordinal, size in enumerate(sizes(n_pods, chance))
    ]
    return _unconstrained(deployments, seed)


def fleet(n_pods: int, seed: int = 1) -> Snapshot:
    """As `plain`, with mixed constraints, two pools, daemon sets and a few preferences."""
    chance = seeded("fleet", seed)
    deployments = fleet_mix.deployments(n_pods, chance)
    types = catalogues.cloud(seed)
    pools = fleet_mix.pools()
    return Snapshot(
        pods=tuple(pod for one in deployments for pod in pods_of(one)),
        node_pools=pools,
        instance_types={pool.name: types for pool in pools},
        daemon_sets=fleet_mix.daemon_sets(),
        namespaces={"bench": {}, "kube-system": {}},
    )


def diverse(n_pods: int, seed: int = 1) -> Snapshot:
    """The reference's own benchmark mix, on 400 types with linear prices."""
    chance = seeded("diverse", seed)
    return Snapshot(
        pods=tuple(diverse_pod(ordinal, chance) for ordinal in range(n_pods)),
        node_pools=(NodePool("default"),),
        instance_types={"default": catalogues.linear()},
        namespaces={"bench": {}},
    )


def tiny(seed: int) -> Snapshot:
    """6 to 25 pods, 8 types, 3 zones, every kind of constraint; a solution exists."""
    chance = seeded("tiny", seed)
    types = catalogues.tiny(chance)
    return Snapshot(
        pods=tiny_pods(types, chance),
        node_pools=(NodePool("default"),),
        instance_types={"default": types},
        namespaces={"bench": {}},
    )


SCENARIOS: Final[dict[str, Callable[[int, int], Snapshot]]] = {
    "plain": plain,
    "fleet": fleet,
    "diverse": diverse,
    "odd": odd,
}


def _unconstrained(deployments: list[Deployment], seed: int) -> Snapshot:
    return Snapshot(
        pods=tuple(pod for one in deployments for pod in pods_of(one)),
        node_pools=(NodePool("default", requirements=(fleet_mix.steady_machines(),)),),
        instance_types={"default": catalogues.cloud(seed)},
        namespaces={"bench": {}},
    )
