"""Which machines can be had, and for how much? Rows for `catalog`, filtered and in order."""

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


def matching(types: Iterable[InstanceType], wanted: Wanted) -> tuple[InstanceType, ...]:
    """The types that were asked for, family by family, small to large."""
    found = [one for one in types if _is_wanted(one, wanted)]
    return tuple(
        sorted(
            found,
            key=lambda one: (
                family(one.name),
                one.capacity.get(resources.CPU, 0),
                one.capacity.get(resources.MEMORY, 0),
                one.name,
            ),
        )
    )


def _is_wanted(one: InstanceType, wanted: Wanted) -> bool:
    return (
        wanted.family in {"", family(one.name)}
        and (not wanted.arch or wanted.arch in _values(one, labels.ARCH))
        and one.capacity.get(resources.CPU, 0) >= wanted.min_cpu_millis
        and one.capacity.get(resources.MEMORY, 0) >= wanted.min_memory_bytes
        and (not wanted.resource or one.capacity.get(wanted.resource, 0) > 0)
    )


def family(name: str) -> str:
    """The part of a type's name that its sizes share: `m7g` of `m7g.large`, `c` of `c-4x-arm64`."""
    return re.split(r"[.-]", name, maxsplit=1)[0]


def _values(one: InstanceType, key: str) -> list[str]:
    held = one.requirements.get(key)
    return sorted(held.values) if held is not None and not held.complement else []


def type_row(one: InstanceType) -> TypeRow:
    """What the table says of a type."""
    return TypeRow(
        name=one.name,
        cpu_millis=one.capacity.get(resources.CPU, 0),
        memory_bytes=one.capacity.get(resources.MEMORY, 0),
        arch=", ".join(_values(one, labels.ARCH)),
        devices=tuple(
            (name, amount)
            for name, amount in sorted(one.capacity.items())
            if name not in _ORDINARY and amount
        ),
        max_pods=one.capacity.get(resources.PODS, 0),
        on_demand_nanousd=_lowest(one, labels.ON_DEMAND),
        spot_nanousd=_lowest(one, labels.SPOT),
        zones=tuple(sorted({offering.zone for offering in one.offerings})),
    )


def _lowest(one: InstanceType, capacity_type: str) -> int | None:
    prices = [
        offering.price_nanousd
        for offering in one.offerings
        if offering.capacity_type == capacity_type and offering.is_available
    ]
    return min(prices) if prices else None
