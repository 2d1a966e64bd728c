"""Quiet hours become schedules that cron strikes at the right times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dovetail.generator.quiet_hours import MINUTES_OF_WEEK, parse
from dovetail.units import cron, duration

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "schedule", "lasts"),
    [
        ("mon-fri 08:00-18:00", "0 8 * * mon-fri", "10h"),
        ("22:00-06:30", "0 22 * * *", "8h30m"),
        ("sat,sun 00:00-24:00", "0 0 * * sat,sun", "24h"),
        ("fri-mon 7:15-7:45", "15 7 * * mon,fri,sat,sun", "30m"),
        ("sun 12:00-13:00", "0 12 * * sun", "1h"),
        ("Mon-Sun 08:00 - 09:00", "0 8 * * *", "1h"),
        ("tue-sun 08:00-09:00", "0 8 * * tue,wed,thu,fri,sat,sun", "1h"),
    ],
)
def test_hours_are_a_schedule_and_a_duration(text: str, schedule: str, lasts: str) -> None:
    """As a budget states them."""
    hours = parse(text)
    assert (hours.schedule, hours.duration) == (schedule, lasts)


@pytest.mark.parametrize(
    "text", ["mon-fri 08:00-18:00", "22:00-06:30", "sun 20:00-04:00", "fri-mon 07:15-07:45"]
)
def test_the_schedule_covers_the_minutes_of_the_hours(text: str) -> None:
    """Cron strikes in a week just when the hours begin."""
    hours = parse(text)
    schedule, lasts = cron.parse(hours.schedule), duration.parse(hours.duration)
    got = set()
    begin = schedule.next_after(MONDAY - timedelta(minutes=1))
    while begin is not None and begin < MONDAY + timedelta(weeks=1):
        first = int((begin - MONDAY) / timedelta(minutes=1))
        n_minutes = int(lasts / timedelta(minutes=1))
        got |= {(first + minute) % MINUTES_OF_WEEK for minute in range(n_minutes)}
        begin = schedule.next_after(begin)
    assert got == hours.minutes_of_week()
