"""Reads of an EC2NodeClass and the settings what instance types depend on."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Final

import msgspec

from dovetail.providers.aws.bootstrap.families import Family, FamilyTraits, family_of, traits
from dovetail.providers.aws.catalogue.inputs import PlacementGroupFacts
from dovetail.providers.aws.node_class.kubelet import without_expressions
from dovetail.providers.aws.node_class.types import (
    BlockDeviceMapping,
    CapacityReservation,
    EC2NodeClass,
    EC2NodeClassSpec,
    NetworkInterface,
    Subnet,
)
from dovetail.providers.aws.settings import AwsSettings
from dovetail.units import quantity

_GIB: Final = 2**30
_DEFAULT_VOLUME: Final = 20 * _GIB
_EFA_ONLY: Final = "efa-only"
_WINDOWS_BUILDS: Final = {
    Family.WINDOWS2019: "10.0.17763",
    Family.WINDOWS2022: "10.0.20348",
    Family.WINDOWS2025: "10.0.26100",
}
NO_GROUP: Final = PlacementGroupFacts("", "")


class CapacityFacts(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """What the resources of a node depend on, besides its machine type."""

    os: str = "linux"
    has_eni_limited_pods: bool = True
    has_eni_limited_memory: bool = True  # memory reserved for as many pods as interfaces allow
    has_pods_per_core: bool = True
    has_class: bool = True  # False: the plain catalogue, which has only devices of the machine
    vm_memory_overhead: Decimal = Decimal("0.075")
    reserved_enis: int = 0
    kubelet: str = ""  # `spec.kubelet` as JSON with sorted keys
    ephemeral_bytes: int = _DEFAULT_VOLUME
    uses_raid0: bool = False
    n_volumes: int = 1
    n_interfaces: int = 0  # stated by the class; 0: the default interface
    n_efa_only: int = 0
    n_efa_only_on_first_card: int = 0


class PlaceFacts(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """What labels depend on, besides the machine type and its offerings."""

    region: str
    os: str = "linux"
    windows_build: str = ""
    placement_group: PlacementGroupFacts = NO_GROUP


class FitFacts(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """What a machine must be able to do for the class."""

    family: Family
    interfaces: tuple[NetworkInterface, ...] = ()
    nests_virtualization: bool = False
    tracks_connections: bool = False
    placement_strategy: str = ""


class SubnetZone(msgspec.Struct, frozen=True, gc=False):
    """A zone that the class has subnets in."""

    zone: str
    zone_id: str
    subnets: tuple[str, ...]


class ReservationFacts(msgspec.Struct, frozen=True, gc=False):
    """A capacity reservation of the class."""

    id: str
    instance_type: str
    zone: str
    reservation_type: str
    is_interruptible: bool
    is_expiring: bool  # a capacity block shortly before its end


class ClassFacts(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """Everything that instance types depend on of a node class and the settings."""

    capacity: CapacityFacts
    fit: FitFacts
    windows_build: str
    placement_group: PlacementGroupFacts
    subnet_zones: tuple[SubnetZone, ...]
    reservations: tuple[ReservationFacts, ...]
    image_set: str


def class_facts(
    node_class: EC2NodeClass, settings: AwsSettings, group: PlacementGroupFacts = NO_GROUP
) -> ClassFacts:
    """What instance types depend on; equal for classes that differ in anything else."""
    spec = node_class.spec
    family = family_of(spec)
    connection_tracking = spec.connection_tracking
    cpu_options = spec.cpu_options
    return ClassFacts(
        capacity=_capacity(spec, settings),
        fit=FitFacts(
            family=family,
            interfaces=spec.network_interfaces,
            nests_virtualization=cpu_options is not None
            and cpu_options.nested_virtualization == "enabled",
            tracks_connections=connection_tracking is not None,
            placement_strategy=group.strategy,
        ),
        windows_build=_WINDOWS_BUILDS.get(family, ""),
        placement_group=group,
        subnet_zones=_subnet_zones(node_class.status.subnets),
        reservations=tuple(map(_reservation, node_class.status.capacity_reservations)),
        image_set=image_set(node_class),
    )


def image_set(node_class: EC2NodeClass) -> str:
    """The images of the class as one text: memory seen on nodes holds for these images."""
    return ",".join(sorted(image.id for image in node_class.status.amis))


def ephemeral_bytes(spec: EC2NodeClassSpec) -> int:
    """The size of the volume that pods' files are on, without an instance store."""
    family = family_of(spec)
    own = traits(family)
    mappings = _candidates(spec.block_device_mappings, family, own)
    for mapping in (*mappings, *own.block_devices):
        is_ours = mapping in mappings or mapping.device_name == own.ephemeral_device
        if is_ours and mapping.ebs is not None and mapping.ebs.volume_size is not None:
            return quantity.whole(mapping.ebs.volume_size)
    return _DEFAULT_VOLUME


def _candidates(
    mappings: tuple[BlockDeviceMapping, ...], family: Family, own: FamilyTraits
) -> tuple[BlockDeviceMapping, ...]:
    """The mappings that may be that volume, the most likely first."""
    roots = tuple(mapping for mapping in mappings if mapping.root_volume)
    if family is Family.CUSTOM:
        return (*roots, *mappings[-1:])
    return (
        *roots,
        *(mapping for mapping in mappings if mapping.device_name == own.ephemeral_device),
    )


def _capacity(spec: EC2NodeClassSpec, settings: AwsSettings) -> CapacityFacts:
    own = traits(family_of(spec))
    efa_only = [
        interface for interface in spec.network_interfaces if interface.interface_type == _EFA_ONLY
    ]
    return CapacityFacts(
        os=own.os,
        has_eni_limited_pods=own.supports_eni_limited_density,
        has_eni_limited_memory=own.uses_eni_limited_memory_overhead,
        has_pods_per_core=own.supports_pods_per_core,
        vm_memory_overhead=settings.vm_memory_overhead_percent,
        reserved_enis=settings.reserved_enis,
        kubelet=_json(
            spec.kubelet if settings.node_class_cel else without_expressions(spec.kubelet)
        ),
        ephemeral_bytes=ephemeral_bytes(spec),
        # Windows cannot combine its disks, so its files stay on the root volume.
        uses_raid0=spec.instance_store_policy == "RAID0" and own.os == "linux",
        n_volumes=len(spec.block_device_mappings or own.block_devices) or 1,
        n_interfaces=len(spec.network_interfaces),
        n_efa_only=len(efa_only),
        n_efa_only_on_first_card=sum(interface.network_card_index == 0 for interface in efa_only),
    )


def _json(tree: dict[str, object] | None) -> str:
    return msgspec.json.encode(tree, order="deterministic").decode() if tree else ""


@lru_cache(maxsize=256)
def _subnet_zones(subnets: tuple[Subnet, ...]) -> tuple[SubnetZone, ...]:
    zone_ids = {subnet.zone: subnet.zone_id for subnet in subnets}
    return tuple(
        SubnetZone(zone, zone_ids[zone], tuple(sorted(s.id for s in subnets if s.zone == zone)))
        for zone in sorted(zone_ids)
    )


def _reservation(reservation: CapacityReservation) -> ReservationFacts:
    return ReservationFacts(
        id=reservation.id,
        instance_type=reservation.instance_type,
        zone=reservation.availability_zone,
        reservation_type=reservation.reservation_type,
        is_interruptible=reservation.interruptible,
        is_expiring=reservation.state == "expiring",
    )
