"""What the extension reads of moto: subnets, security groups and instance profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID

ACCOUNT: str = DEFAULT_ACCOUNT_ID
REGION = "us-west-2"


@dataclass(frozen=True)
class Subnet:
    """A subnet, as far as a launch needs it."""

    subnet_id: str
    vpc_id: str
    zone: str
    zone_id: str
    cidr: str
    n_addresses: int


def _ec2() -> Any:
    return get_backend("ec2")[ACCOUNT][REGION]


def _subnet(subnet: Any) -> Subnet:
    return Subnet(
        subnet_id=subnet.id,
        vpc_id=subnet.vpc_id,
        zone=subnet.availability_zone,
        zone_id=subnet.availability_zone_id,
        cidr=subnet.cidr_block,
        n_addresses=subnet.available_ip_address_count,
    )


def subnet_by_id(subnet_id: str) -> Subnet | None:
    """The subnet with this id."""
    for subnets in _ec2().subnets.values():
        if subnet_id in subnets:
            return _subnet(subnets[subnet_id])
    return None


def default_subnet(zone: str = "") -> Subnet | None:
    """The subnet that a launch uses which names none."""
    defaults = _ec2().get_default_subnets()
    zones = [zone] if zone else sorted(defaults)
    return next((_subnet(defaults[name]) for name in zones if name in defaults), None)


def security_groups() -> dict[str, tuple[str, str]]:
    """Name and VPC of every security group, by id."""
    return {
        group_id: (group.name, vpc_id)
        for vpc_id, groups in _ec2().groups.items()
        for group_id, group in groups.items()
    }


def profile_tags() -> dict[str, dict[str, str]]:
    """The tags of every instance profile, by name."""
    profiles = get_backend("iam")[ACCOUNT]["aws"].instance_profiles
    return {
        profile.name: {tag["Key"]: tag.get("Value", "") for tag in profile.tags}
        for profile in profiles.values()
    }


def instance_profiles() -> dict[str, tuple[str, str]]:
    """ARN and id of every instance profile, by name."""
    profiles = get_backend("iam")[ACCOUNT]["aws"].instance_profiles
    return {profile.name: (profile.arn, profile.id) for profile in profiles.values()}
