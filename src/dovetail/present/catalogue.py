"""Makes the rows of `catalog`: instance types and prices, filtered and sorted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model import resources
from dovetail.model.instance import InstanceType

_ORDINARY: Final = frozenset(
    {resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE, resources.PODS}
)


class Wanted(msgspec.Struct, frozen=True):
    """Which types to show; empty and zero let everything through."""

    family: str = ""
    arch: str = ""
    min_cpu_millis: int = 0
    min_memory_bytes: int = 0
    resource: str = ""  # only types that have some of it, such as nvidia.com/gpu


class TypeRow(msgspec.Struct, frozen=True):
    """One instance type. Prices are the lowest over all zones, per hour; None: not offered so."""

    name: str
    cpu_millis: int
    memory_bytes: int
    arch: str
    devices: tuple[tuple[str, int], ...]
    max_pods: int
    on_demand_nanousd: int | None
    spot_nanousd: int | None
    zones: tuple[str, ...]


def matches(types: Iterable[InstanceType], wanted: Wanted) -> tuple[InstanceType, ...]:
    """The types that were asked for, family by family, small to large."""
    instance_types = [instance_type for instance_type in types if _is_wanted(instance_type, wanted)]
    return tuple(
        sorted(
            instance_types,
            key=lambda instance_type: (
                family(instance_type.name),
                instance_type.capacity.get(resources.CPU, 0),
                instance_type.capacity.get(resources.MEMORY, 0),
                instance_type.name,
            ),
        )
    )


def _is_wanted(instance_type: InstanceType, wanted: Wanted) -> bool:
    return (
        wanted.family in {"", family(instance_type.name)}
        and (not wanted.arch or wanted.arch in _values(instance_type, labels.ARCH))
        and instance_type.capacity.get(resources.CPU, 0) >= wanted.min_cpu_millis
        and instance_type.capacity.get(resources.MEMORY, 0) >= wanted.min_memory_bytes
        and (not wanted.resource or instance_type.capacity.get(wanted.resource, 0) > 0)
    )


def family(name: str) -> str:
    """The part of a type's name that its sizes share: `m7g` of `m7g.large`, `c` of `c-4x-arm64`."""
    return re.split(r"[.-]", name, maxsplit=1)[0]


def _values(instance_type: InstanceType, key: str) -> list[str]:
    need = instance_type.requirements.get(key)
    return sorted(need.values) if need is not None and not need.complement else []


def type_row(instance_type: InstanceType) -> TypeRow:
    """What the table says of a type."""
    return TypeRow(
        name=instance_type.name,
        cpu_millis=instance_type.capacity.get(resources.CPU, 0),
        memory_bytes=instance_type.capacity.get(resources.MEMORY, 0),
        arch=", ".join(_values(instance_type, labels.ARCH)),
        devices=tuple(
            (name, amount)
            for name, amount in sorted(instance_type.capacity.items())
            if name not in _ORDINARY and amount
        ),
        max_pods=instance_type.capacity.get(resources.PODS, 0),
        on_demand_nanousd=_lowest(instance_type, labels.ON_DEMAND),
        spot_nanousd=_lowest(instance_type, labels.SPOT),
        zones=tuple(sorted({offering.zone for offering in instance_type.offerings})),
    )


def _lowest(instance_type: InstanceType, capacity_type: str) -> int | None:
    prices = [
        offering.price_nanousd
        for offering in instance_type.offerings
        if offering.capacity_type == capacity_type and offering.is_available
    ]
    return min(prices) if prices else None
