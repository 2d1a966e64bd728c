"""Parses and renders durations as Go writes them, such as "1h30m".

Durations are kept to the microsecond; what is finer is rounded away from zero, so that a duration
that was not nothing stays something.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

_MICROS: Final = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),  # U+00B5
    "μs": Fraction(1),  # U+03BC, the other spelling that Go accepts
    "ms": Fraction(1000),
    "s": Fraction(10**6),
    "m": Fraction(60 * 10**6),
    "h": Fraction(3600 * 10**6),
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_DAYS: Final = re.compile(r"([0-9]{1,5})d((?![+-]).*)")
_LONGEST: Final = 256
_MAX_MICROS: Final = (2**63 - 1) // 1000  # Go counts nanoseconds in 64 bits: about 292 years
_EXPECTED: Final = 'a duration such as "30s", "1h30m" or "720h"'


def parse(text: str) -> timedelta:
    """The duration. Raises ValueError that says what was expected."""
    if len(text) > _LONGEST:
        raise _refusal(text)
    unsigned = text[1:] if text[:1] in {"+", "-"} else text
    micros = Fraction(0) if unsigned == "0" else _micros(unsigned, text)
    count = -(-micros.numerator // micros.denominator)
    if count > _MAX_MICROS:
        msg = f"{text!r} is too long a duration; at most 292 years can be expressed"
        raise ValueError(msg)
    return timedelta(microseconds=-count if text.startswith("-") else count)


def parse_days(text: str) -> timedelta:
    """As `parse`, with days before the rest, such as "7d" or "1d12h": for people, not for Go."""
    match = _DAYS.fullmatch(text)
    if match is None:
        return parse(text)
    days = timedelta(days=int(match[1]))
    return days + parse(match[2]) if match[2] else days


def _micros(unsigned: str, text: str) -> Fraction:
    total, at = Fraction(0), 0
    while at < len(unsigned):
        match = _PART.match(unsigned, at)
        if match is None or not (match[1] or match[2]):
            raise _refusal(text)
        part = match[2] or ""
        total += Fraction(int((match[1] or "0") + part), 10 ** len(part)) * _MICROS[match[3]]
        at = match.end()
    if at == 0:
        raise _refusal(text)
    return total


def _refusal(text: str) -> ValueError:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return ValueError(f"{shown!r} is not a duration; expected {_EXPECTED}")


def render(span: timedelta) -> str:
    """As Go prints it: hours, minutes and seconds, or one smaller unit below a second."""
    micros = span // timedelta(microseconds=1)
    sign = "-" if micros < 0 else ""
    micros = abs(micros)
    if micros == 0:
        return "0s"
    if micros < 1000:
        return f"{sign}{micros}µs"
    if micros < 10**6:
        return f"{sign}{_decimal(micros, 3)}ms"
    minutes, rest = divmod(micros, 60 * 10**6)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, 6)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _decimal(count: int, places: int) -> str:
    """`count` with a point before its last `places` digits, without trailing zeros."""
    whole, part = divmod(count, 10**places)
    digits = f"{part:0{places}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
