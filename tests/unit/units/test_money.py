from __future__ import annotations

from decimal import Decimal

import pytest

from dovetail.units import money


@pytest.mark.parametrize(
    ("dollars", "want"),
    [
        ("0.0416", 41_600_000),
        (0.1, 100_000_000),
        (3, 3_000_000_000),
        (Decimal("1e-9"), 1),
        ("0.0000000005", 0),
        ("0.0000000015", 2),
        ("-1.5", -1_500_000_000),
    ],
)
def test_dollars_become_whole_billionths(dollars: str | float | Decimal, want: int) -> None:
    """A tenth is a tenth, and halves go to the even neighbour."""
    assert money.nanousd(dollars) == want


@pytest.mark.parametrize("dollars", ["", "free", "nan", "-inf", float("inf"), "1e999"])
def test_what_is_no_amount_is_refused(dollars: str | float) -> None:
    """With what was expected."""
    with pytest.raises(ValueError, match="expected a number such as"):
        money.nanousd(dollars)


def test_billionths_are_shown_as_dollars() -> None:
    """For people and for JSON."""
    assert money.dollars(41_600_000) == 0.0416
