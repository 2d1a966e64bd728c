"""Computes what else a launch could have been, and its price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from dovetail.model.instance import InstanceType
from dovetail.model.plan import Launch
from dovetail.model.requirements import Requirements
from dovetail.model.snapshot import Snapshot
from dovetail.present.explanation import Section
from dovetail.present.table import price

_SHOWN: Final = 6


class Alternative(msgspec.Struct, frozen=True):
    """Something that would have held the same pods. The dearer, the larger `percent`."""

    instance_type: str
    capacity_type: str
    zone: str
    price_nanousd: int
    percent: int


def alternatives(launch: Launch, snapshot: Snapshot) -> tuple[Alternative, ...]:
    """The cheapest way to get each type that the launch might have fallen back to, and the chosen
    type bought in other ways; cheapest first, the choice itself left out.
    """
    wanted = Requirements(launch.requirements)
    by_name = {item.name: item for item in snapshot.instance_types.get(launch.node_pool, ())}
    found = [
        alternative
        for name in launch.instance_types
        if name in by_name
        for alternative in _cheapest_offerings(by_name[name], wanted, launch)
    ]
    key = (launch.instance_type, launch.capacity_type, launch.zone)
    others = [item for item in found if (item.instance_type, item.capacity_type, item.zone) != key]
    return tuple(
        sorted(
            others,
            key=lambda one: (one.price_nanousd, one.instance_type, one.capacity_type, one.zone),
        )
    )


def _cheapest_offerings(
    kind: InstanceType, wanted: Requirements, launch: Launch
) -> Iterator[Alternative]:
    """The cheapest offering of a type for each capacity type."""
    best: dict[str, tuple[int, str]] = {}
    for offering in kind.offerings:
        if offering.is_available and wanted.intersects(offering.requirements):
            cost = (offering.price_nanousd, offering.zone)
            best[offering.capacity_type] = min(best.get(offering.capacity_type, cost), cost)
    for capacity_type, (nanousd, zone) in sorted(best.items()):
        paid = launch.price_nanousd
        percent = round(100 * (nanousd - paid) / paid) if paid else 0
        yield Alternative(kind.name, capacity_type, zone, nanousd, percent)


def alternatives_section(found: tuple[Alternative, ...]) -> Section:
    """The first few, beside what was chosen."""
    title = "What else it could have been"
    if not found:
        return Section(title, ("No other available offering would have fit.",))
    rows = tuple(
        (
            f"{alternative.instance_type} {alternative.capacity_type} {alternative.zone}",
            price(alternative.price_nanousd),
            f"{alternative.percent:+d} %",
        )
        for alternative in found[:_SHOWN]
    )
    more = len(found) - len(rows)
    lines = (f"The cheapest {len(rows)} of {len(found):,}:",) if more > 0 else ()
    return Section(title, lines, ("offering", "$/hour", "difference"), rows)
