"""What people write of evictions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dovetail.units import knobs

WEEK = timedelta(days=7)


@pytest.mark.parametrize(("text", "want"), [("0", 0), ("0.005", 5_000_000), (" 1 ", 10**9)])
def test_a_saving_is_an_amount_of_dollars(text: str, want: int) -> None:
    """To the nanodollar."""
    assert knobs.least_saving(text) == want


@pytest.mark.parametrize("text", ["", "-1", "much", "nan", "inf", "1e9", "$1", "1" * 50])
def test_a_saving_that_makes_no_sense_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(ValueError, match=r'expected dollars an hour such as "0.005"'):
        knobs.least_saving(text)


@pytest.mark.parametrize(("text", "want"), [("0", 0), ("4", 4), (" 12 ", 12)])
def test_evictions_are_counted_in_whole_numbers(text: str, want: int) -> None:
    """None at all included."""
    assert knobs.most_evictions(text) == want


@pytest.mark.parametrize("text", ["", "-1", "1.5", "often", "1000001", "٤", "1" * 50])
def test_a_count_that_makes_no_sense_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(ValueError, match='expected a whole number such as "4"'):
        knobs.most_evictions(text)


@pytest.mark.parametrize(
    ("text", "want"), [("0s", timedelta(0)), (" 90m ", timedelta(minutes=90)), ("168h", WEEK)]
)
def test_what_an_eviction_is_worth_is_a_time(text: str, want: timedelta) -> None:
    """Up to a week."""
    assert knobs.eviction_cost(text) == want


@pytest.mark.parametrize("text", ["", "-1s", "2", "long", "169h", "1h" * 50])
def test_a_cost_that_makes_no_sense_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(ValueError, match='expected a duration such as "2h"'):
        knobs.eviction_cost(text)


@pytest.mark.parametrize(("text", "want"), [("0", 0), ("0.025", 25_000_000), (" 1000 ", 10**12)])
def test_a_price_per_node_is_an_amount_of_dollars(text: str, want: int) -> None:
    """To the nanodollar."""
    assert knobs.node_price(text) == want


@pytest.mark.parametrize("text", ["", "-0.01", "free", "nan", "inf", "1000.01", "$1", "1" * 50])
def test_a_price_per_node_that_makes_no_sense_is_refused(text: str) -> None:
    """Also one so large that sums of it could overflow."""
    with pytest.raises(ValueError, match=r'expected dollars an hour from "0" to "1000"'):
        knobs.node_price(text)
