"""Asks AWS for instance types, their zones and prices.

Pages are small: the SDK reads a page in one go, and nothing else runs meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec
from botocore.parsers import ResponseParserError

from dovetail.providers.aws.calls import CallFailedError, Failure, calling
from dovetail.providers.aws.catalogue.described import DescribedType
from dovetail.providers.aws.catalogue.machines import MachineType, from_described, is_wanted
from dovetail.providers.aws.catalogue.prices import (
    PRODUCT_DESCRIPTIONS,
    SERVICE,
    SpotPrice,
    currency,
    newest_spot,
    on_demand_nanousd,
    product_filters,
)
from dovetail.units import money

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client
    from types_aiobotocore_ec2.type_defs import SpotPriceTypeDef
    from types_aiobotocore_pricing import PricingClient

_TYPES: Final = 25  # of a page; each is a long document
_OFFERINGS: Final = 500
_SPOT_PRICES: Final = 200
_PRODUCTS: Final = 50
_DESCRIBE_TYPES: Final = "ec2:DescribeInstanceTypes"
_DESCRIBE_OFFERINGS: Final = "ec2:DescribeInstanceTypeOfferings"
_DESCRIBE_SPOT: Final = "ec2:DescribeSpotPriceHistory"
_GET_PRODUCTS: Final = "pricing:GetProducts"


async def machine_types(ec2: EC2Client) -> tuple[MachineType, ...]:
    """Every instance type of the region that nodes can run on, by name."""
    machines: list[MachineType] = []
    pages = ec2.get_paginator("describe_instance_types").paginate(
        Filters=[
            {"Name": "supported-virtualization-type", "Values": ["hvm"]},
            {"Name": "processor-info.supported-architecture", "Values": ["x86_64", "arm64"]},
        ],
        PaginationConfig={"PageSize": _TYPES},
    )
    with calling(_DESCRIBE_TYPES), _raise_faults(_DESCRIBE_TYPES):
        async for page in pages:
            described = msgspec.convert(page["InstanceTypes"], list[DescribedType])
            machines.extend(from_described(item) for item in described if is_wanted(item))
    return tuple(sorted(machines, key=lambda machine: machine.name))


async def zones_by_type(ec2: EC2Client) -> dict[str, tuple[str, ...]]:
    """The zones in which each type is offered, by type."""
    zones: dict[str, list[str]] = {}
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone", PaginationConfig={"PageSize": _OFFERINGS}
    )
    with calling(_DESCRIBE_OFFERINGS), _raise_faults(_DESCRIBE_OFFERINGS):
        async for page in pages:
            for offering in page["InstanceTypeOfferings"]:
                zones.setdefault(offering["InstanceType"], []).append(offering["Location"])
    return {name: tuple(sorted(set(zones[name]))) for name in sorted(zones)}


async def on_demand_prices(pricing: PricingClient, region: str) -> dict[str, int]:
    """On-demand prices of the region, in billionths of its currency, by type."""
    prices: dict[str, int] = {}
    paginator = pricing.get_paginator("get_products")
    for fields in product_filters(region):
        pages = paginator.paginate(
            ServiceCode=SERVICE,
            Filters=[
                {"Type": "TERM_MATCH", "Field": field, "Value": value}
                for field, value in fields.items()
            ],
            PaginationConfig={"PageSize": _PRODUCTS},
        )
        with calling(_GET_PRODUCTS), _raise_faults(_GET_PRODUCTS):
            async for page in pages:
                prices |= on_demand_nanousd(page["PriceList"], currency(region))
    return {name: prices[name] for name in sorted(prices)}


async def spot_prices(
    ec2: EC2Client, now: datetime
) -> tuple[dict[tuple[str, str], int], dict[str, str]]:
    """Spot prices by type and zone, and the ids of the zones by zone."""
    history: list[SpotPrice] = []
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        ProductDescriptions=list(PRODUCT_DESCRIPTIONS),
        StartTime=now,
        PaginationConfig={"PageSize": _SPOT_PRICES},
    )
    with calling(_DESCRIBE_SPOT), _raise_faults(_DESCRIBE_SPOT):
        async for page in pages:
            history.extend(map(_spot_price, page["SpotPriceHistory"]))
    zone_ids = {entry.zone: entry.zone_id for entry in history if entry.zone_id}
    return newest_spot(history), {zone: zone_ids[zone] for zone in sorted(zone_ids)}


def _spot_price(entry: SpotPriceTypeDef) -> SpotPrice:
    return SpotPrice(
        instance_type=entry["InstanceType"],
        zone=entry["AvailabilityZone"],
        zone_id=entry.get("AvailabilityZoneId", ""),
        price_nanousd=money.nanousd(entry["SpotPrice"]),
        since=entry["Timestamp"],
    )


@contextmanager
def _raise_faults(action: str) -> Iterator[None]:
    """Raise what an answer that makes no sense leads to as `CallFailedError`."""
    try:
        yield
    except (ResponseParserError, msgspec.MsgspecError, KeyError, ValueError) as error:
        message = f"the answer cannot be read: {error!r}"
        raise CallFailedError(action, type(error).__name__, message, Failure.UNAVAILABLE) from error
