"""Many nodes for none or one, then one node for none or one, by where their pods would run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.candidates import Waiting
from dovetail.decide.disrupt.budgets import Allowance
from dovetail.decide.disrupt.emptiness import is_quiet
from dovetail.model.plan import Launch, Nominate
from dovetail.model.requirements import Requirements
from dovetail.model.snapshot import Snapshot
from dovetail.sim.reference.candidates import Removable
from dovetail.sim.reference.claims import launch
from dovetail.sim.reference.first_fit import FirstFit, Fitted
from dovetail.sim.reference.menus import Bits
from dovetail.sim.reference.places import Claim
from dovetail.sim.reference.standing import Occupancy


class SimBase(msgspec.Struct, frozen=True):
    """The cluster that nodes are taken from, and who waits in it."""

    snapshot: Snapshot
    standing: Occupancy
    leaving: frozenset[str]
    waiting: Waiting


def simulate(
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


def _starts(ground: SimBase, fitted: Fitted, moving: Mapping[str, object]) -> bool:
    """Whether a pod that runs now would have to wait for a node to start."""
    return any(
        ground.standing.places[name].node.node_claim
        and not ground.standing.places[name].node.is_initialized
        and any(pod.key in moving for pod in pods)
        for name, pods in fitted.places.items()
    )


SPOT_TYPES: Final = 15
_LAST_PREFIX: Final = 100
_SINGLES: Final = 1_000  # looked at in three minutes, more or less


class Command(msgspec.Struct, frozen=True):
    """Nodes that go, and what comes instead; who goes where on nodes that stay."""

    candidates: tuple[Removable, ...]
    replacement: Launch | None = None
    places: tuple[Nominate, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of those that go."""
        return tuple(candidate.node.name for candidate in self.candidates)

    @property
    def saving_nanousd(self) -> int:
        """What is paid less."""
        paid = self.replacement.price_nanousd if self.replacement is not None else 0
        return sum(candidate.price_nanousd for candidate in self.candidates) - paid


def many(
    ground: SimBase, candidates: Sequence[Removable], budgets: Mapping[str, Allowance]
) -> Command | None:
    """The longest prefix that a binary search finds."""
    left = {pool: budget.n_remaining for pool, budget in budgets.items()}
    allowed = []
    for candidate in sorted(candidates, key=lambda removable: removable.turn):
        if left.get(candidate.node.node_pool, 0) > 0:
            left[candidate.node.node_pool] -= 1
            allowed.append(candidate)
    low, high = 1, min(len(allowed) - 1, _LAST_PREFIX)
    result: Command | None = None
    while low <= high:
        middle = (low + high) // 2
        command = command_for(ground, allowed[: middle + 1])
        if command is not None:
            result, low = command, middle + 1
        else:
            high = middle - 1
    return result


def one_by_one(
    ground: SimBase, candidates: Sequence[Removable], budgets: Mapping[str, Allowance]
) -> Command | None:
    """The first node that can go by itself, pools taking turns."""
    for n_tried, removable in enumerate(_interleave(candidates)):
        if n_tried >= _SINGLES:
            return None
        if budgets[removable.node.node_pool].n_remaining:
            command = command_for(ground, [removable])
            if command is not None:
                return command
    return None


def _interleave(candidates: Sequence[Removable]) -> Iterator[Removable]:
    by_pool: dict[str, list[Removable]] = {}
    for candidate in sorted(candidates, key=lambda removable: removable.turn):
        by_pool.setdefault(candidate.node.node_pool, []).append(candidate)
    for row in zip_longest(*(by_pool[pool] for pool in sorted(by_pool))):
        yield from (item for item in row if item is not None)


def command_for(ground: SimBase, candidates: Sequence[Removable]) -> Command | None:
    """What would come of taking these nodes away, if that saves money."""
    fitted = simulate(ground, candidates, is_consolidating=True)
    if fitted is None or len(fitted.claims) > 1:
        return None
    places = places_of(fitted, candidates)
    if not fitted.claims:
        return Command(tuple(candidates), places=places)
    replacement = _cheaper(ground, candidates, fitted.claims[0])
    if replacement is None:
        return None
    return Command(tuple(candidates), replacement, places)


def places_of(fitted: Fitted, candidates: Sequence[Removable]) -> tuple[Nominate, ...]:
    """Where those go that move, on nodes that stay."""
    moving = {pod.key for candidate in candidates for pod in candidate.pods}
    result = {
        name: tuple(pod.key for pod in pods if pod.key in moving)
        for name, pods in sorted(fitted.places.items())
    }
    return tuple(Nominate(name, keys) for name, keys in result.items() if keys)


def _cheaper(ground: SimBase, candidates: Sequence[Removable], claim: Claim) -> Launch | None:
    """The claim with only types that are sure to cost less than what goes."""
    paid = sum(candidate.price_nanousd for candidate in candidates)
    menu, wanted = claim.menu, claim.requirements
    is_spot = all(candidate.node.capacity_type == labels.SPOT for candidate in candidates)
    if is_spot and labels.SPOT in menu.capacity_types(claim.bits, wanted):
        if not ground.snapshot.policy.replaces_spot_by_spot:
            return None
        wanted = _as_spot(ground, wanted)
        bits = claim.bits & menu.below(paid, wanted)
        if len(candidates) == 1:
            if bits.bit_count() < SPOT_TYPES:
                return None
            bits = _first(bits, SPOT_TYPES)
    else:
        bits = claim.bits & menu.below(paid, wanted)
        if {labels.SPOT, labels.ON_DEMAND} <= menu.capacity_types(claim.bits, wanted):
            wanted = _as_spot(ground, wanted)
            bits &= menu.types_admitted(wanted)
    if len(candidates) > 1:
        bits = _unlike(claim, bits, wanted, candidates)
    return launch(claim, claim.name, bits=bits, wanted=wanted) if bits else None


def _as_spot(ground: SimBase, wanted: Requirements) -> Requirements:
    spot = frozenset({labels.SPOT})
    return ground.standing.joined.narrow(wanted, labels.CAPACITY_TYPE, spot) or wanted


def _first(bits: Bits, n_types: int) -> Bits:
    """The cheapest so many of these."""
    result, at = 0, 0
    while n_types and bits >> at:
        if bits >> at & 1:
            result |= 1 << at
            n_types -= 1
        at += 1
    return result


def _unlike(
    claim: Claim, bits: Bits, wanted: Requirements, candidates: Sequence[Removable]
) -> Bits:
    """Only what is cheaper than any node that goes and is of a type that could come (6.8)."""
    names = set(claim.menu.names(bits))
    going = [item.price_nanousd for item in candidates if item.node.instance_type in names]
    return bits & claim.menu.below(min(going), wanted) if going else bits
