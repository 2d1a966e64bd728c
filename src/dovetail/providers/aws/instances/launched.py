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
    claim: ClaimObject, one: FleetInstance, order: LaunchOrder, now: datetime
) -> Ec2Instance:
    """The instance, from what was asked for and what the fleet answered."""
    offering = _offering(one, order)
    stated = offering.requirements.get(ZONE_ID) if offering is not None else None
    return Ec2Instance(
        id=one.id,
        instance_type=one.instance_type,
        zone=one.zone,
        zone_id=min(stated.values, default="") if stated is not None else "",
        image_id=one.image_id,
        launched_at=now,
        tags={labels.NODE_POOL: claim.node_pool, keys.NODE_CLASS_TAG: claim.node_class.name},
        lifecycle=_lifecycle(one, offering),
        reservation_id=offering.reservation_id if offering is not None else "",
        uses_reserved_only=order.options.capacity_type == labels.RESERVED,
        subnet_id=one.subnet_id,
        tenancy=order.tenancy,
        placement_group=order.placement_group,
        partition=order.partition,
    )


def unknown_instance(claim: ClaimObject, one: FleetInstance) -> Ec2Instance:
    """The instance that another process launched, while EC2 does not describe it yet."""
    return Ec2Instance(
        id=one.id,
        instance_type=one.instance_type,
        zone=one.zone,
        image_id=one.image_id,
        tags={labels.NODE_POOL: claim.node_pool, keys.NODE_CLASS_TAG: claim.node_class.name},
        lifecycle=labels.SPOT if one.is_spot else "",
        subnet_id=one.subnet_id,
    )


def _offering(one: FleetInstance, order: LaunchOrder) -> Offering | None:
    for option in order.options.options:
        if option.instance_type.name == one.instance_type:
            return next((at for at in option.offerings if at.zone == one.zone), None)
    return None


def _lifecycle(one: FleetInstance, offering: Offering | None) -> str:
    if one.is_spot:
        return labels.SPOT
    if offering is not None and is_capacity_block(offering):
        return keys.CAPACITY_BLOCK
    return INTERRUPTIBLE if offering is not None and is_interruptible(offering) else ""
