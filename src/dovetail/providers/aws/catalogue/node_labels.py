"""States every label of an EC2 instance type, those that do not apply as absent."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from dovetail import labels
from dovetail.cloud import declare
from dovetail.cloud.declare import ZONE_ID, absent, among, complete, single
from dovetail.model.requirements import Requirement, Requirements
from dovetail.providers.aws.catalogue.class_facts import PlaceFacts
from dovetail.providers.aws.catalogue.machines import MachineType

_CATEGORY: Final = re.compile(r"(?P<category>[a-z]+)(?:-[0-9]+tb)?(?P<generation>[0-9]+)")
_TENANCIES: Final = ("dedicated", "default")
RESERVATION_TYPE: Final = f"{labels.AWS_GROUP}/capacity-reservation-type"
RESERVATION_INTERRUPTIBLE: Final = f"{labels.AWS_GROUP}/capacity-reservation-interruptible"
PLACEMENT_GROUP_ID: Final = f"{labels.AWS_GROUP}/placement-group-id"
PLACEMENT_GROUP_PARTITION: Final = f"{labels.AWS_GROUP}/placement-group-partition"
NO_RESERVATION: Final = tuple(
    absent(key) for key in (labels.RESERVATION_ID, RESERVATION_TYPE, RESERVATION_INTERRUPTIBLE)
)


@lru_cache(maxsize=1 << 14)
def requirements(
    machine: MachineType, place: PlaceFacts, offered: tuple[Requirement, ...]
) -> Requirements:
    """Every label that the type fixes or says to be absent; `offered` says where and how.

    Reservation labels are left to the offerings where some of these are reserved.
    """
    return complete([*machine_labels(machine), *_place_labels(place, machine.arch), *offered])


@lru_cache(maxsize=1 << 12)
def machine_labels(machine: MachineType) -> tuple[Requirement, ...]:
    """The labels that the machine type alone fixes."""
    own = {**_name(machine), **_machine(machine), **_network(machine), **_accelerators(machine)}
    stated = (single(f"{labels.AWS_GROUP}/{key}", value) for key, value in own.items())
    return (*stated, *_ABSENT, _TENANCY, single(labels.INSTANCE_TYPE, machine.name))


@lru_cache(maxsize=1 << 10)
def _place_labels(place: PlaceFacts, arch: str) -> tuple[Requirement, ...]:
    group = place.placement_group
    partitions = tuple(str(number + 1) for number in range(group.n_partitions))
    os = place.os if place.os == "linux" or arch == "amd64" else ""
    return (
        single(labels.REGION, place.region),
        single(labels.ARCH, arch),
        single(labels.OS, os),
        single(labels.WINDOWS_BUILD, place.windows_build),
        single(PLACEMENT_GROUP_ID, group.id),
        among(PLACEMENT_GROUP_PARTITION, partitions),
    )


@lru_cache(maxsize=1 << 10)
def offered_labels(
    zones: tuple[tuple[str, str], ...], capacity_types: tuple[str, ...]
) -> tuple[Requirement, ...]:
    """The labels that say in which zones (name and id) and how a type is offered."""
    stated = (
        among(labels.ZONE, tuple(sorted(zone for zone, _ in zones))),
        among(labels.CAPACITY_TYPE, capacity_types),
        among(ZONE_ID, tuple(sorted(zone_id for _, zone_id in zones if zone_id))),
    )
    if labels.RESERVED in capacity_types:
        return stated
    return (*stated, *NO_RESERVATION)


def _name(machine: MachineType) -> dict[str, str]:
    match = _CATEGORY.match(machine.name)
    return {
        "instance-category": match["category"] if match else "",
        "instance-generation": match["generation"] if match else "",
        "instance-family": machine.family,
        "instance-size": machine.size,
        "instance-capability-flex": _bool_text("-flex" in machine.family),
    }


def _machine(machine: MachineType) -> dict[str, str]:
    return {
        "instance-cpu": str(machine.vcpus),
        "instance-cpu-manufacturer": _lower_name(machine.cpu_maker),
        "instance-cpu-sustained-clock-speed-mhz": _count_text(machine.clock_mhz),
        "instance-memory": str(machine.memory_mib),
        "instance-hypervisor": machine.hypervisor,
        "instance-local-nvme": _count_text(machine.nvme_gb),
        "nitro-sandbox": _bool_text(machine.has_enclaves),
    }


def _network(machine: MachineType) -> dict[str, str]:
    return {
        "instance-ebs-bandwidth": _count_text(machine.ebs_mbps),
        "instance-network-bandwidth": _count_text(machine.network_mbps),
        "instance-encryption-in-transit-supported": _bool_text(machine.encrypts_transit),
    }


def _accelerators(machine: MachineType) -> dict[str, str]:
    has_one_kind = bool(machine.gpu_name)
    return {
        "instance-gpu-name": _lower_name(machine.gpu_name),
        "instance-gpu-manufacturer": _lower_name(machine.gpu_maker) if has_one_kind else "",
        "instance-gpu-count": str(machine.gpus) if has_one_kind else "",
        "instance-gpu-memory": _count_text(machine.gpu_mib),
        "instance-accelerator-name": _lower_name(machine.accelerator_name),
        "instance-accelerator-manufacturer": _lower_name(machine.accelerator_maker),
        "instance-accelerator-count": _count_text(machine.accelerators),
    }


def _count_text(number: int) -> str:
    return str(number) if number else ""


def _bool_text(claim: bool) -> str:  # noqa: FBT001  the claim is all there is to say
    return "true" if claim else "false"


def _lower_name(name: str) -> str:
    return name.lower().replace(" ", "-")


_TENANCY: Final = among(f"{labels.AWS_GROUP}/instance-tenancy", _TENANCIES)
_ABSENT: Final = tuple(absent(key) for key in declare.DERIVED)
