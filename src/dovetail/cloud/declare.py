"""Builds the requirements of instance types, shared wherever they are equal.

A catalogue states the same few thousand facts many thousand times. Sharing the objects keeps it
small, quick to build, and quick to compare.

Types of the kwok format get their labels here: `m5.xlarge` is size xlarge of family m5;
`s-4x-amd64-linux` is size 4 (its cpu) of family s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.instance import Offering
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.resources import CPU, MEMORY, Resources
from dovetail.units import quantity

_SHARED: Final = 1 << 17
_HUGE_PAGES: Final = "hugepages-"
_RESERVATION_ID: Final = "capacity-reservation-id"
ZONE_ID: Final = "topology.k8s.aws/zone-id"
_EXPECTED: Final = tuple(sorted(labels.WELL_KNOWN - {labels.NODE_POOL}))


@lru_cache(maxsize=_SHARED)
def single(key: str, value: str) -> Requirement:
    """The label has this value; an empty one means that the label does not apply."""
    return Requirement(key, False, frozenset({value})) if value else absent(key)


@lru_cache(maxsize=_SHARED)
def among(key: str, values: tuple[str, ...]) -> Requirement:
    """The label can have any of these values."""
    return Requirement(key, False, frozenset(values))


@lru_cache(maxsize=_SHARED)
def absent(key: str) -> Requirement:
    """No node of this type has the label."""
    return Requirement(key)


@lru_cache(maxsize=_SHARED)
def placement(zone: str, capacity_type: str, zone_id: str = "") -> Requirements:
    """What an offering fixes that says no more than where and how."""
    stated = [single(labels.CAPACITY_TYPE, capacity_type), single(labels.ZONE, zone)]
    if zone_id:
        stated.append(single(ZONE_ID, zone_id))
    return Requirements(stated)


def complete(stated: Iterable[Requirement]) -> Requirements:
    """These, and that every other well-known label is absent (but for the pool's name)."""
    by_key = {need.key: need for need in stated}
    for key in _EXPECTED:
        if key not in by_key:
            by_key[key] = absent(key)
    return Requirements(by_key.values())


def allocatable(capacity: Resources, overhead: Mapping[str, int]) -> dict[str, int]:
    """What pods may use. Huge pages are taken out of memory; nothing falls below zero."""
    left = {name: max(amount - overhead.get(name, 0), 0) for name, amount in capacity.items()}
    if MEMORY in left:
        left[MEMORY] = max(left[MEMORY] - huge_pages(capacity), 0)
    return left


def huge_pages(capacity: Resources) -> int:
    """How many bytes are set aside as huge pages of any size."""
    return sum(amount for name, amount in capacity.items() if name.startswith(_HUGE_PAGES))


def reservation_id(requirements: Requirements) -> str:
    """The reservation that an offering belongs to, whichever provider's label says so."""
    for key in sorted(requirements):
        if key.endswith(_RESERVATION_ID):
            return min(requirements[key].values, default="")
    return ""


def zones_of(offerings: Iterable[Offering]) -> tuple[str, ...]:
    """Every zone that is offered, in order."""
    return tuple(sorted({offering.zone for offering in offerings}))


def capacity_types_of(offerings: Iterable[Offering]) -> tuple[str, ...]:
    """Every capacity type that is offered, in order."""
    return tuple(sorted({offering.capacity_type for offering in offerings}))


SIZE: Final = f"{labels.KWOK_GROUP}/instance-size"
FAMILY: Final = f"{labels.KWOK_GROUP}/instance-family"
INSTANCE_CPU: Final = f"{labels.KWOK_GROUP}/instance-cpu"
INSTANCE_MEMORY: Final = f"{labels.KWOK_GROUP}/instance-memory"
DERIVED: Final = (SIZE, FAMILY, INSTANCE_CPU, INSTANCE_MEMORY)

_DOTTED: Final = re.compile(r"\w+\.(nano|micro|small|medium|large|[0-9]*xlarge|metal)")
_DELIMITER: Final = re.compile(r"[.-]")


class Make(msgspec.Struct, frozen=True, gc=False):
    """What a type's labels are worked out from."""

    name: str
    architectures: tuple[str, ...]
    operating_systems: tuple[str, ...]
    capacity: Resources
    offerings: tuple[Offering, ...]


def all_labels(make: Make, stated: tuple[Requirement, ...] = ()) -> Requirements:
    """Every label of such a type. What is stated replaces what would be derived."""
    cpu = quantity.render(CPU, make.capacity.get(CPU, 0))
    memory = quantity.render(MEMORY, make.capacity.get(MEMORY, 0))
    derived = {
        labels.INSTANCE_TYPE: single(labels.INSTANCE_TYPE, make.name),
        labels.ARCH: among(labels.ARCH, make.architectures),
        labels.OS: among(labels.OS, make.operating_systems),
        labels.ZONE: among(labels.ZONE, zones_of(make.offerings)),
        labels.CAPACITY_TYPE: among(labels.CAPACITY_TYPE, capacity_types_of(make.offerings)),
        SIZE: single(SIZE, size(make.name, cpu)),
        FAMILY: single(FAMILY, family(make.name)),
        INSTANCE_CPU: single(INSTANCE_CPU, cpu),
        INSTANCE_MEMORY: single(INSTANCE_MEMORY, memory),
    }
    return complete((derived | {need.key: need for need in stated}).values())


def size(name: str, cpu: str) -> str:
    """The size that a dotted name ends in, else the cpu count."""
    match = _DOTTED.fullmatch(name)
    return match[1] if match else cpu


def family(name: str) -> str:
    """What stands before the first dot or dash, else the first letter."""
    parts = _DELIMITER.split(name, maxsplit=1)
    return parts[0] if len(parts) > 1 else name[:1]
