"""What does a live controller plan all day? A few Deployments without constraints, on the NodePool
that Karpenter's getting-started guide begins with, with the packaged AWS catalogue.

Clusters are numbered. Numbers 1 to 24 are for tuning; what is published begins at `FIRST`.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Final

from benchmarks.catalogues import CATEGORY, GENERATION, MIB
from benchmarks.seeds import seeded
from benchmarks.workloads import Deployment, everyday_requests, pods_of
from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.pod import PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Operator, requirement
from dovetail.model.snapshot import Snapshot
from dovetail.providers.aws.catalogue import offline as aws

FIRST: Final = 1_001
_UNIFORM_CPU: Final = (50, 100, 200, 250, 333, 500, 750, 1000, 1500, 2000, 3000, 4000, 7000)
_UNIFORM_MIB_A_CPU: Final = (256, 512, 1024, 2000, 2048, 3500, 4096, 6144, 8192)
_FEWEST_PODS, _MOST_PODS = 20, 300
_FEWEST_SORTS, _MOST_SORTS = 2, 20


def getting_started() -> NodePool:
    """The NodePool of the guide: amd64, linux, on demand, c, m or r, generation 3 and later."""
    return NodePool(
        "default",
        requirements=(
            requirement(labels.ARCH, Operator.IN, ("amd64",)),
            requirement(labels.OS, Operator.IN, ("linux",)),
            requirement(labels.CAPACITY_TYPE, Operator.IN, (labels.ON_DEMAND,)),
            requirement(CATEGORY, Operator.IN, ("c", "m", "r")),
            requirement(GENERATION, Operator.GT, ("2",)),
        ),
    )


@lru_cache(maxsize=1)
def _packaged() -> tuple[InstanceType, ...]:
    return aws.instance_types()


def uniform(number: int) -> Snapshot:
    """One Deployment of 3 to 300 pods."""
    chance = seeded("uniform", number)
    size = round(3 * 100 ** chance.random())
    return _cluster([Deployment("uniform", size, PodSpec(requests=_uniform_requests(chance)))])


def _uniform_requests(chance: random.Random) -> dict[str, int]:
    cpu = chance.choice(_UNIFORM_CPU)
    memory = max(64, cpu * chance.choice(_UNIFORM_MIB_A_CPU) // 1000)
    return {"cpu": cpu, "memory": memory * MIB, "pods": 1}


def small(number: int) -> Snapshot:
    """2 to 20 Deployments with 20 to 300 pods in all."""
    chance = seeded("small", number)
    n_pods = round(_FEWEST_PODS * (_MOST_PODS / _FEWEST_PODS) ** chance.random())
    return _mix("small", n_pods, chance)


def mixed(number: int) -> Snapshot:
    """2 to 20 Deployments with 300 pods in all."""
    return _mix("mixed", _MOST_PODS, seeded("mixed", number))


def _mix(name: str, n_pods: int, chance: random.Random) -> Snapshot:
    """Deployments of uneven size: the pods are cut at places drawn by lot."""
    n_sorts = min(chance.randint(_FEWEST_SORTS, _MOST_SORTS), n_pods)
    cuts = sorted(chance.sample(range(1, n_pods), n_sorts - 1))
    sizes = [after - before for before, after in zip([0, *cuts], [*cuts, n_pods], strict=True)]
    return _cluster(
        [
            Deployment(f"{name}-{ordinal}", size, PodSpec(requests=everyday_requests(chance)))
            for ordinal, size in enumerate(sizes)
        ]
    )


def _cluster(deployments: list[Deployment]) -> Snapshot:
    return Snapshot(
        pods=tuple(pod for one in deployments for pod in pods_of(one)),
        node_pools=(getting_started(),),
        instance_types={"default": _packaged()},
        namespaces={"bench": {}},
    )
