"""Price changes of overlays."""

from __future__ import annotations

import pytest

from dovetail.cloud.overlays import (
    FixedPrice,
    PriceChange,
    PriceScale,
    PriceShift,
    changed_price,
    price_change,
)


@pytest.mark.parametrize(
    ("price", "adjustment", "want"),
    [
        pytest.param("", "", None, id="nothing"),
        pytest.param("0.25", "", FixedPrice(250_000_000), id="a price"),
        pytest.param("", "+1.2", PriceShift(1_200_000_000), id="dearer by an amount"),
        pytest.param("", "-0.5", PriceShift(-500_000_000), id="cheaper by an amount"),
        pytest.param("", "+10%", PriceScale(11, 10), id="dearer by a share"),
        pytest.param("", "-12.5%", PriceScale(7, 8), id="cheaper by a share"),
        pytest.param("", "-100%", PriceScale(0, 1), id="for nothing"),
    ],
)
def test_a_manifest_states_a_price_or_how_it_changes(
    price: str, adjustment: str, want: PriceChange | None
) -> None:
    """In dollars per hour or in per cent."""
    assert price_change(price, adjustment) == want


@pytest.mark.parametrize(
    ("price", "adjustment"),
    [
        pytest.param("1", "+1", id="both"),
        pytest.param("-1", "", id="a negative price"),
        pytest.param("1" * 100, "", id="an endless number"),
        pytest.param("", "1", id="an adjustment without a sign"),
        pytest.param("", "-101%", id="more than all of it"),
        pytest.param("", "+1" + "0" * 100 + "%", id="an endless share"),
        pytest.param("", "ten", id="a word"),
    ],
)
def test_anything_else_is_refused(price: str, adjustment: str) -> None:
    """With a message that names the field."""
    with pytest.raises(ValueError, match="price"):
        price_change(price, adjustment)


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(FixedPrice(7), 7, id="replaced"),
        pytest.param(PriceShift(7), 1008, id="moved up"),
        pytest.param(PriceShift(-2000), 0, id="never below zero"),
        pytest.param(PriceScale(1, 2), 501, id="half of 1001, to the nearest"),
        pytest.param(PriceScale(0, 1), 0, id="for nothing"),
    ],
)
def test_a_price_is_replaced_moved_or_scaled(change: PriceChange, want: int) -> None:
    """From 1001 nanodollars."""
    assert changed_price(1001, change) == want
