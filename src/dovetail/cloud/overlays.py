"""Applies NodeOverlays: prices of offerings, and extra resources of instance types.

Overlays are taken by weight, the heaviest first, and by name, the last in the alphabet first. Each
offering takes its price from the first that names it, each type each extra resource from the first
that gives it; lighter overlays fill the gaps. Two of equal weight that touch the same thing
conflict: the one taken later is left out altogether, for every pool and type, and reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, assert_never

import msgspec

from dovetail import api, labels
from dovetail.cloud.declare import huge_pages, single
from dovetail.errors import InputError
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements, requirement
from dovetail.model.resources import MEMORY
from dovetail.units import money, quantity

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


def changed_price(price_nanousd: int, change: PriceChange) -> int:
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


class Overlay(msgspec.Struct, frozen=True, gc=False):
    """A NodeOverlay. `price` None leaves prices alone; `capacity` holds extra resources only."""

    name: str
    weight: int = 0
    requirements: tuple[Requirement, ...] = ()
    price: PriceChange | None = None
    capacity: Mapping[str, int] = {}


class OverlayConflict(msgspec.Struct, frozen=True, gc=False, order=True):
    """An overlay that was left out, and the one it clashes with."""

    overlay: str
    other: str
    message: str


class PooledTypes(msgspec.Struct, frozen=True, gc=False):
    """A pool and what it could launch."""

    pool: NodePool
    types: tuple[InstanceType, ...]


class _Reach(msgspec.Struct, frozen=True):
    """What an overlay touches: offerings by position in a type of a pool."""

    pool: str
    type_name: str
    offerings: tuple[int, ...]


_PriceKey = tuple[str, str, int]  # pool, type, offering
_TypeKey = tuple[str, str]  # pool, type


def apply_to_pools(
    pooled: Sequence[PooledTypes], overlays: Sequence[Overlay]
) -> tuple[dict[str, tuple[InstanceType, ...]], tuple[OverlayConflict, ...]]:
    """The types of every pool, changed. A conflict in one pool leaves the overlay out of all."""
    ledger = _Changes()
    conflicts = []
    for overlay in sorted(overlays, key=lambda item: (item.weight, item.name), reverse=True):
        reached = [reach for pooled_types in pooled for reach in _reaches(overlay, pooled_types)]
        conflict = ledger.conflict(overlay, reached)
        if conflict is None:
            ledger.take(overlay, reached)
        else:
            conflicts.append(conflict)
    changed_by_pool = {
        item.pool.name: tuple(ledger.apply(item.pool.name, kind) for kind in item.types)
        for item in pooled
    }
    return changed_by_pool, tuple(sorted(conflicts))


def _reaches(overlay: Overlay, pooled: PooledTypes) -> list[_Reach]:
    wanted = Requirements(overlay.requirements)
    pool = Requirements.of_labels(pooled.pool.labels) & [single(labels.NODE_POOL, pooled.pool.name)]
    reached = []
    for kind in pooled.types:
        if not _serves((pool, kind.requirements), wanted, is_partial=True):
            continue
        offerings = tuple(
            index
            for index, offering in enumerate(kind.offerings)
            if _serves((pool, kind.requirements, offering.requirements), wanted)
        )
        if offerings:
            reached.append(_Reach(pooled.pool.name, kind.name, offerings))
    return reached


def _serves(
    layers: tuple[Requirements, ...], wanted: Requirements, *, is_partial: bool = False
) -> bool:
    """Whether nodes with all these labels satisfy `wanted`; partial: more labels are to come."""
    for key, want in wanted.items():
        stated = [layer[key] for layer in layers if key in layer]
        if not stated and not is_partial and not want.tolerates_absence:
            return False
        if not all(_meets(need, want) for need in stated):
            return False
    return True


def _meets(need: Requirement, want: Requirement) -> bool:
    return need.intersects(want) or (need.tolerates_absence and want.tolerates_absence)


class _Changes:
    """Which overlay has settled what. Only accepted overlays get in."""

    def __init__(self) -> None:
        self._price: dict[_PriceKey, Overlay] = {}
        self._capacity: dict[_TypeKey, dict[str, Overlay]] = {}

    def conflict(self, overlay: Overlay, reached: Sequence[_Reach]) -> OverlayConflict | None:
        """The first thing that an overlay of the same weight has settled already."""
        for reach in reached:
            for part, other in self._settled_by(overlay, reach):
                if other is not None and other.weight == overlay.weight:
                    message = (
                        f"{part} of instance type {reach.type_name} in node pool {reach.pool} is "
                        f"set by overlay {other.name}, which has the same weight {other.weight}"
                    )
                    return OverlayConflict(overlay.name, other.name, message)
        return None

    def _settled_by(self, overlay: Overlay, reach: _Reach) -> list[tuple[str, Overlay | None]]:
        prices = [("the price", self._price.get(key)) for key in _price_keys(overlay, reach)]
        taken = self._capacity.get((reach.pool, reach.type_name), {})
        return prices + [(name, taken.get(name)) for name in sorted(overlay.capacity)]

    def take(self, overlay: Overlay, reached: Sequence[_Reach]) -> None:
        """Settle what is still open."""
        for reach in reached:
            for price_key in _price_keys(overlay, reach):
                self._price.setdefault(price_key, overlay)
            taken = self._capacity.setdefault((reach.pool, reach.type_name), {})
            for resource in overlay.capacity:
                taken.setdefault(resource, overlay)

    def apply(self, pool: str, kind: InstanceType) -> InstanceType:
        """The type with all that was settled for it; the same object if that is nothing."""
        offerings = tuple(
            self._with_price((pool, kind.name, index), offering)
            for index, offering in enumerate(kind.offerings)
        )
        if any(new is not old for new, old in zip(offerings, kind.offerings, strict=True)):
            kind = msgspec.structs.replace(kind, offerings=offerings)
        taken = self._capacity.get((pool, kind.name), {})
        extra = {resource: overlay.capacity[resource] for resource, overlay in taken.items()}
        return _enlarge(kind, extra) if extra else kind

    def _with_price(self, key: _PriceKey, offering: Offering) -> Offering:
        overlay = self._price.get(key)
        if overlay is None or overlay.price is None:
            return offering
        price_nanousd = changed_price(offering.price_nanousd, overlay.price)
        return msgspec.structs.replace(offering, price_nanousd=price_nanousd, is_overlaid=True)


def _price_keys(overlay: Overlay, reach: _Reach) -> list[_PriceKey]:
    if overlay.price is None:
        return []
    return [(reach.pool, reach.type_name, index) for index in reach.offerings]


def _enlarge(kind: InstanceType, extra: Mapping[str, int]) -> InstanceType:
    """The type with more resources. Pods may use all of them; huge pages come out of memory."""
    capacity = {**kind.capacity, **extra}
    allocatable = {**kind.allocatable, **extra}
    grown = huge_pages(capacity) - huge_pages(kind.capacity)
    if grown and MEMORY in allocatable:
        allocatable[MEMORY] = max(allocatable[MEMORY] - grown, 0)
    return msgspec.structs.replace(
        kind, capacity=capacity, allocatable=allocatable, is_overlaid=True
    )


def overlay(manifest: api.NodeOverlay) -> Overlay:
    """The overlay. Raises InputError that names the object and the field."""
    spec, name = manifest.spec, manifest.metadata.name
    try:
        return Overlay(
            name=name,
            weight=spec.weight or 0,
            requirements=tuple(
                requirement(need.key, need.operator, need.values, need.min_values)
                for need in spec.requirements
            ),
            price=price_change(spec.price or "", spec.price_adjustment or ""),
            capacity={key: quantity.amount(key, text) for key, text in spec.capacity.items()},
        )
    except ValueError as error:
        msg = f"NodeOverlay {name}: {error}"
        raise InputError(msg) from None
