"""Parses and renders Kubernetes quantities, such as "1500m" or "2Gi", exactly.

A quantity is a decimal number with one of three kinds of suffix: decimal (n u m k M G T P E),
binary (Ki Mi Gi Ti Pi Ei) or an exponent (e3, E-2). "12E" is twelve exa, "12E6" twelve million.
Finer than a billionth is rounded away from zero; larger than a signed 64-bit integer is cut off
there, as in Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final

_SHAPE: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_FACTORS: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}
_NANO: Final = 10**9
_LONGEST: Final = 256  # characters; no honest manifest writes more
_WIDEST_EXPONENT: Final = 400  # beyond it only the cut-off or a billionth can come out
_CACHED: Final = 65536
MAX: Final = 2**63 - 1

_EXPECTED: Final = 'a number with an optional suffix, such as "500m", "1.5", "2Gi" or "1e3"'
# Rendered with a binary suffix where one divides evenly; everything else is a plain count.
_BYTES: Final = frozenset({"memory", "ephemeral-storage", "storage"})
_BYTES_PREFIX: Final = "hugepages-"

Text = str | int | float


@lru_cache(maxsize=_CACHED, typed=True)
def parse(text: Text) -> Fraction:
    """The exact amount. Raises ValueError that says what was expected."""
    if isinstance(text, bool):
        raise _refusal(text)
    written = text if isinstance(text, str) else str(text)
    match = _SHAPE.fullmatch(written) if len(written) <= _LONGEST else None
    if match is None or not (match["whole"] or match["part"]):
        raise _refusal(text)
    number = _number(match)
    if not number:
        return number
    # Away from zero, so that no positive amount ever becomes nothing.
    nanos = -(-abs(number) * _NANO // 1)
    size = min(Fraction(nanos, _NANO), Fraction(MAX))
    return -size if match["sign"] == "-" else size


def _number(match: re.Match[str]) -> Fraction:
    """The size, without its sign."""
    part = match["part"] or ""
    digits = Fraction(int((match["whole"] or "0") + part), 10 ** len(part))
    if match["suffix"]:
        return digits * _FACTORS[match["suffix"]]
    if match["exponent"]:
        exponent = int(match["exponent"])
        return digits * Fraction(10) ** max(-_WIDEST_EXPONENT, min(exponent, _WIDEST_EXPONENT))
    return digits


def _refusal(text: Text) -> ValueError:
    written = repr(text)
    shown = written if len(written) <= 60 else written[:57] + "..."
    return ValueError(f"{shown} is not a quantity; expected {_EXPECTED}")


@lru_cache(maxsize=_CACHED, typed=True)
def milli(text: Text) -> int:
    """Thousandths, rounded up."""
    return _ceil(parse(text) * 1000)


@lru_cache(maxsize=_CACHED, typed=True)
def whole(text: Text) -> int:
    """Whole units, rounded up."""
    return _ceil(parse(text))


def _ceil(number: Fraction) -> int:
    return max(-MAX, min(-(-number.numerator // number.denominator), MAX))


@lru_cache(maxsize=_CACHED, typed=True)
def amount(resource: str, text: Text) -> int:
    """As decisions count this resource: cpu in thousandths, all else in whole units."""
    return milli(text) if resource == "cpu" else whole(text)


def render(resource: str, amount: int) -> str:
    """The shortest plain spelling that reads back as the same amount."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in _BYTES or resource.startswith(_BYTES_PREFIX):
        return _render_bytes(amount)
    return str(amount)


def _render_bytes(amount: int) -> str:
    for power, prefix in ((6, "E"), (5, "P"), (4, "T"), (3, "G"), (2, "M"), (1, "K")):
        if amount and amount % 1024**power == 0:
            return f"{amount // 1024**power}{prefix}i"
    return str(amount)


def render_all(amounts: Mapping[str, int]) -> dict[str, str]:
    """Each amount as text, by the name of its resource."""
    return {name: render(name, amount) for name, amount in amounts.items()}
