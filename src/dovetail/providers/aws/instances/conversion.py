"""Converts EC2 instances to what every cloud reports: labels, capacity and allocatable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail import labels
from dovetail.cloud.declare import ZONE_ID
from dovetail.cloud.errors import SoldOut
from dovetail.cloud.provider import Instance
from dovetail.model.instance import InstanceType
from dovetail.providers.aws.instances.described import Ec2Instance
from dovetail.providers.aws.instances.ownership import ClaimOwner
from dovetail.providers.aws.launching import keys

NO_OWNER: Final = ClaimOwner()
NOTHING: Final[Mapping[str, int]] = {}


def cloud_instance(
    instance: Ec2Instance,
    kind: InstanceType | None,
    owner: ClaimOwner = NO_OWNER,
    *,
    requests: Mapping[str, int] = NOTHING,
    sold_out: tuple[SoldOut, ...] = (),
) -> Instance:
    """The instance; `kind` is its type, as its node class has it, None if that is not known.

    A node has EFA only if its claim `requests` it.
    """
    return Instance(
        provider_id=instance.provider_id,
        node_claim=owner.name,
        node_claim_uid=owner.uid,
        node_pool=instance.tags.get(labels.NODE_POOL, ""),
        labels=node_labels(instance, kind),
        capacity=_usable(kind.capacity, requests) if kind else {},
        allocatable=_usable(kind.allocatable, requests) if kind else {},
        image_id=instance.image_id,
        created_at=instance.launched_at,
        is_terminating=instance.is_terminating,
        sold_out=sold_out,
    )


def _usable(amounts: Mapping[str, int], requests: Mapping[str, int]) -> dict[str, int]:
    return {
        name: amount for name, amount in amounts.items() if name != keys.EFA or requests.get(name)
    }


def node_labels(instance: Ec2Instance, kind: InstanceType | None) -> dict[str, str]:
    """What the instance fixes: all labels of its type that have one value, and its own place."""
    fixed = kind.requirements.single_values() if kind else {}
    stated = {
        **fixed,
        labels.INSTANCE_TYPE: instance.instance_type,
        labels.ZONE: instance.zone,
        labels.CAPACITY_TYPE: instance.capacity_type,
        keys.TENANCY: instance.tenancy,
    }
    if instance.zone_id:
        stated[ZONE_ID] = instance.zone_id
    if instance.capacity_type == labels.RESERVED and instance.reservation_id:
        stated[labels.RESERVATION_ID] = instance.reservation_id
        stated[keys.RESERVATION_TYPE] = instance.reservation_type
        stated[keys.RESERVATION_INTERRUPTIBLE] = "true" if instance.is_interruptible else "false"
    if instance.placement_group:
        stated[keys.PLACEMENT_GROUP] = instance.placement_group
    if instance.partition:
        stated[keys.PARTITION] = instance.partition
    return dict(sorted(stated.items()))
