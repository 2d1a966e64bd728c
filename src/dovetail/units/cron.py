"""Computes when a cron schedule fires next, as robfig/cron reads its standard form, in UTC.

Five fields: minute, hour, day of month, month, day of week (0 to 6 or SUN to SAT; 7 is refused).
When both day fields are restricted, either suffices. `N/step` means from N to the field's end.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final

_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTH: Final = {
    "jan": 1,
    "feb": 2,
    "mar": 3,
    "apr": 4,
    "may": 5,
    "jun": 6,
    "jul": 7,
    "aug": 8,
    "sep": 9,
    "oct": 10,
    "nov": 11,
    "dec": 12,
}
_WEEKDAY: Final = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_WILD: Final = frozenset({"*", "?"})
_PATIENCE_YEARS: Final = 5
_LAST_YEAR: Final = 9998  # the calendar ends with the year after
LONGEST: Final = 1024  # characters of a schedule
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Field:
    """What one position of a schedule may hold."""

    name: str
    least: int
    most: int
    names: dict[str, int]
    digits: str  # the numbers from least to most, as a regular expression

    @property
    def pattern(self) -> str:
        """A list of values, ranges and steps, as a regular expression."""
        names = f"|(?i:{'|'.join(self.names)})" if self.names else ""
        value = f"(0*({self.digits}){names})"
        part = f"([*?]|{value}(-{value})?)(/0*[1-9][0-9]*)?"
        return f",*{part}(,+{part})*,*"


_FIELDS: Final = (
    _Field("minute", 0, 59, {}, "[1-5]?[0-9]"),
    _Field("hour", 0, 23, {}, "1?[0-9]|2[0-3]"),
    _Field("day of month", 1, 31, {}, "[1-9]|[12][0-9]|3[01]"),
    _Field("month", 1, 12, _MONTH, "[1-9]|1[0-2]"),
    _Field("day of week", 0, 6, _WEEKDAY, "[0-6]"),
)
# For those who cannot call `parse`: all but the order of a range's ends.
PATTERN: Final = (
    rf"^\s*({'|'.join(sorted(_MACROS))}|"
    + r"\s+".join(field.pattern for field in _FIELDS)
    + r")\s*$"
)


@dataclass(frozen=True, slots=True)
class _Values:
    """The values one field allows. `is_any` says that it was written as a plain `*` or `?`."""

    allowed: frozenset[int]
    is_any: bool


@dataclass(frozen=True, slots=True)
class Schedule:
    """The minutes at which something begins."""

    _minutes: _Values
    _hours: _Values
    _days: _Values
    _months: _Values
    _weekdays: _Values

    def next_after(self, moment: datetime) -> datetime | None:
        """The first hit after `moment`; None when the next five years have none."""
        moment = moment.astimezone(UTC)
        last_year = min(moment.year + _PATIENCE_YEARS, _LAST_YEAR)
        hit = self._on_day(moment, after=moment)
        day = moment
        while hit is None:
            day += _DAY
            if day.year > last_year:
                return None
            hit = self._on_day(day, after=None)
        return hit

    def _on_day(self, day: datetime, *, after: datetime | None) -> datetime | None:
        if not self.runs_on(day):
            return None
        for hour in sorted(self._hours.allowed):
            if after is not None and hour < after.hour:
                continue
            for minute in sorted(self._minutes.allowed):
                hit = datetime.combine(day, time(hour, minute), tzinfo=UTC)
                if after is None or hit > after:
                    return hit
        return None

    @property
    def minutes_of_day(self) -> tuple[int, ...]:
        """When it strikes on a day on which it does, in minutes after midnight, in order."""
        return tuple(
            60 * hour + minute
            for hour in sorted(self._hours.allowed)
            for minute in sorted(self._minutes.allowed)
        )

    @property
    def repeats_after(self) -> timedelta | None:
        """A day or a week, if it strikes alike in each; None where dates matter."""
        if not (self._days.is_any and self._months.is_any):
            return None
        return _DAY if self._weekdays.is_any else 7 * _DAY

    def runs_on(self, day: date) -> bool:
        """Whether it strikes on this day."""
        if day.month not in self._months.allowed:
            return False
        by_date = day.day in self._days.allowed
        by_weekday = day.isoweekday() % 7 in self._weekdays.allowed
        if self._days.is_any or self._weekdays.is_any:
            return by_date and by_weekday
        return by_date or by_weekday


@lru_cache(maxsize=1024)
def parse(text: str) -> Schedule:
    """The schedule. Raises ValueError that says what was expected."""
    if len(text) > LONGEST:
        msg = f"schedule is {len(text)} characters long; expected at most {LONGEST}"
        raise ValueError(msg)
    written = text.strip()
    if written.startswith("@") and written not in _MACROS:
        known = ", ".join(sorted(_MACROS))
        msg = f"unknown schedule {text!r}; expected five fields or one of {known}"
        raise ValueError(msg)
    fields = _MACROS.get(written, written).split()
    if len(fields) != len(_FIELDS):
        names = ", ".join(field.name for field in _FIELDS)
        msg = f"schedule {text!r} has {len(fields)} fields; expected five: {names}"
        raise ValueError(msg)
    return Schedule(*(_values(field, part) for field, part in zip(_FIELDS, fields, strict=True)))


def _values(field: _Field, text: str) -> _Values:
    parts = [_part(field, part) for part in text.split(",") if part]
    if not parts:
        raise _refusal(field, text)
    return _Values(
        frozenset().union(*(part.allowed for part in parts)), any(part.is_any for part in parts)
    )


def _part(field: _Field, text: str) -> _Values:
    span, slash, step_text = text.partition("/")
    step = _count(step_text) if slash else 1
    if not step:
        raise _refusal(field, text)
    if span in _WILD:
        return _Values(frozenset(range(field.least, field.most + 1, step)), step == 1)
    low_text, hyphen, high_text = span.partition("-")
    low = _value(field, low_text)
    high = _value(field, high_text) if hyphen else (field.most if slash else low)
    if low is None or high is None or not field.least <= low <= high <= field.most:
        raise _refusal(field, text)
    return _Values(frozenset(range(low, high + 1, step)), False)


def _value(field: _Field, text: str) -> int | None:
    named = field.names.get(text.lower())
    return _count(text) if named is None else named


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _refusal(field: _Field, text: str) -> ValueError:
    return ValueError(
        f"{text!r} is no {field.name}; expected values from {field.least} to {field.most}, "
        'as "*", "a", "a-b", "a-b/step" or a list of those'
    )
