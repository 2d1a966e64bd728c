"""Calls about instance types and prices, of EC2 and of the Pricing service."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from tests.ec2.extension import paging
from tests.ec2.extension.catalogue import ON_DEMAND, SPOT, ZONE_IDS, is_sold, shapes
from tests.ec2.extension.filters import matching
from tests.ec2.extension.moto_state import REGION
from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World

_NO_TAGS: dict[str, str] = {}
_PLATFORMS = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")


def describe_types(_world: World, parameters: Tree) -> Tree:
    """DescribeInstanceTypes; pages of 100 at most."""
    wanted = parameters.get("InstanceTypes", [])
    for name in wanted:
        if name not in shapes():
            msg = f"The following supplied instance types do not exist: [{name}]"
            raise AwsError("InvalidInstanceType", msg)
    shown = matching(
        (shape for name, shape in shapes().items() if not wanted or name in wanted),
        parameters.get("Filters", []),
        values=_type_values,
        tags=lambda _: _NO_TAGS,
    )
    items, token = paging.page(shown, parameters, most=100, usual=100)
    return {"InstanceTypes": items, "NextToken": token}


def _type_values(shape: Tree) -> Tree:
    return {
        "bare-metal": shape["BareMetal"],
        "current-generation": shape["CurrentGeneration"],
        "hypervisor": shape.get("Hypervisor"),
        "instance-type": shape["InstanceType"],
        "processor-info.supported-architecture": shape["ProcessorInfo"]["SupportedArchitectures"],
        "supported-usage-class": shape["SupportedUsageClasses"],
        "supported-virtualization-type": shape["SupportedVirtualizationTypes"],
    }


def describe_offerings(world: World, parameters: Tree) -> Tree:
    """DescribeInstanceTypeOfferings."""
    kind = parameters.get("LocationType", "region")
    offerings = [
        {"InstanceType": name, "LocationType": kind, "Location": location}
        for name in shapes()
        for location in _locations(world, name, kind)
    ]
    shown = matching(
        offerings,
        parameters.get("Filters", []),
        values=lambda one: {"location": one["Location"], "instance-type": one["InstanceType"]},
        tags=lambda _: _NO_TAGS,
    )
    items, token = paging.page(shown, parameters, usual=1000)
    return {"InstanceTypeOfferings": items, "NextToken": token}


def _locations(world: World, instance_type: str, kind: str) -> list[str]:
    zones = world.market.zones_of(instance_type)
    if kind == "region":
        return [REGION] if zones else []
    return zones if kind == "availability-zone" else [ZONE_IDS[zone] for zone in zones]


def describe_spot_prices(world: World, parameters: Tree) -> Tree:
    """DescribeSpotPriceHistory: the price that holds now, which began an hour ago."""
    now = world.clock.now()
    wanted = parameters.get("InstanceTypes") or list(shapes())
    platforms = [
        one for one in parameters.get("ProductDescriptions") or _PLATFORMS if one in _PLATFORMS
    ]
    prices = [
        _spot_price(world, name, zone, platform, now)
        for name in wanted
        for zone in ZONE_IDS
        if is_sold((name, zone, SPOT)) and (name, zone) not in world.market.withdrawn
        for platform in platforms
    ]
    shown = matching(
        prices,
        parameters.get("Filters", []),
        values=lambda one: {
            "availability-zone": one["AvailabilityZone"],
            "instance-type": one["InstanceType"],
            "product-description": one["ProductDescription"],
        },
        tags=lambda _: _NO_TAGS,
    )
    only = parameters.get("AvailabilityZone")
    chosen = [one for one in shown if not only or one["AvailabilityZone"] == only]
    items, token = paging.page(chosen, parameters, least=1, usual=1000)
    # Here EC2 ends the pages with an empty token rather than with none.
    return {"SpotPriceHistory": items, "NextToken": token or ""}


def _spot_price(world: World, name: str, zone: str, platform: str, now: datetime) -> Tree:
    return {
        "InstanceType": name,
        "AvailabilityZone": zone,
        "AvailabilityZoneId": ZONE_IDS[zone],
        "ProductDescription": platform,
        "SpotPrice": dollars(world.market.price((name, zone, SPOT))),
        "Timestamp": now - timedelta(hours=1),
    }


def dollars(nanousd: int) -> str:
    """Dollars as a decimal number without rounding."""
    return f"{nanousd // 10**9}.{nanousd % 10**9:09d}"


def products(world: World, parameters: Tree) -> Tree:
    """GetProducts of the Pricing service: on-demand list prices."""
    offered = [_product(world, name) for name in shapes()]
    wanted = {(one["Field"], one["Value"]) for one in parameters.get("Filters", [])}
    shown = [product for product in offered if wanted <= _fields(product)]
    items, token = paging.page(shown, parameters, least=1, most=100, usual=100)
    texts = [json.dumps(product) for product in items]
    return {"FormatVersion": "aws_v1", "PriceList": texts, "NextToken": token}


def _fields(product: Tree) -> set[tuple[str, str]]:
    described = product["product"]
    return {("productFamily", described["productFamily"]), *described["attributes"].items()}


def _product(world: World, name: str) -> Tree:
    is_metal = shapes()[name]["BareMetal"]
    price = world.market.price((name, next(iter(ZONE_IDS)), ON_DEMAND))
    sku = name.upper().replace(".", "")
    term, rate = f"{sku}.JRTCKXETXF", f"{sku}.JRTCKXETXF.6YS6EN2CT7"
    dimension = {
        "unit": "Hrs",
        "rateCode": rate,
        "appliesTo": [],
        "description": f"${dollars(price)} per On Demand Linux {name} Instance Hour",
        "pricePerUnit": {"USD": dollars(price)},
    }
    return {
        "product": {
            "productFamily": "Compute Instance (bare metal)" if is_metal else "Compute Instance",
            "sku": sku,
            "attributes": {
                "instanceType": name,
                "regionCode": REGION,
                "serviceCode": "AmazonEC2",
                "servicecode": "AmazonEC2",
                "operatingSystem": "Linux",
                "preInstalledSw": "NA",
                "capacitystatus": "Used",
                "marketoption": "OnDemand",
                "tenancy": "Dedicated" if is_metal else "Shared",
            },
        },
        "serviceCode": "AmazonEC2",
        "terms": {
            "OnDemand": {
                term: {
                    "offerTermCode": "JRTCKXETXF",
                    "sku": sku,
                    "priceDimensions": {rate: dimension},
                    "termAttributes": {},
                }
            }
        },
        "publicationDate": "2026-01-01T00:00:00Z",
    }
