"""What can be bought in a benchmark? Three catalogues: a cloud's, a linear one, and eight types."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

from benchmarks.seeds import seeded
from benchmarks.series import ARM64, Series, series
from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirement, Requirements

GIB: Final = 2**30
MIB: Final = 2**20
NANOUSD: Final = 10**9

REGION: Final = "us-west-2"
ZONES: Final = ("us-west-2a", "us-west-2b", "us-west-2c")
CATEGORY: Final = f"{labels.AWS_GROUP}/instance-category"
FAMILY: Final = f"{labels.AWS_GROUP}/instance-family"
GENERATION: Final = f"{labels.AWS_GROUP}/instance-generation"
CPUS: Final = f"{labels.AWS_GROUP}/instance-cpu"
GPU: Final = "nvidia.com/gpu"

SPOT_LOW: Final = 0.25
SPOT_HIGH: Final = 0.70
LINEAR_TYPES: Final = 400
TINY_CPUS: Final = (2, 4, 8, 16)
N_TINY_TYPES: Final = 8


def cloud(seed: int = 1) -> tuple[InstanceType, ...]:
    """About 1,200 types like a cloud's, each in three zones, on demand and spot.

    Spot is on-demand times U(0.25, 0.70), drawn for each type and zone.
    """
    chance = seeded("cloud", seed)
    return tuple(
        _cloud_type(one, index, chance) for one in series() for index in range(len(one.cpus))
    )


def linear() -> tuple[InstanceType, ...]:
    """The reference's benchmark catalogue: type i has i cpu, 2i GiB and 10i pods, price linear.

    Spot costs what on demand costs, so that every offering of a type is a tie.
    """
    result = []
    for size in range(1, LINEAR_TYPES + 1):
        capacity = {"cpu": 1000 * size, "memory": 2 * GIB * size, "pods": 10 * size}
        allocatable = capacity | {"cpu": 1000 * size - 100, "memory": 2 * GIB * size - 10 * MIB}
        price = NANOUSD // 10 * size + 2 * GIB * size // 10  # a tenth of a dollar a cpu, and a GB
        prices = dict.fromkeys(((zone, kind) for zone in ZONES for kind in _KINDS), price)
        result.append(
            InstanceType(
                name=f"fake-it-{size - 1}",
                requirements=_type_requirements(f"fake-it-{size - 1}", {labels.ARCH: "amd64"}),
                capacity=capacity,
                allocatable=allocatable,
                offerings=_offerings(prices),
            )
        )
    return tuple(result)


def tiny(chance: random.Random) -> tuple[InstanceType, ...]:
    """Eight small types of both architectures; the largest size of each is always there."""
    fitting = [
        (one, index)
        for one in series()
        if one.category in {"c", "m", "r"}
        for index, cpus in enumerate(one.cpus)
        if cpus in TINY_CPUS
    ]
    largest = [(one, index) for one, index in fitting if one.cpus[index] == TINY_CPUS[-1]]
    chosen = [
        chance.choice([held for held in largest if (held[0].arch == ARM64) == is_arm])
        for is_arm in (False, True)
    ]
    while len(chosen) < N_TINY_TYPES:
        drawn = chance.choice(fitting)
        if drawn not in chosen:
            chosen.append(drawn)
    return tuple(_cloud_type(one, index, chance) for one, index in chosen)


_KINDS: Final = (labels.ON_DEMAND, labels.SPOT)


def _cloud_type(one: Series, index: int, chance: random.Random) -> InstanceType:
    cpus = one.cpus[index]
    size = "metal" if cpus in one.cpus[:index] else _size(cpus)
    name = f"{one.family}.{size}"
    pods = _pod_slots(cpus)
    memory = int(cpus * one.gib_per_cpu * GIB)
    capacity = {
        "cpu": 1000 * cpus,
        # A hypervisor keeps some of the advertised memory: 7.5 %, as the reference assumes.
        "memory": memory * 925 // 1000,
        "ephemeral-storage": 20 * GIB,
        "pods": pods,
    }
    if one.gpus:
        capacity[GPU] = one.gpus[index]
    kept = {"cpu": _reserved_cpu(cpus), "memory": (355 + 11 * pods) * MIB}
    fixed = {
        labels.ARCH: one.arch,
        CATEGORY: one.category,
        FAMILY: one.family,
        GENERATION: str(one.generation),
        CPUS: str(cpus),
        f"{labels.AWS_GROUP}/instance-memory": str(memory // MIB),
        f"{labels.AWS_GROUP}/instance-size": size,
    }
    on_demand = round(one.usd_per_cpu * cpus * NANOUSD)
    prices = {(zone, labels.ON_DEMAND): on_demand for zone in ZONES}
    for zone in ZONES:
        prices[zone, labels.SPOT] = round(on_demand * chance.uniform(SPOT_LOW, SPOT_HIGH))
    return InstanceType(
        name=name,
        requirements=_type_requirements(name, fixed),
        capacity=capacity,
        allocatable={held: amount - kept.get(held, 0) for held, amount in capacity.items()},
        offerings=_offerings(prices),
    )


def _type_requirements(name: str, fixed: Mapping[str, str]) -> Requirements:
    single = {labels.INSTANCE_TYPE: name, labels.OS: "linux", labels.REGION: REGION, **fixed}
    return Requirements.of_labels(single) & (
        Requirement(labels.ZONE, values=frozenset(ZONES)),
        Requirement(labels.CAPACITY_TYPE, values=frozenset(_KINDS)),
    )


def _offerings(prices: Mapping[tuple[str, str], int]) -> tuple[Offering, ...]:
    return tuple(
        Offering(zone, kind, price, _OFFERED[zone, kind]) for (zone, kind), price in prices.items()
    )


_OFFERED: Final = {
    (zone, kind): Requirements.of_labels({labels.ZONE: zone, labels.CAPACITY_TYPE: kind})
    for zone in ZONES
    for kind in _KINDS
}


def _size(cpus: int) -> str:
    names = {1: "medium", 2: "large", 4: "xlarge"}
    return names.get(cpus, f"{cpus / 4:g}xlarge")


def _pod_slots(cpus: int) -> int:
    """How many pods the network interfaces of a machine of this size allow."""
    for most, slots in ((1, 8), (2, 29), (8, 58), (48, 234)):
        if cpus <= most:
            return slots
    return 737


def _reserved_cpu(cpus: int) -> int:
    """What the kubelet keeps, in millicores: 6 % of the first cpu, then ever less."""
    shares = (60, 10, 5, 5)
    return sum(shares[:cpus]) + (max(0, cpus - 4) * 5 + 1) // 2
