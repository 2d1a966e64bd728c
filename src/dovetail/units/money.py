"""Holds dollars as whole billionths, so that sums and comparisons are exact."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Final

_NANOS: Final = Decimal(10**9)
_CONTEXT: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)


def nanousd(dollars: str | float | Decimal) -> int:
    """Billionths of a dollar, to the nearest. Raises ValueError for what is no finite number."""
    try:
        # By way of text: 0.1 means a tenth, not the binary number next to it.
        amount = Decimal(str(dollars))
        return int(_CONTEXT.quantize(_CONTEXT.multiply(amount, _NANOS), Decimal(1)))
    except (InvalidOperation, ValueError, OverflowError):
        msg = (
            f'{str(dollars)[:60]!r} is not an amount of dollars; expected a number such as "0.0416"'
        )
        raise ValueError(msg) from None


def dollars(nanousd: int) -> float:
    """Dollars, for showing."""
    return nanousd / 10**9
