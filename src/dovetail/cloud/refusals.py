"""What could not be had lately? Remembered for a while, so that the next plan asks elsewhere.

What is remembered is data for the ledger; these functions make the next of it from the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from dovetail.cloud.errors import SoldOut
from dovetail.model.ledger import Refusal

REMEMBERED_FOR: Final = timedelta(minutes=3)


def note(
    held: Iterable[Refusal], sold_out: Iterable[SoldOut], now: datetime
) -> tuple[Refusal, ...]:
    """What is remembered once these were found sold out too; what was refused anew lasts anew."""
    by_offering = {_offering(one): one for one in current(held, now)}
    for one in sold_out:
        by_offering[one] = Refusal(
            one.instance_type, one.zone, one.capacity_type, now + REMEMBERED_FOR
        )
    return tuple(by_offering[one] for one in sorted(by_offering))


def current(held: Iterable[Refusal], now: datetime) -> tuple[Refusal, ...]:
    """What is still believed, by type, zone and capacity type."""
    return tuple(sorted((one for one in held if now < one.until), key=_offering))


def _offering(refusal: Refusal) -> SoldOut:
    return SoldOut(refusal.instance_type, refusal.zone, refusal.capacity_type)
