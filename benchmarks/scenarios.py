"""Which clusters are measured? One function each, from a size and a seed to a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from benchmarks import catalogues, fleet_mix, gpu_mix
from benchmarks.diverse_mix import diverse_pod, reference_pod
from benchmarks.fleet_mix import steady_machines
from benchmarks.seeds import seeded
from benchmarks.surges import crowd, host_surge, zone_surge
from benchmarks.tiny_mix import tiny_pods
from benchmarks.workloads import (
    Deployment,
    Requests,
    everyday_requests,
    odd_requests,
    pods_of,
    production_requests,
    sizes,
)
from dovetail import labels
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Operator, Requirement, requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import Spread, equality

_N_HUGE: Final = 5
_CRUMB: Final = 3  # pods of the largest of tiny deployments


def plain(n_pods: int, seed: int = 1) -> Snapshot:
    """Deployments of heavy-tailed size without constraints, on the cloud's catalogue."""
    return _unconstrained(_plain_deployments(n_pods, seed, everyday_requests), seed)


def wide_plain(n_pods: int, seed: int = 1) -> Snapshot:
    """As `plain`, by production traces, and a pool that takes whatever the cloud sells."""
    deployments = _plain_deployments(n_pods, seed, production_requests)
    return _unconstrained(deployments, seed, NodePool("default"))


def wide_on_demand(n_pods: int, seed: int = 1) -> Snapshot:
    """The pods of `wide_plain`, on machines that nobody takes back."""
    wanted = requirement(labels.CAPACITY_TYPE, Operator.IN, (labels.ON_DEMAND,))
    deployments = _plain_deployments(n_pods, seed, production_requests)
    return _unconstrained(deployments, seed, NodePool("default", requirements=(wanted,)))


def _plain_deployments(n_pods: int, seed: int, requests: Requests) -> list[Deployment]:
    chance = seeded("plain", seed)
    return [
        Deployment(f"plain-{ordinal}", size, PodSpec(requests=requests(chance)))
        for ordinal, size in enumerate(sizes(n_pods, chance))
    ]


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
    return _on_fleet_pools(fleet_mix.deployments(n_pods, chance), seed, steady_machines())


def production(n_pods: int, seed: int = 1) -> Snapshot:
    """As `fleet`, by production traces, and pools of machines with at most 64 cpus: who runs a
    cluster does not want to lose hundreds of pods with one node.
    """
    return _production(n_pods, seed, steady_machines(), fleet_mix.no_giants())


def wide_fleet(n_pods: int, seed: int = 1) -> Snapshot:
    """As `production`, with pools that take whatever the cloud sells."""
    return _production(n_pods, seed)


def _production(n_pods: int, seed: int, *machines: Requirement) -> Snapshot:
    chance = seeded("fleet", seed)
    deployments = fleet_mix.deployments(n_pods, chance, requests=production_requests)
    return _on_fleet_pools(deployments, seed, *machines)


def gpus(n_pods: int, seed: int = 1) -> Snapshot:
    """Training in jobs of whole machines, inference on a gpu or two, and what feeds them."""
    chance = seeded("gpus", seed)
    deployments = gpu_mix.deployments(n_pods, chance)
    return Snapshot(
        pods=tuple(pod for one in deployments for pod in pods_of(one)),
        node_pools=gpu_mix.pools(),
        instance_types=dict.fromkeys((one.name for one in gpu_mix.pools()), catalogues.cloud(seed)),
        namespaces={"bench": {}},
    )


def huge(n_pods: int, seed: int = 1) -> Snapshot:
    """A few deployments of thousands of pods; every other one is spread over zones."""
    chance = seeded("huge", seed)
    deployments = []
    for ordinal in range(_N_HUGE):
        name = f"huge-{ordinal}"
        spread = (Spread(labels.ZONE, equality({"app": name})),) if ordinal % 2 else ()
        size = n_pods // _N_HUGE + (ordinal < n_pods % _N_HUGE)
        spec = PodSpec(requests=everyday_requests(chance), spread=spread)
        deployments.append(Deployment(name, size, spec))
    return _unconstrained(deployments, seed)


def crumbs(n_pods: int, seed: int = 1) -> Snapshot:
    """As `fleet`, in thousands of deployments of one to three pods."""
    chance = seeded("crumbs", seed)
    deployments = fleet_mix.deployments(n_pods, chance, largest=_CRUMB)
    return _on_fleet_pools(deployments, seed, steady_machines())


def wishful(n_pods: int, seed: int = 1) -> Snapshot:
    """As `plain`, where everybody prefers something: kinds of machines, zones, its own node."""
    chance = seeded("wishful", seed)
    deployments = [
        Deployment(name, size, fleet_mix.wishing(name, everyday_requests(chance), chance))
        for ordinal, size in enumerate(sizes(n_pods, chance))
        for name in [f"wishful-{ordinal}"]
    ]
    return _unconstrained(deployments, seed)


def diverse(n_pods: int, seed: int = 1) -> Snapshot:
    """An older benchmark mix of the reference's, on 400 types with linear prices."""
    chance = seeded("diverse", seed)
    return _on_linear_types(diverse_pod(ordinal, chance) for ordinal in range(n_pods))


def reference(n_pods: int, seed: int = 1) -> Snapshot:
    """The reference's own benchmark mix, on 400 types with linear prices."""
    chance = seeded("reference", seed)
    return _on_linear_types(reference_pod(ordinal, chance) for ordinal in range(n_pods))


def _on_linear_types(pods: Iterable[Pod]) -> Snapshot:
    return Snapshot(
        pods=tuple(pods),
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
    "reference": reference,
    "production": production,
    "wide_plain": wide_plain,
    "wide_fleet": wide_fleet,
    "wide_on_demand": wide_on_demand,
    "gpus": gpus,
    "huge": huge,
    "crumbs": crumbs,
    "wishful": wishful,
    "host_surge": host_surge,
    "zone_surge": zone_surge,
    "crowd": crowd,
}


def _on_fleet_pools(
    deployments: Iterable[Deployment], seed: int, *machines: Requirement
) -> Snapshot:
    types = catalogues.cloud(seed)
    pools = fleet_mix.pools(*machines)
    return Snapshot(
        pods=tuple(pod for one in deployments for pod in pods_of(one)),
        node_pools=pools,
        instance_types={pool.name: types for pool in pools},
        daemon_sets=fleet_mix.daemon_sets(),
        namespaces={"bench": {}, "kube-system": {}},
    )


def _unconstrained(
    deployments: list[Deployment], seed: int, pool: NodePool | None = None
) -> Snapshot:
    return Snapshot(
        pods=tuple(pod for one in deployments for pod in pods_of(one)),
        node_pools=(pool or NodePool("default", requirements=(steady_machines(),)),),
        instance_types={"default": catalogues.cloud(seed)},
        namespaces={"bench": {}},
    )
