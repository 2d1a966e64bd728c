"""Reads EC2 instances from what DescribeInstances answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail import labels
from dovetail.providers.aws.launching import keys

if TYPE_CHECKING:
    from types_aiobotocore_ec2.type_defs import InstanceTypeDef, ReservationTypeDef

TERMINATED: Final = "terminated"
SHUTTING_DOWN: Final = "shutting-down"
LISTED: Final = ("pending", "running", "stopping", "stopped", SHUTTING_DOWN)
_ONLY_RESERVED: Final = "capacity-reservations-only"
_INTERRUPTIBLE: Final = "interruptible-capacity-reservation"
_SCHEME: Final = "aws:///"


class Ec2Instance(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An instance as EC2 describes it, or as a fleet request has just launched it."""

    id: str
    instance_type: str
    zone: str
    zone_id: str = ""
    image_id: str = ""
    state: str = "pending"
    launched_at: datetime | None = None
    tags: Mapping[str, str] = {}
    lifecycle: str = ""  # spot, capacity-block or interruptible-capacity-reservation
    reservation_id: str = ""
    uses_reserved_only: bool = False
    subnet_id: str = ""
    security_groups: frozenset[str] = frozenset()
    tenancy: str = "default"
    placement_group: str = ""
    partition: str = ""

    @property
    def provider_id(self) -> str:
        """As Nodes name it."""
        return f"{_SCHEME}{self.zone}/{self.id}"

    @property
    def capacity_type(self) -> str:
        """How it is paid for."""
        if self.lifecycle == labels.SPOT:
            return labels.SPOT
        return labels.RESERVED if self.uses_reserved_only else labels.ON_DEMAND

    @property
    def reservation_type(self) -> str:
        """The type of its capacity reservation."""
        return keys.CAPACITY_BLOCK if self.lifecycle == keys.CAPACITY_BLOCK else "default"

    @property
    def is_interruptible(self) -> bool:
        """Whether its capacity reservation may be taken back."""
        return self.lifecycle == _INTERRUPTIBLE

    @property
    def is_terminating(self) -> bool:
        """Whether it is on its way out."""
        return self.state in (SHUTTING_DOWN, TERMINATED)

    @property
    def token(self) -> str:
        """The client token of the fleet request that launched it."""
        return self.tags.get(keys.TOKEN_TAG, "")


def instance_id(provider_id: str) -> str:
    """The id in a provider id; empty if it is not one of EC2."""
    if not provider_id.startswith(_SCHEME):
        return ""
    _, _, name = provider_id.removeprefix(_SCHEME).partition("/")
    return name if name.startswith("i-") else ""


def instances_of(reservations: Iterable[ReservationTypeDef]) -> list[Ec2Instance]:
    """Every instance of an answer."""
    return [_instance(tree) for part in reservations for tree in part.get("Instances", [])]


def _instance(tree: InstanceTypeDef) -> Ec2Instance:
    placement = tree.get("Placement", {})
    preference = tree.get("CapacityReservationSpecification", {}).get(
        "CapacityReservationPreference", ""
    )
    partition = placement.get("PartitionNumber", 0)
    return Ec2Instance(
        id=tree.get("InstanceId", ""),
        instance_type=str(tree.get("InstanceType", "")),
        zone=placement.get("AvailabilityZone", ""),
        zone_id=placement.get("AvailabilityZoneId", ""),
        image_id=tree.get("ImageId", ""),
        state=str(tree.get("State", {}).get("Name", "")),
        launched_at=tree.get("LaunchTime"),
        tags={tag.get("Key", ""): tag.get("Value", "") for tag in tree.get("Tags", [])},
        lifecycle=str(tree.get("InstanceLifecycle", "")),
        reservation_id=tree.get("CapacityReservationId", ""),
        uses_reserved_only=preference == _ONLY_RESERVED,
        subnet_id=tree.get("SubnetId", ""),
        security_groups=frozenset(
            group.get("GroupId", "") for group in tree.get("SecurityGroups", [])
        ),
        tenancy=str(placement.get("Tenancy", "default")),
        placement_group=placement.get("GroupId", ""),
        partition=str(partition) if partition else "",
    )
