"""Which labels does a node of an EC2 type carry? All of them, those that do not apply as absent."""

from __future__ import annotations

import re
from typing import Final

from dovetail import labels
from dovetail.cloud import kwok_labels
from dovetail.cloud.declare import ZONE_ID, absent, among, complete, single
from dovetail.model.requirements import Requirement, Requirements
from dovetail.providers.aws.table import Row

_CATEGORY: Final = re.compile(r"(?P<category>[a-z]+)(?:-[0-9]+tb)?(?P<generation>[0-9]+)")
_TENANCIES: Final = ("dedicated", "default")
_NEVER: Final = (
    # Only reserved offerings and placement groups bring these, and here are none.
    "capacity-reservation-id",
    "capacity-reservation-type",
    "capacity-reservation-interruptible",
    "placement-group-id",
    "placement-group-partition",
)


def requirements(row: Row, placement: tuple[Requirement, ...]) -> Requirements:
    """Everything that the type fixes; `placement` says where and how it can be had."""
    own = {**_name(row), **_machine(row), **_network(row), **_accelerators(row)}
    stated = [single(f"{labels.AWS_GROUP}/{key}", value) for key, value in own.items()]
    return complete(
        [
            *stated,
            *_ABSENT,
            *placement,
            _TENANCY,
            single(labels.INSTANCE_TYPE, row.name),
            single(labels.ARCH, row.arch),
            single(labels.OS, "linux"),
        ]
    )


def placement(
    zones: tuple[str, ...], capacity_types: tuple[str, ...], zone_ids: tuple[str, ...]
) -> tuple[Requirement, ...]:
    """Where and how a type can be had."""
    region = zones[0][:-1] if zones else ""  # a zone is its region and one letter
    return (
        single(labels.REGION, region),
        among(labels.ZONE, zones),
        among(labels.CAPACITY_TYPE, capacity_types),
        among(ZONE_ID, zone_ids),
    )


def _name(row: Row) -> dict[str, str]:
    found = _CATEGORY.match(row.name)
    return {
        "instance-category": found["category"] if found else "",
        "instance-generation": found["generation"] if found else "",
        "instance-family": row.family,
        "instance-size": row.size,
        "instance-capability-flex": _spoken("-flex" in row.family),
    }


def _machine(row: Row) -> dict[str, str]:
    return {
        "instance-cpu": str(row.vcpus),
        "instance-cpu-manufacturer": _spelled(row.cpu_maker),
        "instance-cpu-sustained-clock-speed-mhz": _counted(row.clock_mhz),
        "instance-memory": str(row.memory_mib),
        "instance-hypervisor": row.hypervisor,
        "instance-local-nvme": _counted(row.nvme_gb),
        "nitro-sandbox": _spoken(row.has_enclaves),
    }


def _network(row: Row) -> dict[str, str]:
    return {
        "instance-ebs-bandwidth": _counted(row.ebs_mbps),
        "instance-network-bandwidth": _counted(row.network_mbps),
        "instance-encryption-in-transit-supported": _spoken(row.encrypts_transit),
    }


def _accelerators(row: Row) -> dict[str, str]:
    return {
        "instance-gpu-name": _spelled(row.gpu_name),
        "instance-gpu-manufacturer": _spelled(row.gpu_maker),
        "instance-gpu-count": _counted(row.gpus),
        "instance-gpu-memory": _counted(row.gpu_mib),
        "instance-accelerator-name": _spelled(row.neuron_name),
        "instance-accelerator-manufacturer": "aws" if row.neurons else "",
        "instance-accelerator-count": _counted(row.neurons),
    }


def _counted(number: int) -> str:
    return str(number) if number else ""


def _spoken(claim: bool) -> str:  # noqa: FBT001  the claim is all there is to say
    return "true" if claim else "false"


def _spelled(name: str) -> str:
    return name.lower().replace(" ", "-")


_TENANCY: Final = among(f"{labels.AWS_GROUP}/instance-tenancy", _TENANCIES)
_ABSENT: Final = (
    *(absent(f"{labels.AWS_GROUP}/{key}") for key in _NEVER),
    *(absent(key) for key in kwok_labels.DERIVED),
)
