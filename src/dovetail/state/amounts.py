"""How much? Resource lists, from text to exact integers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from dovetail import api
from dovetail.units import duration, quantity

_NEVER: Final = "Never"


def resources(wire: api.ResourceList) -> dict[str, int]:
    """Every amount as decisions count it."""
    return {name: quantity.amount(name, text) for name, text in wire.items()}


def with_defaults(held: Mapping[str, int], defaults: Mapping[str, int]) -> dict[str, int]:
    """What is held, and what is not named there as the defaults say."""
    return {**defaults, **held}


def span(text: str | None) -> timedelta | None:
    """How long; None for never and for nothing said."""
    return None if text is None or text == _NEVER else duration.parse(text)


def instant(moment: datetime | None) -> datetime | None:
    """The moment in UTC, which is what a moment without a zone means."""
    if moment is None or moment.tzinfo is UTC:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
