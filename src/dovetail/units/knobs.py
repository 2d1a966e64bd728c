"""Reads what people write of evictions and of the price per node, in flags and annotations.

Each raises ValueError with what was expected.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from dovetail.units import duration, money

_MOST_NANOUSD: Final = 10**15  # a million dollars an hour
_MOST_NODE_NANOUSD: Final = 10**12  # a thousand dollars an hour; a million nodes do not overflow
_MOST_EVICTIONS: Final = 1_000_000
_LONGEST: Final = 40
_DEAREST: Final = timedelta(days=7)


def least_saving(text: str) -> int:
    """Nanodollars an hour, from dollars such as "0.005"."""
    try:
        result = money.nanousd(text.strip()) if len(text) <= _LONGEST else -1
    except ValueError:
        result = -1
    if not 0 <= result <= _MOST_NANOUSD:
        msg = f'{text[:_LONGEST]!r} is no saving; expected dollars an hour such as "0.005", or "0"'
        raise ValueError(msg)
    return result


def most_evictions(text: str) -> int:
    """How often a pod may be evicted a day."""
    number = text.strip()
    is_number = number.isascii() and number.isdecimal() and len(number) <= _LONGEST
    if not is_number or int(number) > _MOST_EVICTIONS:
        msg = f'{text[:_LONGEST]!r} is no count; expected a whole number such as "4", or "0"'
        raise ValueError(msg)
    return int(number)


def eviction_cost(text: str) -> timedelta:
    """For how long what a pod occupies is paid for in vain when it is evicted."""
    try:
        span = duration.parse(text.strip()) if len(text) <= _LONGEST else None
    except ValueError:
        span = None
    if span is None or not timedelta(0) <= span <= _DEAREST:
        msg = f'{text[:_LONGEST]!r} is no cost; expected a duration such as "2h", up to "168h"'
        raise ValueError(msg)
    return span


def node_price(text: str) -> int:
    """Nanodollars an hour for each node, from dollars such as "0.025"."""
    try:
        result = money.nanousd(text.strip()) if len(text) <= _LONGEST else -1
    except ValueError:
        result = -1
    if not 0 <= result <= _MOST_NODE_NANOUSD:
        msg = (
            f"{text[:_LONGEST]!r} is not a price per node; "
            'expected dollars an hour from "0" to "1000", such as "0.025"'
        )
        raise ValueError(msg)
    return result
