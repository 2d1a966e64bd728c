"""Changes a price as an overlay says: replaces it, moves it or scales it, never below zero."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final, assert_never

import msgspec

from dovetail.units import money

_PLAIN: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_SIGNED: Final = re.compile(r"[+-][0-9]+(\.[0-9]+)?")
_PERCENT: Final = re.compile(r"(?P<share>[+-][0-9]+(\.[0-9]+)?)%")
_LONGEST: Final = 64  # characters of a number


class FixedPrice(msgspec.Struct, frozen=True, gc=False):
    """The price is this."""

    nanousd: int


class PriceShift(msgspec.Struct, frozen=True, gc=False):
    """The price goes up, or down, by this."""

    nanousd: int


class PriceScale(msgspec.Struct, frozen=True, gc=False):
    """The price is multiplied by a fraction: 9/10 for ten per cent off."""

    numerator: int
    denominator: int


PriceChange = FixedPrice | PriceShift | PriceScale


def changed(price_nanousd: int, change: PriceChange) -> int:
    """The new price, to the nearest nanodollar."""
    match change:
        case FixedPrice(nanousd=fixed):
            return max(fixed, 0)
        case PriceShift(nanousd=step):
            return max(price_nanousd + step, 0)
        case PriceScale(numerator=numerator, denominator=denominator):
            scaled = 2 * price_nanousd * numerator + denominator
            return max(scaled // (2 * denominator), 0)
        case _:
            assert_never(change)


def price_change(price: str = "", adjustment: str = "") -> PriceChange | None:
    """What a manifest's `price` or `priceAdjustment` says; None if it says neither.

    Raises ValueError when it says both, or something that is no price.
    """
    if price and adjustment:
        msg = "price and priceAdjustment exclude each other"
        raise ValueError(msg)
    if adjustment:
        return _adjustment(adjustment)
    if not price:
        return None
    if len(price) > _LONGEST or not _PLAIN.fullmatch(price):
        msg = f'price {price[:_LONGEST]!r}: expected dollars per hour, such as "0.25"'
        raise ValueError(msg)
    return FixedPrice(money.nanousd(price))


def _adjustment(text: str) -> PriceChange:
    percent = _PERCENT.fullmatch(text) if len(text) <= _LONGEST else None
    if percent is not None and Fraction(percent["share"]) >= -100:
        factor = 1 + Fraction(percent["share"]) / 100
        return PriceScale(factor.numerator, factor.denominator)
    if len(text) <= _LONGEST and _SIGNED.fullmatch(text):
        return PriceShift(money.nanousd(text))
    msg = (
        f'priceAdjustment {text[:_LONGEST]!r}: expected "+0.5" or "-0.5" (dollars per hour), '
        '"+10%", or "-10%" down to "-100%"'
    )
    raise ValueError(msg)
