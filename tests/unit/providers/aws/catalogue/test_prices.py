"""What to ask for prices, and what the answers mean."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import pytest

from dovetail.providers.aws.catalogue.prices import (
    SpotPrice,
    currency,
    is_priced,
    newest_spot,
    on_demand_nanousd,
    pricing_region,
    product_filters,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ONE = datetime(2026, 1, 1, 13, tzinfo=UTC)


def product(name: str, *prices: str, in_currency: str = "USD") -> str:
    """An entry of a price list."""
    dimensions = {
        str(number): {"unit": "Hrs", "pricePerUnit": {in_currency: price}}
        for number, price in enumerate(prices)
    }
    return json.dumps(
        {
            "product": {"attributes": {"instanceType": name, "vcpu": "2"}},
            "terms": {"OnDemand": {"term": {"priceDimensions": dimensions}}, "Reserved": {}},
        }
    )


@pytest.mark.parametrize(
    ("region", "want"),
    [
        pytest.param("us-west-2", "us-east-1", id="America"),
        pytest.param("ca-central-1", "us-east-1", id="Canada"),
        pytest.param("sa-east-1", "us-east-1", id="South America"),
        pytest.param("eu-west-3", "eu-central-1", id="Europe"),
        pytest.param("me-south-1", "eu-central-1", id="Middle East"),
        pytest.param("af-south-1", "eu-central-1", id="Africa"),
        pytest.param("ap-northeast-1", "ap-south-1", id="Asia"),
        pytest.param("cn-north-1", "cn-northwest-1", id="China"),
    ],
)
def test_prices_are_asked_for_at_the_nearest_endpoint(region: str, want: str) -> None:
    """The Pricing service has four."""
    assert pricing_region(region) == want


@pytest.mark.parametrize(
    ("region", "isolated", "want"),
    [
        pytest.param("us-west-2", False, True, id="as usual"),
        pytest.param("us-west-2", True, False, id="an isolated VPC has no way to the endpoint"),
        pytest.param("us-gov-west-1", False, False, id="GovCloud has no endpoint"),
    ],
)
def test_prices_are_asked_for_only_where_somebody_answers(
    region: str, *, isolated: bool, want: bool
) -> None:
    """Elsewhere the packaged prices stay."""
    assert is_priced(region, isolated_vpc=isolated) is want


def test_china_pays_in_yuan() -> None:
    """Prices elsewhere are in dollars."""
    assert (currency("cn-north-1"), currency("us-west-2")) == ("CNY", "USD")
    text = product("m5.large", "0.7", in_currency="CNY")
    assert on_demand_nanousd([text], "CNY") == {"m5.large": 700_000_000}
    assert on_demand_nanousd([text], "USD") == {}


def test_products_are_linux_on_demand_shared_or_bare_metal() -> None:
    """Bare metal is priced as dedicated."""
    asked = product_filters("eu-west-1")
    assert [(one["productFamily"], one["tenancy"]) for one in asked] == [
        ("Compute Instance", "Shared"),
        ("Compute Instance (bare metal)", "Dedicated"),
    ]
    for one in asked:
        assert (
            one.items()
            >= {
                "regionCode": "eu-west-1",
                "preInstalledSw": "NA",
                "operatingSystem": "Linux",
                "capacitystatus": "Used",
                "marketoption": "OnDemand",
            }.items()
        )


def test_the_lowest_price_counts_and_zero_is_none() -> None:
    """Lists contain entries that cost nothing, for capacity already paid for."""
    texts = [
        product("m5.large", "0.0960000000", "0.0000000000"),
        product("m5.large", "0.1"),
        product("c5.large", "0"),
    ]
    assert on_demand_nanousd(texts, "USD") == {"m5.large": 96_000_000}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("<html>", msgspec.DecodeError, id="no JSON"),
        pytest.param(product("m5.large", "dear"), ValueError, id="no number"),
    ],
)
def test_a_broken_price_list_is_an_error(text: str, error: type[Exception]) -> None:
    """It must not pass for a list without prices."""
    with pytest.raises(error):
        on_demand_nanousd([text], "USD")


def test_the_newest_spot_price_of_a_type_and_zone_counts() -> None:
    """Of two of the same moment the higher one."""
    history = [
        SpotPrice("m5.large", "a", "az1", 30, ONE),
        SpotPrice("m5.large", "a", "az1", 20, NOON),
        SpotPrice("m5.large", "a", "az1", 31, ONE),
        SpotPrice("m5.large", "b", "az2", 10, NOON),
    ]
    assert newest_spot(history) == {("m5.large", "a"): 31, ("m5.large", "b"): 10}
    assert newest_spot(reversed(history)) == newest_spot(history)
