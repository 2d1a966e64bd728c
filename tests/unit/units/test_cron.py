from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from dovetail.units import cron

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("@hourly", datetime(2026, 1, 1, 1, tzinfo=UTC)),
        ("@daily", datetime(2026, 1, 2, tzinfo=UTC)),
        ("@midnight", datetime(2026, 1, 2, tzinfo=UTC)),
        ("@weekly", datetime(2026, 1, 4, tzinfo=UTC)),
        ("@monthly", datetime(2026, 2, 1, tzinfo=UTC)),
        ("@yearly", datetime(2027, 1, 1, tzinfo=UTC)),
        ("@annually", datetime(2027, 1, 1, tzinfo=UTC)),
        ("0 9 * * mon-fri", datetime(2026, 1, 1, 9, tzinfo=UTC)),
        ("0 9 * * SAT", datetime(2026, 1, 3, 9, tzinfo=UTC)),
        ("0 0 1 MAR *", datetime(2026, 3, 1, tzinfo=UTC)),
        ("*/15 * * * *", datetime(2026, 1, 1, 0, 15, tzinfo=UTC)),
        ("5/20 * * * *", datetime(2026, 1, 1, 0, 5, tzinfo=UTC)),
        ("10-20/5 3 ? * ?", datetime(2026, 1, 1, 3, 10, tzinfo=UTC)),
        ("0,30 12 * * *", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
        ("  0   6  *  *  *  ", datetime(2026, 1, 1, 6, tzinfo=UTC)),
    ],
)
def test_the_next_hit_follows_the_fields(text: str, want: datetime) -> None:
    """Macros, names, ranges, steps, lists and either wildcard."""
    assert cron.parse(text).next_after(NEW_YEAR) == want


def test_the_next_hit_is_later_than_the_moment_asked_about() -> None:
    """A schedule that strikes now strikes next time later, even within the same minute."""
    daily = cron.parse("0 0 * * *")
    assert daily.next_after(NEW_YEAR) == NEW_YEAR + timedelta(days=1)
    assert daily.next_after(NEW_YEAR - timedelta(seconds=1)) == NEW_YEAR


def test_either_day_field_suffices_when_both_are_restricted() -> None:
    """The thirteenth, and every Friday."""
    both = cron.parse("0 0 13 * FRI")
    assert both.next_after(NEW_YEAR) == datetime(2026, 1, 2, tzinfo=UTC)
    assert both.next_after(datetime(2026, 1, 10, tzinfo=UTC)) == datetime(2026, 1, 13, tzinfo=UTC)


def test_a_stepped_star_counts_as_a_restriction() -> None:
    """`*/2` is no plain star, so either day field suffices."""
    either = cron.parse("0 0 */2 * FRI")
    assert either.next_after(NEW_YEAR) == datetime(2026, 1, 2, tzinfo=UTC)
    plain = cron.parse("0 0 */1 * FRI")
    assert plain.next_after(datetime(2026, 1, 2, tzinfo=UTC)) == datetime(2026, 1, 9, tzinfo=UTC)


def test_a_day_that_never_comes_has_no_next_hit() -> None:
    """The search ends after five years."""
    assert cron.parse("0 0 30 2 *").next_after(NEW_YEAR) is None


def test_the_calendar_may_end() -> None:
    """The last year a date can have does not break the search."""
    assert cron.parse("0 0 1 1 *").next_after(datetime(9998, 6, 1, tzinfo=UTC)) is None


def test_hours_are_those_of_utc() -> None:
    """Wherever the moment was measured."""
    east = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert cron.parse("30 23 * * *").next_after(east) == datetime(2025, 12, 31, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 * * 7", "from 0 to 6"),
        ("60 * * * *", "from 0 to 59"),
        ("* 24 * * *", "from 0 to 23"),
        ("* * 0 * *", "from 1 to 31"),
        ("* * * 13 *", "from 1 to 12"),
        ("* * * FOO *", "from 1 to 12"),
        ("5-1 * * * *", "from 0 to 59"),
        ("1-2-3 * * * *", "from 0 to 59"),
        ("1/2/3 * * * *", "from 0 to 59"),
        ("*/0 * * * *", "from 0 to 59"),
        (", * * * *", "from 0 to 59"),
        ("-1 * * * *", "from 0 to 59"),
        ("* * * *", "expected five"),
        ("0 * * * * *", "expected five"),
        ("", "expected five"),
        ("@every 5m", "expected five fields or one of"),
        ("@reboot", "expected five fields or one of"),
        ("* " * 9999, "at most 1024"),
    ],
)
def test_a_bad_schedule_is_refused_with_what_was_expected(text: str, expected: str) -> None:
    """Seven is no Sunday, as in robfig/cron."""
    with pytest.raises(ValueError, match=expected):
        cron.parse(text)


def test_a_schedule_tells_its_days_and_minutes() -> None:
    """For whoever lays out many of them at once."""
    schedule = cron.parse("0,30 8,17 * * mon")
    assert schedule.minutes_of_day == (480, 510, 1020, 1050)
    assert schedule.runs_on(date(2026, 3, 2))
    assert not schedule.runs_on(date(2026, 3, 3))


@pytest.mark.parametrize(
    "text",
    ["@daily", " 0,30 8-17/2 ? Jan,FEB mon-5 ", "*/5 00 1,,15 * *", "59 23 31 12 6", "0 0 1/2 ? *"],
)
def test_the_pattern_takes_what_can_be_read(text: str) -> None:
    """So that an API server does."""
    cron.parse(text)
    assert re.fullmatch(cron.PATTERN, text)


@pytest.mark.parametrize("n_field", range(5))
def test_the_pattern_takes_exactly_the_numbers_of_each_field(n_field: int) -> None:
    """From its least to its most."""
    for number in range(100):
        fields = ["*"] * 5
        fields[n_field] = str(number)
        text = " ".join(fields)
        try:
            cron.parse(text)
        except ValueError:
            assert not re.fullmatch(cron.PATTERN, text)
        else:
            assert re.fullmatch(cron.PATTERN, text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "daily", "@reboot", "* * * *", "* * * * * *", "*/0 * * * *", "a * * * *"),
        *("-1 * * * *", "1- * * * *", "1-2-3 * * * *", ", * * * *", "*5 * * * *"),
        *("* * * * 7", "* * * mon *"),
    ],
)
def test_the_pattern_refuses_what_cannot_be_read(text: str) -> None:
    """As `parse` does."""
    with pytest.raises(ValueError, match="expected"):
        cron.parse(text)
    assert not re.fullmatch(cron.PATTERN, text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("*/7 8 * * *", timedelta(days=1)),
        ("0 0 ? * mon-fri", timedelta(days=7)),
        ("0 0 1 * *", None),
        ("0 0 * feb *", None),
    ],
)
def test_a_schedule_without_dates_repeats(text: str, want: timedelta | None) -> None:
    """Each day, or each week."""
    assert cron.parse(text).repeats_after == want
