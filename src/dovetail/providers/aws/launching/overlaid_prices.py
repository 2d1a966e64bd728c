"""Puts the prices of NodeOverlays on the offerings of EC2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dovetail.model.instance import InstanceType, Offering


def with_overlays(
    types: Sequence[InstanceType], planned: Iterable[InstanceType]
) -> tuple[InstanceType, ...]:
    """The types with the prices that overlays gave to those that were planned with."""
    prices = {
        (kind.name, *_key(at)): at.price_nanousd
        for kind in planned
        for at in kind.offerings
        if at.is_overlaid
    }
    return tuple(_with_prices(kind, prices) for kind in types)


def _with_prices(
    instance_type: InstanceType, prices: dict[tuple[str, str, str, str], int]
) -> InstanceType:
    offerings = tuple(
        at
        if (price := prices.get((instance_type.name, *_key(at)))) is None
        else msgspec.structs.replace(at, price_nanousd=price, is_overlaid=True)
        for at in instance_type.offerings
    )
    return msgspec.structs.replace(instance_type, offerings=offerings)


def _key(offering: Offering) -> tuple[str, str, str]:
    return offering.zone, offering.capacity_type, offering.reservation_id
