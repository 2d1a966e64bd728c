"""Answers are said in few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dovetail.model.plan import Disrupt
from dovetail.present.explanation import age, amounts, departure, saving

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "want"),
    [
        pytest.param(timedelta(seconds=5, microseconds=7), "5s", id="seconds"),
        pytest.param(timedelta(minutes=5), "5m", id="minutes"),
        pytest.param(timedelta(minutes=10, seconds=30), "10m30s", id="minutes and seconds"),
        pytest.param(timedelta(hours=6), "6h", id="hours"),
        pytest.param(timedelta(hours=20, minutes=20), "20h20m", id="hours and minutes"),
        pytest.param(timedelta(days=3, hours=2, minutes=5), "3d 2h", id="days and hours"),
        pytest.param(timedelta(days=10), "10d", id="days"),
        pytest.param(timedelta(seconds=-1), "", id="still to come"),
    ],
)
def test_an_age_has_its_largest_units(ago: timedelta, want: str) -> None:
    """As kubectl does, more or less."""
    assert age(NOW - ago, NOW) == want


def test_what_nobody_knows_has_no_age() -> None:
    """Rather than one that is made up."""
    assert age(None, NOW) == ""


def test_amounts_leave_out_the_place_of_a_pod() -> None:
    """And say it where nothing is asked for."""
    assert amounts({"pods": 1, "memory": 1024**3, "cpu": 500}) == "cpu 500m, memory 1Gi"
    assert amounts({"pods": 1}) == "nothing"


@pytest.mark.parametrize(
    ("nanousd", "want"),
    [
        (100_000_000, "saves $0.1000 an hour"),
        (-100_000_000, "costs $0.1000 an hour more"),
        (0, "costs the same"),
    ],
)
def test_a_saving_may_be_none(nanousd: int, want: str) -> None:
    """Whatever its sign."""
    assert saving(nanousd) == want


def test_a_departure_names_who_goes_along() -> None:
    """In one sentence."""
    gone = Disrupt("Underutilized", ("a", "b"), saving_nanousd=1_000_000_000)
    assert departure(gone, "a") == (
        "It can be removed now, for reason Underutilized together with b: "
        "that saves $1.0000 an hour."
    )
