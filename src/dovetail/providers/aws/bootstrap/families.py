"""Names the families of machine images, and what depends on the family alone."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from dovetail.providers.aws.node_class.types import (
    BlockDevice,
    BlockDeviceMapping,
    EC2NodeClassSpec,
)

_ALIAS_SEPARATOR: Final = "@"


class Family(StrEnum):
    """How the user data of an image is written. Values are those of `spec.amiFamily`."""

    AL2 = "AL2"
    AL2023 = "AL2023"
    BOTTLEROCKET = "Bottlerocket"
    CUSTOM = "Custom"
    WINDOWS2019 = "Windows2019"
    WINDOWS2022 = "Windows2022"
    WINDOWS2025 = "Windows2025"


class FamilyTraits(msgspec.Struct, frozen=True):
    """What a family brings where the node class says nothing, and what its kubelet can do.

    `ephemeral_device` is the volume that pods' files are on; empty where no device is known.
    """

    block_devices: tuple[BlockDeviceMapping, ...]
    ephemeral_device: str
    os: str
    uses_eni_limited_memory_overhead: bool
    supports_pods_per_core: bool
    supports_eni_limited_density: bool


def family_of(spec: EC2NodeClassSpec) -> Family:
    """The family whose user data instances of this class get.

    `amiFamily` names it; without it, the alias does. Validation lets the two differ only in
    `amiFamily: Custom` beside an alias, which takes the image of the alias and leaves user data
    to the user. A class with neither, which validation rejects, is Custom.
    """
    if spec.ami_family:
        return _by_name(spec.ami_family)
    alias = alias_of(spec)
    return _by_name(alias.partition(_ALIAS_SEPARATOR)[0]) if alias else Family.CUSTOM


def alias_of(spec: EC2NodeClassSpec) -> str:
    """The alias that selects images (`al2023@latest`); empty if there is none."""
    return next((term.alias for term in spec.ami_selector_terms if term.alias), "")


def traits(family: Family) -> FamilyTraits:
    """What this family brings."""
    return _TRAITS[family]


_BY_NAME: Final = {family.lower(): family for family in Family}


def _by_name(name: str) -> Family:
    return _BY_NAME.get(name.lower(), Family.CUSTOM)


def _volume(device_name: str, size: str) -> BlockDeviceMapping:
    disk = BlockDevice(encrypted=True, volume_size=size, volume_type="gp3")
    return BlockDeviceMapping(device_name=device_name, ebs=disk)


_XVDA: Final = "/dev/xvda"
_XVDB: Final = "/dev/xvdb"
_SDA1: Final = "/dev/sda1"

_AMAZON_LINUX: Final = FamilyTraits(
    block_devices=(_volume(_XVDA, "20Gi"),),
    ephemeral_device=_XVDA,
    os="linux",
    uses_eni_limited_memory_overhead=True,
    supports_pods_per_core=True,
    supports_eni_limited_density=True,
)
_BOTTLEROCKET: Final = FamilyTraits(
    block_devices=(_volume(_XVDA, "4Gi"), _volume(_XVDB, "20Gi")),
    ephemeral_device=_XVDB,
    os="linux",
    uses_eni_limited_memory_overhead=False,
    supports_pods_per_core=False,
    supports_eni_limited_density=True,
)
_WINDOWS: Final = FamilyTraits(
    block_devices=(_volume(_SDA1, "50Gi"),),
    ephemeral_device=_SDA1,
    os="windows",
    uses_eni_limited_memory_overhead=False,
    supports_pods_per_core=True,
    supports_eni_limited_density=False,
)
_CUSTOM: Final = FamilyTraits(
    block_devices=(),
    ephemeral_device="",
    os="linux",
    uses_eni_limited_memory_overhead=True,
    supports_pods_per_core=True,
    supports_eni_limited_density=True,
)
_TRAITS: Final = {
    Family.AL2: _AMAZON_LINUX,
    Family.AL2023: _AMAZON_LINUX,
    Family.BOTTLEROCKET: _BOTTLEROCKET,
    Family.CUSTOM: _CUSTOM,
    Family.WINDOWS2019: _WINDOWS,
    Family.WINDOWS2022: _WINDOWS,
    Family.WINDOWS2025: _WINDOWS,
}
