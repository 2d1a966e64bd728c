from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dovetail.sim.report.data import compare, evictions, figures, heading, rehearsed_json
from dovetail.sim.report.sides import FIGURES, differences, labels, sides
from dovetail.sim.scenario.case import Decider
from tests.unit.sim.report.outcomes import outcome, report

COST = FIGURES[0]
CHEAP = outcome(report=report(price=8.0, evictions=1))
DEAR = outcome(Decider.REFERENCE, report=report(price=10.0, evictions=4))


def test_seeds_of_one_setting_are_one_side() -> None:
    """With the mean and the extremes of each figure."""
    held = sides([outcome(seed=1, report=report(8.0)), outcome(seed=2, report=report(12.0))])
    assert len(held) == 1
    assert (held[0].mean(COST), held[0].least(COST), held[0].most(COST)) == (10.0, 8.0, 12.0)
    assert figures(held).rows[0] == ("cost", "$10.00 ($8.00 to $12.00)")
    assert heading(held) == "A day: 24h, 2 seeds, means"


@pytest.mark.parametrize(
    ("span", "want"),
    [
        pytest.param(timedelta(hours=24), "24h", id="hours"),
        pytest.param(timedelta(minutes=10), "10m", id="minutes"),
        pytest.param(timedelta(hours=1, minutes=30), "1h30m", id="both"),
        pytest.param(timedelta(hours=1, seconds=5), "1h0m5s", id="seconds"),
    ],
)
def test_a_heading_says_how_long_it_lasted_as_people_write_it(span: timedelta, want: str) -> None:
    """Without units of which there are none."""
    held = sides([msgspec.structs.replace(outcome(), lasts_for=span)])
    assert heading(held) == f"A day: {want}, seed 1"


def test_sides_are_named_by_what_tells_them_apart() -> None:
    """The file only where there are two, the policy always."""
    assert labels(sides([DEAR, CHEAP])) == ("reference", "dovetail")
    other = outcome(file="other.yaml", settings=(("policy.effort", "2"),))
    want = ("day.yaml, dovetail", "other.yaml, policy.effort=2, dovetail")
    assert labels(sides([CHEAP, other])) == want


def test_a_difference_is_the_second_less_the_first() -> None:
    """In its own unit, and in percent."""
    first, second = sides([DEAR, CHEAP])
    rows = {row[0]: row[1:] for row in compare(first, second).rows}
    assert rows["cost"] == ("$10.00", "$8.00", "-$2.00", "-20.0 %")
    assert rows["evictions"] == ("4", "1", "-3", "-75.0 %")
    assert rows["cpu utilisation"] == ("80.0 %", "80.0 %", "+0.0 points", "")
    assert rows["launches failed"] == ("0", "0", "+0", "")
    assert differences(first, second)[0].change == -2.0


def test_evictions_are_listed_by_reason() -> None:
    """A column for each side."""
    grid = evictions(sides([DEAR, CHEAP]))
    assert grid.rows == (("Empty", "0", "0"), ("Underutilized", "4", "1"))


def test_data_has_every_figure_the_samples_and_the_differences() -> None:
    """By names that stay."""
    shown: Any = rehearsed_json(sides([DEAR, CHEAP]), notes=("so so",), is_compared=True)
    assert list(shown) == ["runs", "differences", "notes"]
    first = shown["runs"][0]
    assert first["figures"]["cost"] == 10.0
    assert first["policy"] == "reference"
    assert first["evictionsByReason"] == {"Empty": 0, "Underutilized": 4}
    assert [one["nodes"] for one in first["samples"]] == [3, 4, 5]
    assert shown["differences"]["cost"] == {
        "first": 10.0,
        "second": 8.0,
        "difference": -2.0,
        "percent": -20.0,
    }
