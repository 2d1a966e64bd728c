"""Computes where the pods would run if some nodes were removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from dovetail.decide.candidates import Waiting
from dovetail.decide.disrupt.emptiness import is_quiet
from dovetail.model.snapshot import Snapshot
from dovetail.sim.reference.candidates import Removable
from dovetail.sim.reference.first_fit import FirstFit, Fitted
from dovetail.sim.reference.standing import Occupancy


class SimBase(msgspec.Struct, frozen=True):
    """The cluster that nodes are taken from, and who waits in it."""

    snapshot: Snapshot
    standing: Occupancy
    leaving: frozenset[str]
    waiting: Waiting


def simulated(
    ground: SimBase, candidates: Sequence[Removable], *, is_consolidating: bool
) -> Fitted | None:
    """Where everybody would go; None if a pod that runs now would have no place."""
    standing = ground.standing
    gone = {candidate.node.name for candidate in candidates}
    places = [
        place
        for name, place in standing.places.items()
        if name not in gone and name not in ground.leaving
    ]
    moving = {pod.key: pod for candidate in candidates for pod in candidate.pods}
    closed = frozenset(
        place.name for place in places if is_consolidating and _is_restless(ground, place.name)
    )
    standing.tallies.begin_trial()
    try:
        for candidate in candidates:
            for pod in candidate.pods:
                standing.tallies.put(standing.tallies.kind(pod), candidate.place, -1)
        fit = FirstFit(standing, places, closed=closed, settled=frozenset(moving))
        by_name = {place.name: place for place in places}
        for pod in ground.waiting.reserved:
            fit.keep(pod, by_name.get(pod.node_name))
        result = fit.run((*ground.waiting.pods, *moving.values()))
        fit.give_back()
    finally:
        standing.tallies.end_trial()
    if any(pod.key in moving for pod in result.failed) or _starts(ground, result, moving):
        return None
    return result


def _is_restless(ground: SimBase, name: str) -> bool:
    """Whether pods have come or gone there just now, in a pool that waits for that to pass."""
    node = ground.standing.places[name].node
    return bool(node.node_claim) and not is_quiet(node)


def _starts(ground: SimBase, found: Fitted, moving: Mapping[str, object]) -> bool:
    """Whether a pod that runs now would have to wait for a node to start."""
    return any(
        ground.standing.places[name].node.node_claim
        and not ground.standing.places[name].node.is_initialized
        and any(pod.key in moving for pod in pods)
        for name, pods in found.places.items()
    )
