"""Capacity reservations: capacity blocks, open and targeted ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tests.ec2.extension import moto_state, paging
from tests.ec2.extension.catalogue import ZONE_IDS
from tests.ec2.extension.filters import matching
from tests.ec2.extension.instances import tag_list
from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World


@dataclass
class Reservation:
    """A capacity reservation, as a test made it."""

    reservation_id: str
    instance_type: str
    zone: str
    n_total: int
    created_at: datetime
    ends_at: datetime | None
    criteria: str  # open, targeted
    kind: str  # default, capacity-block
    is_interruptible: bool
    owner_id: str
    state: str
    tags: dict[str, str]


def n_free(world: World, reservation: Reservation) -> int:
    """How many more instances the reservation holds."""
    n_used = sum(
        instance.capacity_reservation_id == reservation.reservation_id and not instance.is_released
        for instance in world.instances.values()
    )
    return reservation.n_total - n_used


def state(world: World, reservation: Reservation) -> str:
    """Active until it ends."""
    if reservation.ends_at is not None and world.clock.now() >= reservation.ends_at:
        return "expired"
    return reservation.state


def describe(world: World, parameters: Tree) -> Tree:
    """DescribeCapacityReservations."""
    wanted = parameters.get("CapacityReservationIds", [])
    for reservation_id in wanted:
        if reservation_id not in world.reservations:
            msg = f"The capacity reservation ID '{reservation_id}' does not exist"
            raise AwsError("InvalidCapacityReservationId.NotFound", msg)
    known = [
        one for one in world.reservations.values() if not wanted or one.reservation_id in wanted
    ]
    shown = matching(
        known,
        parameters.get("Filters", []),
        values=lambda one: {
            "instance-type": one.instance_type,
            "owner-id": one.owner_id,
            "state": state(world, one),
            "availability-zone": one.zone,
            "instance-match-criteria": one.criteria,
        },
        tags=lambda one: one.tags,
    )
    items, token = paging.page(shown, parameters, least=1)
    return {"CapacityReservations": [_describe(world, one) for one in items], "NextToken": token}


def _describe(world: World, reservation: Reservation) -> Tree:
    arn = f"arn:aws:ec2:{moto_state.REGION}:{reservation.owner_id}:capacity-reservation"
    return {
        "CapacityReservationId": reservation.reservation_id,
        "OwnerId": reservation.owner_id,
        "CapacityReservationArn": f"{arn}/{reservation.reservation_id}",
        "AvailabilityZoneId": ZONE_IDS[reservation.zone],
        "InstanceType": reservation.instance_type,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": reservation.zone,
        "Tenancy": "default",
        "TotalInstanceCount": reservation.n_total,
        "AvailableInstanceCount": n_free(world, reservation),
        "EbsOptimized": False,
        "EphemeralStorage": False,
        "State": state(world, reservation),
        "StartDate": reservation.created_at,
        "EndDate": reservation.ends_at,
        "EndDateType": "unlimited" if reservation.ends_at is None else "limited",
        "InstanceMatchCriteria": reservation.criteria,
        "CreateDate": reservation.created_at,
        "Tags": tag_list(reservation.tags),
        "ReservationType": reservation.kind,
        "Interruptible": reservation.is_interruptible,
    }
