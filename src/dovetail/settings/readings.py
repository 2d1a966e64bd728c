"""What does the text of a setting mean? One reading for each sort of value.

Each raises ValueError with what was expected; `MalformedError` when the text is no such value at
all, which the environment is forgiven (spec: numbers, truth values and spans only).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeVar

from dovetail.errors import InputError
from dovetail.units import duration, knobs, quantity

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")
_LONGEST_SHOWN: Final = 60
WordT = TypeVar("WordT", bound=StrEnum)


class MalformedError(ValueError):
    """The text is no number, no truth value or no span."""


def paths(given: str) -> tuple[str, ...]:
    """Paths with commas between them."""
    return tuple(part.strip() for part in given.split(",") if part.strip())


def truth(given: str) -> bool:
    """True or false."""
    if given not in {"true", "false"}:
        msg = f"expected true or false, not {quoted_text(given)}"
        raise MalformedError(msg)
    return given == "true"


def whole(given: str) -> int:
    """A whole number."""
    if not _WHOLE.fullmatch(given):
        msg = f"expected a whole number, not {quoted_text(given)}"
        raise MalformedError(msg)
    return int(given)


def between(least: int, most: int) -> Callable[[str], int]:
    """A whole number within bounds."""

    def read(given: str) -> int:
        number = whole(given)
        if not least <= number <= most:
            msg = f"expected a whole number from {least} to {most}, not {number}"
            raise ValueError(msg)
        return number

    return read


def rate(given: str) -> int:
    """So many a second; less than nothing means no limit."""
    number = whole(given)
    if number == 0:
        msg = "expected a number above 0, or a negative one for no limit, not 0"
        raise ValueError(msg)
    return number


def share(given: str) -> float:
    """A number from 0 to 1."""
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        msg = f"expected a number from 0 to 1, not {quoted_text(given)}"
        raise MalformedError(msg)
    if not 0 <= number <= 1:
        msg = f"expected a number from 0 to 1, not {quoted_text(given)}"
        raise ValueError(msg)
    return number


def saving(given: str) -> str:
    """Dollars an hour, as they were written."""
    knobs.least_saving(given)
    return given.strip()


def node_price(given: str) -> str:
    """Dollars an hour for each node, as they were written."""
    knobs.node_price(given)
    return given.strip()


def evictions(given: str) -> int:
    """So many a day; -1 for any number."""
    return -1 if given.strip() == "-1" else knobs.most_evictions(given)


def span(given: str) -> timedelta:
    """A duration as Go writes it, not below nothing."""
    try:
        given_span = duration.parse(given)
    except ValueError as error:
        raise MalformedError(str(error)) from None
    if given_span < timedelta(0):
        msg = f"expected 0s or more, not {quoted_text(given)}"
        raise ValueError(msg)
    return given_span


def size(given: str) -> str:
    """So many bytes, as they were written."""
    try:
        n_bytes = quantity.whole(given.strip())
    except ValueError as error:
        raise MalformedError(str(error)) from None
    if n_bytes <= 0:
        msg = f"expected more than nothing, not {quoted_text(given)}"
        raise ValueError(msg)
    return given.strip()


def one_of(words: type[WordT]) -> Callable[[str], WordT]:
    """One of these words, spelled as they are."""

    def read(given: str) -> WordT:
        try:
            return words(given)
        except ValueError:
            known = " or ".join(word for word in words if word)
            msg = f"expected {known}, not {quoted_text(given)}"
            raise ValueError(msg) from None

    return read


def quoted_text(given: str) -> str:
    """The text as a message quotes it, cut where it is long."""
    return repr(given if len(given) <= _LONGEST_SHOWN else given[: _LONGEST_SHOWN - 3] + "...")


FEATURE_GATES: Final[Mapping[str, bool]] = {
    "NodeRepair": False,
    "ReservedCapacity": True,
    "SpotToSpotConsolidation": False,
    "NodeOverlay": False,
    "StaticCapacity": False,
    "CapacityBuffer": False,
}


def feature_gates(text: str, origin: str = "--feature-gates") -> dict[str, bool]:
    """All gates, with what `text` ("Name=true,Other=false") sets; unknown names are let through."""
    gates = dict(FEATURE_GATES)
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or value not in {"true", "false"}:
            msg = f"{origin}: expected Name=true or Name=false, not {part!r}"
            raise InputError(msg)
        gates[name] = value == "true"
    return gates
