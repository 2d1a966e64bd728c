"""Which EC2 types are there, where, and for how much?

On-demand prices are list prices. Spot has no list price: the one stated here is SYNTHETIC, made
from the name of the type and the zone alone, so that plans can be tried out. It is not what AWS
charges; `docs/catalogue.md` says how it is made.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Final

from dovetail import labels
from dovetail.cloud.declare import allocatable, placed
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirement
from dovetail.providers.aws import describe
from dovetail.providers.aws.capacity import attach_limits, capacity, overhead
from dovetail.providers.aws.table import Row, rows

ZONES: Final = ("us-west-2a", "us-west-2b", "us-west-2c")
# AWS maps zone names to ids differently in each account; these are the usual ones.
_ZONE_IDS: Final = {
    "us-west-2a": "usw2-az2",
    "us-west-2b": "usw2-az1",
    "us-west-2c": "usw2-az3",
    "us-west-2d": "usw2-az4",
}
# AL2023 does not run on the first Graviton.
_UNSUPPORTED_FAMILIES: Final = frozenset({"a1"})


@lru_cache(maxsize=8)
def instance_types(zones: tuple[str, ...] = ZONES) -> tuple[InstanceType, ...]:
    """Every type of the table in each of these zones, on demand and as spot.

    What cannot be bought (spot of a type that is never sold as spot) is there, but not available.
    """
    zone_ids = tuple(_ZONE_IDS[zone] for zone in zones if zone in _ZONE_IDS)
    placement = describe.placement(zones, (labels.ON_DEMAND, labels.SPOT), zone_ids)
    return tuple(_instance_type(row, zones, placement) for row in rows())


def _instance_type(
    row: Row, zones: tuple[str, ...], placement: tuple[Requirement, ...]
) -> InstanceType:
    held = capacity(row)
    return InstanceType(
        name=row.name,
        requirements=describe.requirements(row, placement),
        capacity=held,
        allocatable=allocatable(held, overhead(row)),
        offerings=tuple(offering for zone in zones for offering in _offerings(row, zone)),
        attach_limits=attach_limits(row),
    )


def _offerings(row: Row, zone: str) -> tuple[Offering, Offering]:
    is_supported = row.family not in _UNSUPPORTED_FAMILIES
    zone_id = _ZONE_IDS.get(zone, "")
    return (
        Offering(
            zone=zone,
            capacity_type=labels.ON_DEMAND,
            price_nanousd=row.price_nanousd,
            requirements=placed(zone, labels.ON_DEMAND, zone_id),
            is_available=is_supported,
        ),
        Offering(
            zone=zone,
            capacity_type=labels.SPOT,
            price_nanousd=synthetic_spot_nanousd(row.name, zone, row.price_nanousd),
            requirements=placed(zone, labels.SPOT, zone_id),
            is_available=is_supported and row.has_spot,
        ),
    )


def synthetic_spot_nanousd(instance_type: str, zone: str, on_demand_nanousd: int) -> int:
    """On-demand x (0.25 + 0.45 u), to the nearest nanodollar.

    u is the first 8 hex digits of sha256("TYPE/ZONE") over 2^32: the same on every run, different
    from type to type and from zone to zone, as spot prices are.
    """
    digest = int(sha256(f"{instance_type}/{zone}".encode()).hexdigest()[:8], 16)
    hundredths = (25 << 32) + 45 * digest  # of 2^32
    denominator = 100 << 32
    return (2 * on_demand_nanousd * hundredths + denominator) // (2 * denominator)
