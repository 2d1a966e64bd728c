from __future__ import annotations

from datetime import timedelta

import pytest

from dovetail.units import duration


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", timedelta(0)),
        ("0s", timedelta(0)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("1.5h", timedelta(hours=1, minutes=30)),
        ("100ms", timedelta(milliseconds=100)),
        (".5s", timedelta(milliseconds=500)),
        ("5us", timedelta(microseconds=5)),
        ("5µs", timedelta(microseconds=5)),
        ("5\u03bcs", timedelta(microseconds=5)),
        ("1ns", timedelta(microseconds=1)),
        ("-1s", timedelta(seconds=-1)),
        ("+1m", timedelta(minutes=1)),
        ("1m1m", timedelta(minutes=2)),
        ("720h", timedelta(days=30)),
    ],
)
def test_every_spelling_of_go_is_read(text: str, want: timedelta) -> None:
    """Units in any order, fractions, signs, and both spellings of micro."""
    assert duration.parse(text) == want


@pytest.mark.parametrize("text", ["", "-", "h", "1", "1d", "1h 5m", "1H", ".s", "1h-5m", "x" * 999])
def test_what_go_refuses_is_refused_with_what_was_expected(text: str) -> None:
    """A number needs a unit, and days are no unit."""
    with pytest.raises(ValueError, match='expected a duration such as "30s"'):
        duration.parse(text)


def test_a_duration_beyond_64_bits_is_refused() -> None:
    """Go counts nanoseconds in 64 bits."""
    with pytest.raises(ValueError, match="at most 292 years"):
        duration.parse("9999999h")


@pytest.mark.parametrize(
    ("span", "want"),
    [
        (timedelta(0), "0s"),
        (timedelta(hours=720), "720h0m0s"),
        (timedelta(minutes=90), "1h30m0s"),
        (timedelta(minutes=5), "5m0s"),
        (timedelta(seconds=1.5), "1.5s"),
        (timedelta(milliseconds=1.5), "1.5ms"),
        (timedelta(microseconds=7), "7µs"),
        (timedelta(seconds=-61), "-1m1s"),
    ],
)
def test_durations_are_shown_as_go_prints_them(span: timedelta, want: str) -> None:
    """So that what we write looks like what others wrote."""
    assert duration.render(span) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("7d", timedelta(days=7)),
        ("1d12h", timedelta(days=1, hours=12)),
        ("36h", timedelta(hours=36)),
        ("0d", timedelta(0)),
        ("99999d", timedelta(days=99999)),
    ],
)
def test_people_may_count_in_days(text: str, want: timedelta) -> None:
    """Which Go does not."""
    assert duration.parse_days(text) == want


@pytest.mark.parametrize("text", ["", "d", "7", "1d-1h", "1d1d", "-1d", "1.5d", "100000d", "1dx"])
def test_what_is_no_number_of_days_is_refused(text: str) -> None:
    """As any other duration."""
    with pytest.raises(ValueError, match="is not a duration"):
        duration.parse_days(text)
