"""Narrows what a claim may be launched as: the filters of a launch, in their order, all pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.errors import InsufficientCapacityError
from dovetail.cloud.price_list import PriceList
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirement, Requirements
from dovetail.providers.aws.launching import keys

MAX_TYPES: Final = 60  # of one fleet request
_METAL: Final = "metal"
_TRUE: Final = "true"


class LaunchOption(msgspec.Struct, frozen=True, gc=False):
    """An instance type, and those of its offerings that would do, cheapest first."""

    instance_type: InstanceType
    offerings: tuple[Offering, ...]

    @property
    def price_nanousd(self) -> int:
        """The price of the cheapest offering."""
        return self.offerings[0].price_nanousd


Options = tuple[LaunchOption, ...]


class LaunchOptions(msgspec.Struct, frozen=True, gc=False):
    """What is asked of EC2: all of one capacity type, cheapest first. `n_types_left_out` counts
    types beyond the most that are asked for.
    """

    capacity_type: str
    options: Options
    is_flexible_to_spot: bool = False
    n_types_left_out: int = 0


def launch_options(claim: ClaimObject, prices: PriceList) -> LaunchOptions:
    """What may be launched for the claim. Raises InsufficientCapacityError if that is nothing."""
    wanted = Requirements(claim.requirements)
    serving = compatible(claim, prices)
    reserved = reserved_options(serving)
    if reserved:
        return _options_for(claim, labels.RESERVED, reserved, serving)
    has_min_values = any(need.min_values for need in wanted.values())
    if not has_min_values:
        serving = without_costly_spot(without_exotic(serving))
    for capacity_type in (labels.SPOT, labels.ON_DEMAND):
        options = of_capacity_type(serving, capacity_type)
        if options:
            return _options_for(claim, capacity_type, options, serving)
    msg = f"launching node claim {claim.name}: no available offering meets its requirements"
    raise InsufficientCapacityError(msg)


def _options_for(
    claim: ClaimObject, capacity_type: str, options: Options, serving: Options
) -> LaunchOptions:
    listed = truncate(claim, options)
    return LaunchOptions(
        capacity_type=capacity_type,
        options=listed,
        is_flexible_to_spot=bool(of_capacity_type(serving, labels.SPOT)),
        n_types_left_out=len(options) - len(listed),
    )


def compatible(claim: ClaimObject, prices: PriceList) -> Options:
    """Types that meet the claim's requirements and hold its requests, with offerings that are
    available: nothing else than what was planned.
    """
    offerings: dict[str, list[Offering]] = {}
    types: dict[str, InstanceType] = {}
    for choice in prices.serving(claim):
        types[choice.instance_type.name] = choice.instance_type
        offerings.setdefault(choice.instance_type.name, []).append(choice.offering)
    return tuple(LaunchOption(types[name], tuple(group)) for name, group in offerings.items())


def reserved_options(options: Options) -> Options:
    """Only reserved offerings of one kind of reservation; for each type and zone the reservation
    with the most capacity. A capacity block is never mixed with another.
    """
    reserved = of_capacity_type(options, labels.RESERVED)
    kinds = [_of_kind(reserved, kind) for kind in _RESERVATION_KINDS]
    cheapest = min(
        (kind for kind in kinds if kind), key=lambda kind: kind[0].price_nanousd, default=()
    )
    if cheapest and _reservation_type(cheapest[0].offerings[0]) == keys.CAPACITY_BLOCK:
        first = cheapest[0]
        return (LaunchOption(first.instance_type, first.offerings[:1]),)
    return tuple(
        LaunchOption(option.instance_type, _most_capacity_by_zone(option.offerings))
        for option in cheapest
    )


# (type, is interruptible); equal prices go in this order.
_RESERVATION_KINDS: Final = (("default", False), (keys.CAPACITY_BLOCK, False), ("default", True))


def _of_kind(options: Options, kind: tuple[str, bool]) -> Options:
    return _narrow(options, lambda at: (_reservation_type(at), is_interruptible(at)) == kind)


def _reservation_type(offering: Offering) -> str:
    stated = offering.requirements.get(keys.RESERVATION_TYPE)
    return min(stated.values, default="default") if stated is not None else "default"


def is_interruptible(offering: Offering) -> bool:
    """Whether the offering is of an interruptible capacity reservation."""
    stated = offering.requirements.get(keys.RESERVATION_INTERRUPTIBLE)
    return stated is not None and _TRUE in stated.values


def is_capacity_block(offering: Offering) -> bool:
    """Whether the offering is of a capacity block."""
    return _reservation_type(offering) == keys.CAPACITY_BLOCK


def _most_capacity_by_zone(offerings: Sequence[Offering]) -> tuple[Offering, ...]:
    best: dict[str, Offering] = {}
    for offering in sorted(offerings, key=lambda at: (-at.reservation_capacity, at.reservation_id)):
        best.setdefault(offering.zone, offering)
    return tuple(sorted(best.values(), key=lambda at: (at.price_nanousd, at.zone)))


def without_exotic(options: Options) -> Options:
    """Without bare metal and accelerators, unless nothing else is left."""
    plain = tuple(option for option in options if not _is_exotic(option.instance_type))
    return plain or options


def _is_exotic(kind: InstanceType) -> bool:
    size = kind.requirements.get(keys.INSTANCE_SIZE)
    if size is not None and any(value.startswith(_METAL) for value in size.values):
        return True
    counts = (kind.requirements.get(key) for key in (keys.GPU_COUNT, keys.ACCELERATOR_COUNT))
    return any(count is not None and count.values for count in counts)


def without_costly_spot(options: Options) -> Options:
    """Without spot offerings that cost more than the cheapest on-demand offering."""
    on_demand = of_capacity_type(options, labels.ON_DEMAND)
    if not on_demand:
        return options
    limit = min(option.price_nanousd for option in on_demand)
    return _narrow(options, lambda at: at.capacity_type != labels.SPOT or at.price_nanousd <= limit)


def of_capacity_type(options: Options, capacity_type: str) -> Options:
    """Only offerings of this capacity type."""
    return _narrow(options, lambda at: at.capacity_type == capacity_type)


def _narrow(options: Options, keeps: Callable[[Offering], bool]) -> Options:
    """Only offerings that are kept; by price, as PriceList has them."""
    kept = (
        LaunchOption(option.instance_type, tuple(at for at in option.offerings if keeps(at)))
        for option in options
    )
    left = [option for option in kept if option.offerings]
    return tuple(sorted(left, key=lambda option: (option.price_nanousd, option.instance_type.name)))


def truncate(claim: ClaimObject, options: Options) -> Options:
    """The cheapest types, as many as a request may have. Raises InsufficientCapacityError if they
    are too few different ones for the claim's minValues.
    """
    ranked = sorted(options, key=lambda option: (option.price_nanousd, option.instance_type.name))
    listed = tuple(ranked[:MAX_TYPES])
    if claim.annotations.get(labels.MIN_VALUES_RELAXED) == _TRUE:
        return listed
    for wanted in Requirements(claim.requirements).sorted():
        n_values = len(_values(wanted, listed))
        if wanted.min_values and n_values < wanted.min_values:
            msg = (
                f"launching node claim {claim.name}: {wanted.key} must have "
                f"{wanted.min_values} values (minValues), and the {len(listed)} cheapest types "
                f"that are available have {n_values}"
            )
            raise InsufficientCapacityError(msg)
    return listed


def _values(wanted: Requirement, options: Iterable[LaunchOption]) -> set[str]:
    return {
        value
        for option in options
        for stated in [option.instance_type.requirements.get(wanted.key)]
        if stated is not None
        for value in stated.values
        if wanted.has(value)
    }
