"""Computes the offerings of an instance type: where and how it can be launched, and the price."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.declare import placement, single
from dovetail.model.instance import Offering
from dovetail.model.requirements import Requirement, Requirements
from dovetail.providers.aws.catalogue.node_labels import (
    NO_RESERVATION,
    PLACEMENT_GROUP_PARTITION,
    RESERVATION_INTERRUPTIBLE,
    RESERVATION_TYPE,
)

UNKNOWN: Final = -1  # a price that nobody knows
_RESERVED_DIVISOR: Final = 10_000_000  # a reservation is paid for already; its order still counts


class OfferedZone(msgspec.Struct, frozen=True, gc=False):
    """A zone in which a type is offered. `is_open`: the class has a usable subnet there."""

    zone: str
    zone_id: str
    is_open: bool
    spot_nanousd: int  # UNKNOWN: no spot there


class ReservedPlace(msgspec.Struct, frozen=True, gc=False):
    """A capacity reservation of a type, and whether instances can be launched into it now."""

    id: str
    zone: str
    zone_id: str
    reservation_type: str
    is_interruptible: bool
    is_open: bool
    n_left: int


class TypeMarket(msgspec.Struct, frozen=True, kw_only=True):
    """All that the offerings of a type depend on; types with equal markets share offerings."""

    places: tuple[OfferedZone, ...]
    on_demand_nanousd: int
    is_compatible: bool = True
    has_spot: bool = True
    n_partitions: int = 0  # of the placement group; 0: no partitions
    marks: frozenset[tuple[str, str, str]] = frozenset()  # unavailable: zone, capacity type,
    reservations: tuple[ReservedPlace, ...] = ()  # and partition, empty for all of them


@lru_cache(maxsize=1 << 14)
def offerings(market: TypeMarket) -> tuple[Offering, ...]:
    """Every offering of the type, those that cannot be launched now as unavailable."""
    shared = NO_RESERVATION if market.reservations else ()
    partitions = tuple(str(number + 1) for number in range(market.n_partitions)) or ("",)
    listed = (
        _offerings(market, place, partition, shared)
        for partition in partitions
        for place in market.places
    )
    reserved = (
        _reserved_offering(market, reservation, partition)
        for reservation in market.reservations
        for partition in partitions
    )
    return (*(offering for group in listed for offering in group), *reserved)


def _offerings(
    market: TypeMarket, place: OfferedZone, partition: str, shared: tuple[Requirement, ...]
) -> Iterator[Offering]:
    prices = {labels.ON_DEMAND: market.on_demand_nanousd, labels.SPOT: place.spot_nanousd}
    for capacity_type, price in prices.items():
        if price == UNKNOWN:
            continue
        yield Offering(
            zone=place.zone,
            capacity_type=capacity_type,
            price_nanousd=price,
            requirements=_labels(place.zone, capacity_type, place.zone_id, (partition, shared)),
            is_available=market.is_compatible
            and place.is_open
            and (capacity_type != labels.SPOT or market.has_spot)
            and not _is_marked(market, place.zone, capacity_type, partition),
        )


def _is_marked(market: TypeMarket, zone: str, capacity_type: str, partition: str) -> bool:
    marks = market.marks
    return bool(marks) and (
        (zone, capacity_type, "") in marks or (zone, capacity_type, partition) in marks
    )


def _reserved_offering(market: TypeMarket, reservation: ReservedPlace, partition: str) -> Offering:
    price = max(market.on_demand_nanousd // _RESERVED_DIVISOR, 1)
    stated = (
        single(labels.RESERVATION_ID, reservation.id),
        single(RESERVATION_TYPE, reservation.reservation_type),
        single(RESERVATION_INTERRUPTIBLE, "true" if reservation.is_interruptible else "false"),
    )
    return Offering(
        zone=reservation.zone,
        capacity_type=labels.RESERVED,
        price_nanousd=price,
        requirements=_labels(
            reservation.zone, labels.RESERVED, reservation.zone_id, (partition, stated)
        ),
        is_available=market.is_compatible and reservation.is_open and reservation.n_left > 0,
        reservation_id=reservation.id,
        reservation_capacity=max(reservation.n_left, 0),
    )


@lru_cache(maxsize=1 << 12)
def _labels(
    zone: str, capacity_type: str, zone_id: str, more: tuple[str, tuple[Requirement, ...]]
) -> Requirements:
    """What an offering fixes: where, how, and its partition and reservation, if there are any."""
    partition, stated = more
    own = placement(zone, capacity_type, zone_id)
    if partition:
        own &= [single(PLACEMENT_GROUP_PARTITION, partition)]
    return own & stated if stated else own
