"""Reads prices: where to ask for them, what to ask, and what the answers mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail.units import money

PRODUCT_DESCRIPTIONS: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
SERVICE: Final = "AmazonEC2"
# Bare metal is always dedicated; everything else is priced as shared.
_TENANCIES: Final = (("Compute Instance", "Shared"), ("Compute Instance (bare metal)", "Dedicated"))
_DEFAULT_PRICING_REGION: Final = "us-east-1"
# The Pricing service has few endpoints: which serves regions of this beginning.
_PRICING_REGIONS: Final = (
    ("cn-", "cn-northwest-1"),
    ("ap-", "ap-south-1"),
    ("eu-", "eu-central-1"),
    ("af-", "eu-central-1"),
    ("me-", "eu-central-1"),
    ("il-", "eu-central-1"),
)
_GOVERNMENT: Final = "us-gov-"


class _Attributes(msgspec.Struct, frozen=True):
    instance_type: str = msgspec.field(default="", name="instanceType")


class _Product(msgspec.Struct, frozen=True):
    attributes: _Attributes = _Attributes()


class _Dimension(msgspec.Struct, frozen=True):
    price_per_unit: dict[str, str] = msgspec.field(default_factory=dict, name="pricePerUnit")


class _Term(msgspec.Struct, frozen=True):
    price_dimensions: dict[str, _Dimension] = msgspec.field(
        default_factory=dict, name="priceDimensions"
    )


class _Terms(msgspec.Struct, frozen=True):
    on_demand: dict[str, _Term] = msgspec.field(default_factory=dict, name="OnDemand")


class _Priced(msgspec.Struct, frozen=True):
    product: _Product = _Product()
    terms: _Terms = _Terms()


_PRICED: Final = msgspec.json.Decoder(_Priced)


class SpotPrice(msgspec.Struct, frozen=True, gc=False):
    """One entry of the spot price history."""

    instance_type: str
    zone: str
    zone_id: str
    price_nanousd: int
    since: datetime


def pricing_region(region: str) -> str:
    """The region whose Pricing endpoint is nearest."""
    for beginning, nearest in _PRICING_REGIONS:
        if region.startswith(beginning):
            return nearest
    return _DEFAULT_PRICING_REGION


def is_priced(region: str, *, isolated_vpc: bool) -> bool:
    """Whether the Pricing service can be asked: not without a way out, and not in GovCloud."""
    return not isolated_vpc and not region.startswith(_GOVERNMENT)


def currency(region: str) -> str:
    """What prices of the region are stated in."""
    return "CNY" if region.startswith("cn-") else "USD"


def product_filters(region: str) -> tuple[dict[str, str], ...]:
    """What to ask GetProducts: fields and their values, one set for each question."""
    common = {
        "regionCode": region,
        "preInstalledSw": "NA",
        "operatingSystem": "Linux",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    }
    return tuple(
        common | {"productFamily": family, "tenancy": tenancy} for family, tenancy in _TENANCIES
    )


def on_demand_nanousd(price_list: Iterable[str], in_currency: str) -> dict[str, int]:
    """The lowest price of each type that is not zero, by type, in billionths of the currency.

    Raises msgspec.DecodeError or ValueError for what is no price list.
    """
    prices: dict[str, int] = {}
    for text in price_list:
        priced = _PRICED.decode(text)
        name = priced.product.attributes.instance_type
        for price in _stated_prices(priced.terms.on_demand, in_currency):
            prices[name] = min(price, prices.get(name, price))
    return prices


def _stated_prices(terms: Mapping[str, _Term], in_currency: str) -> list[int]:
    stated = (
        money.nanousd(dimension.price_per_unit[in_currency])
        for term in terms.values()
        for dimension in term.price_dimensions.values()
        if in_currency in dimension.price_per_unit
    )
    return [price for price in stated if price > 0]


def newest_spot(history: Iterable[SpotPrice]) -> dict[tuple[str, str], int]:
    """The price that holds now, by type and zone: the newest; the higher one if two are."""
    newest: dict[tuple[str, str], SpotPrice] = {}
    for entry in history:
        key = (entry.instance_type, entry.zone)
        known = newest.get(key)
        if known is None or (known.since, known.price_nanousd) < (entry.since, entry.price_nanousd):
            newest[key] = entry
    return {key: entry.price_nanousd for key, entry in sorted(newest.items())}
