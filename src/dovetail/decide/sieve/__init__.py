"""sieve — finds the constraint that removed a pool's last instance types.

Rule 1: each step narrows the set of types that would do; the first that leaves none is the finding.
Rule 2: a finding says what would have to be waived to pass that step. `decide/fixes.py` sifts again
        with that waived, to learn whether one change is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail.decide.sieve import room, selection
from dovetail.decide.sieve.state import Ask, Bench, Finding, Sifting, Waiver

_STEPS: Final[tuple[Callable[[Sifting], Finding | None], ...]] = (
    selection.stock,
    selection.taints,
    selection.node_affinity,
    selection.volume_topology,
    selection.offerings,
    room.resources,
    room.attach_limits,
    room.host_ports,
    room.min_values,
    selection.topology_keys,
    selection.lonely,
    room.limits,
    room.min_values,  # again: types that exceed a limit do not count
    room.reservations,
    selection.between_pods,
)
_NOTHING_WAIVED: Final = Waiver()


def sift(bench: Bench, ask: Ask, waived: Waiver = _NOTHING_WAIVED) -> Finding | None:
    """The constraint that left no type, or None if a node could be launched."""
    state = Sifting(bench, ask, waived)
    for step in _STEPS:
        finding = step(state)
        if finding is not None:
            return finding
    return None
