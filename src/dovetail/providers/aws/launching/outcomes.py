"""Says what an answer of EC2 means: for the claim, and for what is asked for next."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dovetail import labels
from dovetail.cloud.errors import CloudError, CreateError, InsufficientCapacityError, SoldOut
from dovetail.providers.aws.catalogue.inputs import UnavailableOffering
from dovetail.providers.aws.launching.failures import (
    LAUNCH_FAILED,
    NO_FREE_ADDRESSES,
    NO_RESERVED_CAPACITY,
    NO_SPOT_ROLE,
    FleetError,
)
from dovetail.providers.aws.launching.fleet_answer import FleetAnswer

_SHOWN = 5


class OrderPlace(msgspec.Struct, frozen=True, gc=False):
    """What all instances of an order have in common."""

    capacity_type: str
    placement_group: str = ""
    partition: str = ""


class Unavailability(msgspec.Struct, frozen=True, gc=False):
    """What is not to be asked for again for a while."""

    offerings: tuple[UnavailableOffering, ...] = ()
    capacity_types: tuple[str, ...] = ()
    subnets: tuple[str, ...] = ()
    reserved: tuple[tuple[str, str], ...] = ()  # type and zone of reservations that are used up


def unavailability(
    answer: FleetAnswer, place: OrderPlace, types: Iterable[str] = ()
) -> Unavailability:
    """What the errors of an answer tell of capacity; `types` are those that were asked for."""
    errors = [error for error in answer.errors if error.instance_type]
    reserved = [error for error in errors if error.code == NO_RESERVED_CAPACITY]
    without_role = any(error.code == NO_SPOT_ROLE for error in answer.errors)
    return Unavailability(
        offerings=tuple(
            mark for error in errors for mark in _offerings(error, place, sorted(set(types)))
        ),
        capacity_types=(labels.SPOT,) if without_role else (),
        subnets=tuple(
            sorted({error.subnet_id for error in errors if error.code == NO_FREE_ADDRESSES})
        ),
        reserved=tuple(sorted({(error.instance_type, error.zone) for error in reserved})),
    )


def _offerings(error: FleetError, place: OrderPlace, types: list[str]) -> list[UnavailableOffering]:
    if error.hits_spread_limit:
        return [
            UnavailableOffering(name, error.zone, place.capacity_type, place.placement_group)
            for name in types
        ]
    is_about_type = error.is_unfulfillable and error.code != NO_FREE_ADDRESSES
    if not is_about_type or place.capacity_type == labels.RESERVED:
        return []
    return [
        UnavailableOffering(
            instance_type=error.instance_type,
            zone=error.zone,
            capacity_type=place.capacity_type,
            placement_group_id=place.placement_group,
            partition=place.partition if place.placement_group else "",
        )
    ]


def sold_out(answer: FleetAnswer, capacity_type: str) -> tuple[SoldOut, ...]:
    """The offerings that were asked for and could not be had."""
    offerings = {
        SoldOut(error.instance_type, error.zone, capacity_type)
        for error in answer.errors
        if error.is_unfulfillable and error.instance_type
    }
    return tuple(sorted(offerings))


def launch_failure(claim: str, answer: FleetAnswer, capacity_type: str) -> CloudError:
    """The error of a claim that got no instance."""
    doing = f"launching node claim {claim}"
    others = [error for error in answer.errors if not error.is_unfulfillable]
    if answer.errors and not others:
        msg = f"{doing}: insufficient capacity: {_errors_text(answer.errors)}"
        return InsufficientCapacityError(msg, sold_out=sold_out(answer, capacity_type))
    if not others:
        msg = f"{doing}: EC2 launched fewer instances than were asked for, and did not say why"
        return CreateError(msg, condition_reason=LAUNCH_FAILED)
    first = others[0]
    msg = f"{doing}: {_errors_text(others)}"
    return CreateError(msg, condition_reason=first.reason, condition_message=first.message or msg)


def _errors_text(errors: Iterable[FleetError]) -> str:
    texts = sorted({_text(error) for error in errors})
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more


def _text(error: FleetError) -> str:
    where = f" ({error.instance_type} in {error.zone})" if error.instance_type else ""
    return f"{error.code}{where}: {error.message}"
