"""Gives the packaged catalogue, for plans made without AWS.

On-demand prices are list prices. Spot has no list price: the one stated here is SYNTHETIC, made
from the name of the type and the zone alone, so that plans can be tried out. It is not what AWS
charges; `docs/catalogue.md` says how it is made.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Final

import msgspec

from dovetail.model.instance import InstanceType
from dovetail.providers.aws.bootstrap.families import Family
from dovetail.providers.aws.catalogue.class_facts import (
    NO_GROUP,
    CapacityFacts,
    ClassFacts,
    FitFacts,
    SubnetZone,
    class_facts,
)
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs
from dovetail.providers.aws.catalogue.instance_types import resolve
from dovetail.providers.aws.catalogue.machines import packaged_prices, packaged_types
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings

ZONES: Final = ("us-west-2a", "us-west-2b", "us-west-2c")
# AWS maps zone names to ids differently in each account; these are the usual ones.
_ZONE_IDS: Final = {
    "us-west-2a": "usw2-az2",
    "us-west-2b": "usw2-az1",
    "us-west-2c": "usw2-az3",
    "us-west-2d": "usw2-az4",
}
_DEFAULTS: Final = AwsSettings()


@lru_cache(maxsize=8)
def instance_types(zones: tuple[str, ...] = ZONES) -> tuple[InstanceType, ...]:
    """Every type of the table in each of these zones, as an AL2023 node with default settings.

    What cannot be launched (spot of a type that is never sold as spot) is there, but not available.
    """
    facts = ClassFacts(
        capacity=CapacityFacts(has_class=False),
        fit=FitFacts(family=Family.AL2023),
        windows_build="",
        placement_group=NO_GROUP,
        subnet_zones=_subnet_zones(zones),
        reservations=(),
        image_set="",
    )
    return resolve(facts, offline_inputs(zones))


def offline_types(
    node_class: EC2NodeClass | None, settings: AwsSettings = _DEFAULTS
) -> tuple[InstanceType, ...]:
    """The packaged catalogue as nodes of this class would be; without a class, the plain one.

    Zones are those of the subnets in the status of the class; those of the packaged region if it
    has none. Placement groups and the instances left in reservations are unknown offline: offerings
    have no partitions, and reserved ones are unavailable.
    """
    if node_class is None:
        return instance_types()
    facts = class_facts(node_class, settings)
    if not facts.subnet_zones:
        facts = msgspec.structs.replace(facts, subnet_zones=_subnet_zones(ZONES))
    return resolve(facts, offline_inputs(tuple(place.zone for place in facts.subnet_zones)))


@lru_cache(maxsize=8)
def offline_inputs(zones: tuple[str, ...] = ZONES) -> CatalogueInputs:
    """The packaged table, as if every type was offered in each of these zones."""
    prices = packaged_prices()
    return CatalogueInputs(
        machines=packaged_types(),
        region=zones[0][:-1] if zones else "",  # a zone is its region and one letter
        zones=dict.fromkeys(prices, zones),
        zone_ids={zone: _ZONE_IDS[zone] for zone in zones if zone in _ZONE_IDS},
        on_demand_nanousd=prices,
        spot_nanousd={
            (name, zone): synthetic_spot_nanousd(name, zone, price)
            for name, price in prices.items()
            for zone in zones
        },
        knows_spot=True,
    )


def _subnet_zones(zones: tuple[str, ...]) -> tuple[SubnetZone, ...]:
    return tuple(SubnetZone(zone, _ZONE_IDS.get(zone, ""), (zone,)) for zone in zones)


def synthetic_spot_nanousd(instance_type: str, zone: str, on_demand_nanousd: int) -> int:
    """On-demand x (0.25 + 0.45 u), to the nearest nanodollar.

    u is the first 8 hex digits of sha256("TYPE/ZONE") over 2^32: the same on every run, different
    from type to type and from zone to zone, as spot prices are.
    """
    digest = int(sha256(f"{instance_type}/{zone}".encode()).hexdigest()[:8], 16)
    hundredths = (25 << 32) + 45 * digest  # of 2^32
    denominator = 100 << 32
    return (2 * on_demand_nanousd * hundredths + denominator) // (2 * denominator)
