"""Derives the labels of an instance type of the kwok format.

`m5.xlarge` is size xlarge of family m5; `s-4x-amd64-linux` is size 4 (its cpu) of family s.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.declare import (
    among,
    capacity_types_of,
    complete,
    single,
    zones_of,
)
from dovetail.model.instance import Offering
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.resources import CPU, MEMORY, Resources
from dovetail.units import quantity

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


def declared(make: Make, stated: tuple[Requirement, ...] = ()) -> Requirements:
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
    return complete((derived | {one.key: one for one in stated}).values())


def size(name: str, cpu: str) -> str:
    """The size that a dotted name ends in, else the cpu count."""
    found = _DOTTED.fullmatch(name)
    return found[1] if found else cpu


def family(name: str) -> str:
    """What stands before the first dot or dash, else the first letter."""
    parts = _DELIMITER.split(name, maxsplit=1)
    return parts[0] if len(parts) > 1 else name[:1]
