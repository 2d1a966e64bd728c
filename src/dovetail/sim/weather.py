"""Defines what a cloud does over time: prices that move, and failures.

Moments are counted from the beginning of a simulation.
"""

from __future__ import annotations

from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from dovetail import labels

NOTICE: Final = timedelta(minutes=2)  # between the word that a spot instance goes and its end
_START: Final = timedelta(0)
_FOR_EVER: Final = timedelta(days=36_500)


class Offers(msgspec.Struct, frozen=True):
    """Some of all offerings: of types of this name (`*` and `?` stand for letters), in this zone,
    of this capacity type. What is empty means any.
    """

    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""

    def mean(self, instance_type: str, zone: str, capacity_type: str) -> bool:
        """Whether that one is among them."""
        return (
            self.zone in ("", zone)
            and self.capacity_type in ("", capacity_type)
            and (not self.instance_type or fnmatchcase(instance_type, self.instance_type))
        )


ALL: Final = Offers()
SPOT: Final = Offers(capacity_type=labels.SPOT)


class During(msgspec.Struct, frozen=True):
    """From one moment up to another."""

    begins: timedelta = _START
    ends: timedelta = _FOR_EVER

    def holds(self, moment: timedelta) -> bool:
        """Whether that is within it."""
        return self.begins <= moment < self.ends


ALWAYS: Final = During()


class PriceCourse(msgspec.Struct, frozen=True):
    """How the price of some offers moves: from each moment on they cost so many times what they
    would cost without this course.
    """

    offers: Offers
    steps: tuple[tuple[timedelta, float], ...]


class Shortage(msgspec.Struct, frozen=True):
    """For a while these offers cannot be had. What runs goes on."""

    offers: Offers
    during: During = ALWAYS


class Reclaims(msgspec.Struct, frozen=True):
    """Every instance of these offers is taken back with this chance an hour."""

    per_hour: float
    offers: Offers = SPOT
    during: During = ALWAYS


class Storm(msgspec.Struct, frozen=True):
    """At one moment this share of all instances of these offers is taken back."""

    at: timedelta
    share: float
    offers: Offers = SPOT


class SlowBoots(msgspec.Struct, frozen=True):
    """For a while machines take so many times as long to start."""

    factor: float
    offers: Offers = ALL
    during: During = ALWAYS


class ApiErrors(msgspec.Struct, frozen=True):
    """For a while this share of all orders comes back with an error, and is tried again."""

    share: float
    during: During = ALWAYS


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    prices: tuple[PriceCourse, ...] = ()
    shortages: tuple[Shortage, ...] = ()
    reclaims: tuple[Reclaims, ...] = ()
    storms: tuple[Storm, ...] = ()
    slow_boots: tuple[SlowBoots, ...] = ()
    api_errors: tuple[ApiErrors, ...] = ()


FAIR: Final = Weather()
