"""Says which offerings are unavailable: of which instance types, and where."""

from __future__ import annotations

from dovetail.decide.sieve.shelf import TypeShelf
from dovetail.decide.sieve.typesets import Bits, bits
from dovetail.decide.sieve.wishes import Wish
from dovetail.model.instance import Offering
from dovetail.model.requirements import Requirements

_SHOWN = 3


def unavailable_text(shelf: TypeShelf, among: Bits, wish: Wish) -> str:
    """`; unavailable: m5.large on-demand in a, b and spot in b`, of offerings that pool and wish
    admit; nothing if none of these is unavailable.
    """
    wanted = Requirements(
        [
            *shelf.pool.requirements,
            *(requirement for requirements in wish.values() for requirement in requirements),
        ]
    )
    zones: dict[str, set[str]] = {}
    names: list[str] = []
    for at in bits(among):
        kind = shelf.table.types[at]
        missing = [offering for offering in kind.offerings if _is_missing(offering, wanted)]
        for offering in missing:
            zones.setdefault(offering.capacity_type, set()).add(offering.zone)
        names += [kind.name] if missing else []
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} other types" if len(names) > _SHOWN else ""
    places = (f"{kind} in {', '.join(sorted(zones[kind]))}" for kind in sorted(zones))
    return f"; unavailable: {', '.join(names[:_SHOWN])}{more} {' and '.join(places)}"


def _is_missing(offering: Offering, wanted: Requirements) -> bool:
    return not offering.is_available and offering.requirements.intersects(wanted)
