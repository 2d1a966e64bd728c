"""Which features are switched on? By name, as `Name=true,Other=false`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail.errors import InputError

FEATURE_GATES: Final[Mapping[str, bool]] = {
    "NodeRepair": False,
    "ReservedCapacity": True,
    "SpotToSpotConsolidation": False,
    "NodeOverlay": False,
    "StaticCapacity": False,
    "CapacityBuffer": False,
}


def feature_gates(text: str, origin: str = "--feature-gates") -> dict[str, bool]:
    """All gates, with what `text` ("Name=true,Other=false") sets; unknown names are let through."""
    gates = dict(FEATURE_GATES)
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or value not in {"true", "false"}:
            msg = f"{origin}: expected Name=true or Name=false, not {part!r}"
            raise InputError(msg)
        gates[name] = value == "true"
    return gates
