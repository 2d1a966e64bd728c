"""Many nodes for none or one, then one node for none or one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.disrupt.budgets import Allowance
from dovetail.model.plan import Launch, Nominate
from dovetail.model.requirements import Requirements
from dovetail.sim.reference.candidates import Removable
from dovetail.sim.reference.claims import launch
from dovetail.sim.reference.first_fit import Fitted
from dovetail.sim.reference.menus import Bits
from dovetail.sim.reference.places import Claim
from dovetail.sim.reference.simulations import SimBase, simulated

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
        command = computed(ground, allowed[: middle + 1])
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
            command = computed(ground, [removable])
            if command is not None:
                return command
    return None


def _interleave(candidates: Sequence[Removable]) -> Iterator[Removable]:
    by_pool: dict[str, list[Removable]] = {}
    for candidate in sorted(candidates, key=lambda removable: removable.turn):
        by_pool.setdefault(candidate.node.node_pool, []).append(candidate)
    for row in zip_longest(*(by_pool[pool] for pool in sorted(by_pool))):
        yield from (item for item in row if item is not None)


def computed(ground: SimBase, candidates: Sequence[Removable]) -> Command | None:
    """What would come of taking these nodes away, if that saves money."""
    found = simulated(ground, candidates, is_consolidating=True)
    if found is None or len(found.claims) > 1:
        return None
    places = placed(found, candidates)
    if not found.claims:
        return Command(tuple(candidates), places=places)
    replacement = _cheaper(ground, candidates, found.claims[0])
    if replacement is None:
        return None
    return Command(tuple(candidates), replacement, places)


def placed(found: Fitted, candidates: Sequence[Removable]) -> tuple[Nominate, ...]:
    """Where those go that move, on nodes that stay."""
    moving = {pod.key for candidate in candidates for pod in candidate.pods}
    result = {
        name: tuple(pod.key for pod in pods if pod.key in moving)
        for name, pods in sorted(found.places.items())
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
            bits &= menu.admitted(wanted)
    if len(candidates) > 1:
        bits = _unlike(claim, bits, wanted, candidates)
    return launch(claim, claim.name, bits=bits, wanted=wanted) if bits else None


def _as_spot(ground: SimBase, wanted: Requirements) -> Requirements:
    spot = frozenset({labels.SPOT})
    return ground.standing.joined.narrowed(wanted, labels.CAPACITY_TYPE, spot) or wanted


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
