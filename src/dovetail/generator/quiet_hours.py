"""Parses quiet hours such as "mon-fri 08:00-18:00" and turns them into schedules of budgets."""

from __future__ import annotations

import re
from typing import Final

import msgspec

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EXPECTED: Final = (
    'days and hours in UTC such as "mon-fri 08:00-18:00", "sat,sun 00:00-24:00" or "22:00-06:00"'
)
MINUTES_OF_WEEK: Final = 7 * 24 * 60
_DAY_MINUTES: Final = 24 * 60
_SHAPE: Final = re.compile(
    r"(?:(?P<days>[a-z,-]+)\s+)?(?P<start>[0-9]{1,2}:[0-9]{2})\s*-\s*(?P<end>[0-9]{1,2}:[0-9]{2})"
)


class QuietHours(msgspec.Struct, frozen=True):
    """Hours of some days of the week, in UTC. `days` counts from Monday as 0."""

    days: tuple[int, ...]
    start_minute: int
    n_minutes: int

    @property
    def schedule(self) -> str:
        """When they begin, as cron writes it."""
        hour, minute = divmod(self.start_minute, 60)
        return f"{minute} {hour} * * {self._days_text()}"

    @property
    def duration(self) -> str:
        """How long they last, as budgets write it."""
        hours, minutes = divmod(self.n_minutes, 60)
        return (
            f"{hours}h{minutes}m" if minutes and hours else f"{hours}h" if hours else f"{minutes}m"
        )

    def minutes_of_week(self) -> frozenset[int]:
        """Every minute of the week that they cover."""
        starts = (day * _DAY_MINUTES + self.start_minute for day in self.days)
        return frozenset(
            (start + minute) % MINUTES_OF_WEEK
            for start in starts
            for minute in range(self.n_minutes)
        )

    def _days_text(self) -> str:
        # cron counts Sunday as 0, so a range cannot end with it.
        if len(self.days) == len(DAYS):
            return "*"
        first, last = self.days[0], self.days[-1]
        is_range = len(self.days) > 2 and self.days == tuple(range(first, last + 1))
        if is_range and DAYS[last] != "sun":
            return f"{DAYS[first]}-{DAYS[last]}"
        return ",".join(DAYS[day] for day in self.days)


def parse(text: str) -> QuietHours:
    """The hours. Raises ValueError that says what was expected."""
    match = _SHAPE.fullmatch(text.strip().lower())
    if match is None:
        msg = f"{text!r} are no hours; expected {EXPECTED}"
        raise ValueError(msg)
    start, end = _minute(match["start"], text), _minute(match["end"], text)
    if start == _DAY_MINUTES:
        msg = f"{text!r} begins at 24:00; expected 00:00 of the next day"
        raise ValueError(msg)
    if start == end:
        msg = f"{text!r} ends when it begins; expected 00:00-24:00 for whole days"
        raise ValueError(msg)
    n_minutes = (end - start) % _DAY_MINUTES or _DAY_MINUTES
    return QuietHours(_days(match["days"] or "mon-sun", text), start, n_minutes)


def _minute(time: str, text: str) -> int:
    hour, minute = (int(part) for part in time.split(":"))
    if minute > 59 or hour * 60 + minute > _DAY_MINUTES:
        msg = f"{text!r}: {time} is no time of day; expected {EXPECTED}"
        raise ValueError(msg)
    return hour * 60 + minute


def _days(text: str, whole: str) -> tuple[int, ...]:
    days: set[int] = set()
    for part in text.split(","):
        first, hyphen, last = part.partition("-")
        last = last if hyphen else first
        if first not in DAYS or last not in DAYS:
            msg = f"{whole!r}: {part!r} is no day of the week; expected {', '.join(DAYS)}"
            raise ValueError(msg)
        begin = DAYS.index(first)
        n_days = (DAYS.index(last) - begin) % len(DAYS)
        days |= {(begin + offset) % len(DAYS) for offset in range(n_days + 1)}
    return tuple(sorted(days))
