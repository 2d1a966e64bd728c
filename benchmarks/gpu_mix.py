"""What runs on machines with gpus? Training in whole machines, inference, and what feeds them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from benchmarks.catalogues import CATEGORY, GIB, GPU
from benchmarks.fleet_mix import steady_machines
from benchmarks.workloads import Deployment, everyday_requests, size
from dovetail import labels
from dovetail.model.pod import PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Operator, requirement
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import Spread, equality

_TAINT: Final = Taint(GPU, "present")
_TOLERATION: Final = Toleration(GPU, operator="Exists")
_SHARES: Final = {"training": 2, "inference": 5, "feeding": 3}  # of the deployments
_LARGEST: Final = {"training": 16, "inference": 40}
_GPUS: Final = {"training": (4, 8), "inference": (1, 1, 1, 2)}


def pools() -> tuple[NodePool, ...]:
    """Machines with gpus, which only those may use who ask for some; and ordinary ones."""
    kinds = requirement(labels.CAPACITY_TYPE, Operator.IN, (labels.SPOT, labels.ON_DEMAND))
    return (
        NodePool(
            "gpus",
            requirements=(requirement(CATEGORY, Operator.IN, ("g", "p")), kinds),
            taints=(_TAINT,),
        ),
        NodePool("default", requirements=(steady_machines(), kinds)),
    )


def deployments(n_pods: int, chance: random.Random) -> Iterator[Deployment]:
    """Deployments of `n_pods` pods in all."""
    left, ordinal = n_pods, 0
    while left:
        kind = chance.choices(tuple(_SHARES), tuple(_SHARES.values()))[0]
        name = f"{kind}-{ordinal}"
        n_replicas = min(size(n_pods, chance), left, _LARGEST.get(kind, left))
        yield Deployment(name, n_replicas, _spec(kind, name, chance))
        left -= n_replicas
        ordinal += 1


def _spec(kind: str, name: str, chance: random.Random) -> PodSpec:
    if kind == "feeding":
        return PodSpec(requests=everyday_requests(chance))
    n_gpus = chance.choice(_GPUS[kind])
    requests = {"cpu": 3_000 * n_gpus, "memory": chance.choice((8, 12)) * GIB * n_gpus, "pods": 1}
    is_spread = kind == "inference" and chance.random() < 0.5
    return PodSpec(
        requests={**requests, GPU: n_gpus},
        tolerations=(_TOLERATION,),
        spread=(Spread(labels.ZONE, equality({"app": name})),) if is_spread else (),
    )
