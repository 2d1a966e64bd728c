"""What runs in a benchmark cluster? Deployments of heavy-tailed size with everyday requests."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from benchmarks.catalogues import GIB, MIB
from dovetail.model.pod import Owner, Pod, PodSpec

NAMESPACE: Final = "bench"

# Millicores, and how common they are: most pods are small, a few hold most of the cpu.
_CPU_WEIGHTS: Final = {
    50: 12,
    100: 22,
    250: 22,
    500: 18,
    1000: 14,
    2000: 7,
    4000: 3,
    8000: 1.5,
    16000: 0.5,
}
# Tail exponent of the number of replicas: a mean of about 15 to 40 from 5,000 to 100,000 pods.
_TAIL: Final = 0.65
_LARGEST_SHARE: Final = 50  # no deployment holds more than a fiftieth of all pods


class Deployment(NamedTuple):
    """So many pods of one template."""

    name: str
    replicas: int
    spec: PodSpec


def size(n_pods: int, chance: random.Random) -> int:
    """How many replicas the next deployment of a cluster of `n_pods` has: heavy-tailed."""
    return min(int(chance.paretovariate(_TAIL)), max(1, n_pods // _LARGEST_SHARE))


def sizes(n_pods: int, chance: random.Random) -> Iterator[int]:
    """Heavy-tailed sizes that add up to `n_pods`."""
    left = n_pods
    while left:
        drawn = min(size(n_pods, chance), left)
        yield drawn
        left -= drawn


Requests = Callable[[random.Random], dict[str, int]]


def everyday_requests(chance: random.Random) -> dict[str, int]:
    """A round cpu request with 1 to 8 GiB a cpu, rounded as people write it."""
    return _requests(chance, least_doublings=0.0)


def production_requests(chance: random.Random) -> dict[str, int]:
    """The same with 1.4 to 8 GiB a cpu: 3.4 at the median, as traces of production have it."""
    return _requests(chance, least_doublings=0.5)


def _requests(chance: random.Random, *, least_doublings: float) -> dict[str, int]:
    cpu_millis = chance.choices(tuple(_CPU_WEIGHTS), tuple(_CPU_WEIGHTS.values()))[0]
    memory = cpu_millis * GIB // 1000 * 2 ** chance.uniform(least_doublings, 3)
    step = 64 * MIB if memory < GIB else 256 * MIB if memory < 4 * GIB else GIB
    return {"cpu": cpu_millis, "memory": max(1, round(memory / step)) * step, "pods": 1}


def odd_requests(chance: random.Random) -> dict[str, int]:
    """A request that nobody would type, as vertical autoscalers write them."""
    cpu_millis = min(max(11, round(chance.lognormvariate(5.3, 1.1))), 16_000)
    memory_mib = cpu_millis * 1024 // 1000 * 2 ** chance.uniform(0, 3)
    return {"cpu": cpu_millis, "memory": max(17, round(memory_mib)) * MIB, "pods": 1}


def pods_of(deployment: Deployment) -> Iterator[Pod]:
    """Its pods; they share one spec, one set of labels and one owner."""
    labels_by_key = {"app": deployment.name}
    owner = Owner("ReplicaSet", f"{deployment.name}-rs", uid=f"{deployment.name}-rs")
    for ordinal in range(deployment.replicas):
        name = f"{deployment.name}-{ordinal}"
        yield Pod(
            name=name,
            namespace=NAMESPACE,
            spec=deployment.spec,
            uid=name,
            labels=labels_by_key,
            owner=owner,
        )
