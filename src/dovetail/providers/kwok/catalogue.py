"""Which types does the generic catalogue hold? A grid: 12 sizes, 3 memory ratios, 2 x 2 systems.

Prices are a plain formula, 0.025 $ per cpu and 0.001 $ per 10^9 bytes of memory; spot is 70 % of
that. Nothing here is any cloud's price.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Final

from dovetail import labels
from dovetail.cloud.declare import Make, all_labels, allocatable, placement
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS

_GIB: Final = 2**30
_SIZES: Final = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256)
_GIB_PER_CPU: Final = {"c": 2, "s": 4, "m": 8}
_ARCHITECTURES: Final = ("amd64", "arm64")
_SYSTEMS: Final = ("linux", "windows")
ZONES: Final = ("test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d")
OVERHEAD: Final = {CPU: 100, MEMORY: 10 * 2**20}

_PODS_PER_CPU: Final = 16
_MOST_PODS: Final = 1024
_NANOUSD_PER_CPU: Final = 25_000_000
_BYTES_PER_NANOUSD: Final = 1000  # 0.001 $ for 10^9 bytes


@lru_cache(maxsize=1)
def instance_types() -> tuple[InstanceType, ...]:
    """All 144 types, by size."""
    return tuple(
        _instance_type(cpus, kind, architecture, system)
        for cpus, kind, architecture, system in product(
            _SIZES, _GIB_PER_CPU, _ARCHITECTURES, _SYSTEMS
        )
    )


def _instance_type(cpus: int, kind: str, architecture: str, system: str) -> InstanceType:
    capacity = {
        CPU: 1000 * cpus,
        MEMORY: cpus * _GIB_PER_CPU[kind] * _GIB,
        PODS: min(_PODS_PER_CPU * cpus, _MOST_PODS),
        EPHEMERAL_STORAGE: 20 * _GIB,
    }
    make = Make(
        name=f"{kind}-{cpus}x-{architecture}-{system}",
        architectures=(architecture,),
        operating_systems=(system,),
        capacity=capacity,
        offerings=_offerings(cpus, capacity[MEMORY]),
    )
    return InstanceType(
        name=make.name,
        requirements=all_labels(make),
        capacity=capacity,
        allocatable=allocatable(capacity, OVERHEAD),
        offerings=make.offerings,
    )


def _offerings(cpus: int, memory_bytes: int) -> tuple[Offering, ...]:
    # In thousandths of a nanodollar, so that each price is rounded once.
    price = cpus * _NANOUSD_PER_CPU * _BYTES_PER_NANOUSD + memory_bytes
    by_capacity_type = {
        labels.SPOT: _nearest(price * 7, _BYTES_PER_NANOUSD * 10),
        labels.ON_DEMAND: _nearest(price, _BYTES_PER_NANOUSD),
    }
    return tuple(
        Offering(zone, capacity_type, price_nanousd, placement(zone, capacity_type))
        for zone in ZONES
        for capacity_type, price_nanousd in by_capacity_type.items()
    )


def _nearest(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)
