"""Describes an instance that a fleet request has just launched, before EC2 describes it."""

from __future__ import annotations

from datetime import datetime

from dovetail import labels
from dovetail.cloud.declare import ZONE_ID
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import Offering
from dovetail.providers.aws.instances.described import Ec2Instance
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.fleet_answer import FleetInstance
from dovetail.providers.aws.launching.options import is_capacity_block, is_interruptible
from dovetail.providers.aws.launching.orders import LaunchOrder
from dovetail.providers.aws.launching.templates import INTERRUPTIBLE


def launched_instance(
    claim: ClaimObject, instance: FleetInstance, order: LaunchOrder, now: datetime
) -> Ec2Instance:
    """The instance, from what was asked for and what the fleet answered."""
    offering = _offering(instance, order)
    stated = offering.requirements.get(ZONE_ID) if offering is not None else None
    return Ec2Instance(
        id=instance.id,
        instance_type=instance.instance_type,
        zone=instance.zone,
        zone_id=min(stated.values, default="") if stated is not None else "",
        image_id=instance.image_id,
        launched_at=now,
        tags={labels.NODE_POOL: claim.node_pool, keys.NODE_CLASS_TAG: claim.node_class.name},
        lifecycle=_lifecycle(instance, offering),
        reservation_id=offering.reservation_id if offering is not None else "",
        uses_reserved_only=order.options.capacity_type == labels.RESERVED,
        subnet_id=instance.subnet_id,
        tenancy=order.tenancy,
        placement_group=order.placement_group,
        partition=order.partition,
    )


def unknown_instance(claim: ClaimObject, instance: FleetInstance) -> Ec2Instance:
    """The instance that another process launched, while EC2 does not describe it yet."""
    return Ec2Instance(
        id=instance.id,
        instance_type=instance.instance_type,
        zone=instance.zone,
        image_id=instance.image_id,
        tags={labels.NODE_POOL: claim.node_pool, keys.NODE_CLASS_TAG: claim.node_class.name},
        lifecycle=labels.SPOT if instance.is_spot else "",
        subnet_id=instance.subnet_id,
    )


def _offering(instance: FleetInstance, order: LaunchOrder) -> Offering | None:
    for option in order.options.options:
        if option.instance_type.name == instance.instance_type:
            return next((at for at in option.offerings if at.zone == instance.zone), None)
    return None


def _lifecycle(instance: FleetInstance, offering: Offering | None) -> str:
    if instance.is_spot:
        return labels.SPOT
    if offering is not None and is_capacity_block(offering):
        return keys.CAPACITY_BLOCK
    return INTERRUPTIBLE if offering is not None and is_interruptible(offering) else ""
