"""Limits replacements to instance types that are sure to be cheaper.

A launch lists everything that would hold its pods, so that a provider can fall back; a replacement
lists only what costs less than what it replaces, at the worst price that the provider may choose.
Nothing is replaced by its equal, and a spot node by another only where enough other types are
cheaper too, since otherwise the two would take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.disrupt.course import Course
from dovetail.decide.pools import pools_by_name
from dovetail.decide.provision import obtainable
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.requirements import Requirement

SPOT_TYPES: Final = 15
NOT_TO_BE_HAD: Final = 2**63

Bought = tuple[str, str, str, str]


def replacements(
    course: Course, going: Sequence[Node], launches: tuple[Launch, ...], saving: int
) -> tuple[Launch, ...] | None:
    """The launches, narrowed to what is sure to be cheaper; None if that cannot be had.

    What is saved may be spent in equal parts by the launches, should first choices be refused.
    """
    if saving <= 0:
        return None
    spare = -(-saving // max(1, len(launches)))
    result = []
    for launch in launches:
        narrowed = _cheaper_launch(course, launch, launch.price_nanousd + spare)
        if narrowed is None or not _may_be_spot(course, going, narrowed):
            return None
        result.append(_limit_spot(narrowed, going, course))
    return tuple(result)


def purchase(place: Node | Launch) -> Bought:
    """What is paid for: two nodes of which this is the same are equals."""
    return place.node_pool, place.instance_type, place.zone, place.capacity_type


def _cheaper_launch(course: Course, launch: Launch, below: int) -> Launch | None:
    """The launch with only what costs less than this, bought the way that was chosen."""
    by_name = _types(course, launch.node_pool)
    zones = _asked_values(launch, labels.ZONE) or frozenset({launch.zone})
    if _worst(by_name[launch.instance_type], launch, zones) >= below:
        zones = frozenset({launch.zone})
    kept = tuple(
        name
        for name in launch.instance_types
        if name == launch.instance_type or _worst(by_name[name], launch, zones) < below
    )
    if not _is_diverse(course, launch, [by_name[name] for name in kept]):
        return None
    return _narrow(launch, kept, zones)


def _types(course: Course, pool: str) -> dict[str, InstanceType]:
    return {item.name: item for item in obtainable(course.world, course.now).get(pool, ())}


def _asked_values(launch: Launch, key: str) -> frozenset[str]:
    return next((item.values for item in launch.requirements if item.key == key), frozenset())


def _worst(kind: InstanceType, launch: Launch, zones: frozenset[str]) -> int:
    """The most that the provider may ask for this type, bought as the launch is; what nobody can
    pay if it is not to be had so.
    """
    prices = [item.price_nanousd for item in kind.offerings if _is_meant(item, launch, zones)]
    return max(prices, default=NOT_TO_BE_HAD)


def _is_meant(offering: Offering, launch: Launch, zones: frozenset[str]) -> bool:
    return (
        offering.is_available
        and offering.capacity_type == launch.capacity_type
        and offering.reservation_id == launch.reservation_id
        and offering.zone in zones
    )


def _is_diverse(course: Course, launch: Launch, kinds: Sequence[InstanceType]) -> bool:
    """Whether the types that are left are still as many as the pool insists on."""
    if launch.is_min_values_relaxed:
        return True
    pool = pools_by_name(course.world.node_pools).get(launch.node_pool)
    wanted = [item for item in pool.requirements if item.min_values] if pool else []
    return all(_n_values(item, kinds) >= (item.min_values or 0) for item in wanted)


def _n_values(asked: Requirement, kinds: Sequence[InstanceType]) -> int:
    if asked.key == labels.INSTANCE_TYPE:
        return len(kinds)
    values: set[str] = set()
    for kind in kinds:
        need = kind.requirements.get(asked.key)
        values |= need.values if need is not None and not need.complement else frozenset()
    return len(values)


def _narrow(launch: Launch, types: tuple[str, ...], zones: frozenset[str]) -> Launch:
    narrowed = {
        labels.INSTANCE_TYPE: frozenset(types),
        labels.CAPACITY_TYPE: frozenset({launch.capacity_type}),
        labels.ZONE: zones,
    }
    return msgspec.structs.replace(
        launch,
        instance_types=types,
        requirements=tuple(
            Requirement(item.key, False, narrowed[item.key]) if item.key in narrowed else item
            for item in launch.requirements
        ),
    )


def _may_be_spot(course: Course, going: Sequence[Node], launch: Launch) -> bool:
    """Whether spot may come for spot: only where the operator wants that at all, and for a single
    node only if so many types are cheaper that the next price change does not turn it round.
    """
    if not _is_spot_for_spot(going, launch):
        return True
    if not course.world.policy.replaces_spot_by_spot:
        return False
    return len(going) > 1 or len(launch.instance_types) >= SPOT_TYPES


def _is_spot_for_spot(going: Sequence[Node], launch: Launch) -> bool:
    all_spot = all(node.capacity_type == labels.SPOT for node in going)
    return all_spot and launch.capacity_type == labels.SPOT


def _limit_spot(launch: Launch, going: Sequence[Node], course: Course) -> Launch:
    """Spot for a single spot node asks for the cheapest types only: were it free to take dearer
    ones, it would be replaced again.
    """
    if len(going) > 1 or not _is_spot_for_spot(going, launch):
        return launch
    by_name = _types(course, launch.node_pool)
    types = launch.instance_types[:SPOT_TYPES]
    for n_types in range(SPOT_TYPES, len(launch.instance_types) + 1):
        types = launch.instance_types[:n_types]
        if _is_diverse(course, launch, [by_name[name] for name in types]):
            break
    return _narrow(launch, types, _asked_values(launch, labels.ZONE))
