"""Settings of a provider are read from its own table."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from dovetail.errors import InputError
from dovetail.settings import readings
from dovetail.settings.sources import read_table
from dovetail.settings.table import Flag, SettingsTable


class Meadow(msgspec.Struct, frozen=True):
    """Some settings."""

    region: str = "home"
    wait: timedelta = timedelta(minutes=1)
    is_dry: bool = False

    def __post_init__(self) -> None:
        if self.region == "moon":
            msg = "--region: expected a region of this world, not 'moon'"
            raise ValueError(msg)


TABLE = SettingsTable(
    Meadow(),
    (
        Flag("region", "MEADOW_REGION", "Meadow", "Where."),
        Flag("meadow-wait", "MEADOW_WAIT", "Meadow", "How long.", readings.span, sets="wait"),
        Flag("is-dry", "", "Meadow", "Whether.", readings.truth),
    ),
)


def test_a_flag_wins_over_its_variable_and_both_over_the_default() -> None:
    """Each becomes the type of its field."""
    environment = {"MEADOW_REGION": "south", "MEADOW_WAIT": "5m"}
    assert read_table(TABLE, {}, {}) == Meadow()
    assert read_table(TABLE, {}, environment) == Meadow("south", timedelta(minutes=5))
    assert read_table(TABLE, {"region": "west", "is-dry": "true"}, environment) == Meadow(
        "west", timedelta(minutes=5), is_dry=True
    )


def test_a_flag_may_set_a_field_of_another_name() -> None:
    """And says its default as one would write it."""
    assert [(flag.field, TABLE.default(flag)) for flag in TABLE.flags] == [
        ("region", "home"),
        ("wait", "1m0s"),
        ("is_dry", "false"),
    ]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        pytest.param({"meadow-wait": "soon"}, r"--meadow-wait: .*soon", id="no span"),
        pytest.param({"region": "moon"}, r"--region: expected a region", id="refused by itself"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, str], problem: str) -> None:
    """With the flag, also where the settings themselves refuse it."""
    with pytest.raises(InputError, match=problem):
        read_table(TABLE, given, {})
