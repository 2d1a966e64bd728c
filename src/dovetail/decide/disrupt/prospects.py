"""Estimates for all candidates at once which are worth a closer look.

The pods of a node are worth what they would cost at least if everything were bought anew; what the
node costs beyond that is its waste. Where all pods of the cluster would rather be is so known
without a plan: on nodes that waste little. Those that waste much are `poor`: nobody is moved there,
as long as there is hope to replace them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.disrupt.probe import Ground, movable_pods
from dovetail.decide.disrupt.replacing import SPOT_TYPES, Bought, bought
from dovetail.decide.disrupt.savings import Candidate
from dovetail.decide.pools import remaining_limits
from dovetail.decide.spread import with_default_spread
from dovetail.model.pod import Pod
from dovetail.solve import Estimate, Puzzle, Screen

_POOR: Final = Fraction(1, 10)  # of a node's price that is wasted


class Prospect(msgspec.Struct, frozen=True):
    """A candidate, and what its pods are worth."""

    candidate: Candidate
    worth_nanousd: int

    @property
    def waste(self) -> int:
        """What it costs beyond what its pods are worth."""
        return self.candidate.price_nanousd - self.worth_nanousd

    @property
    def is_poor(self) -> bool:
        """Whether much of its price is wasted, and enough to pay for moving its pods."""
        one = self.candidate
        is_much = self.waste > _POOR * one.price_nanousd
        return is_much and self.waste > one.toll.least_nanousd

    @property
    def ratio(self) -> float:
        """What could be saved for each pod that is disturbed."""
        return self.waste / self.candidate.cost


def screen_of(ground: Ground, free: Iterable[Candidate]) -> Screen:
    """The cluster, of which the pods of these nodes could move."""
    return Screen(_puzzle(ground, tuple(p for one in free for p in movable_pods(one.name, ground))))


def _puzzle(ground: Ground, moving: tuple[Pod, ...]) -> Puzzle:
    keys, held = {pod.key for pod in moving}, ground.volumes.items()
    return msgspec.structs.replace(
        ground.puzzle,
        pods=with_default_spread(moving, ground.snapshot),
        nodes=ground.nodes,
        bound=tuple(
            pod for pods in ground.pods_by_node.values() for pod in pods if pod.key not in keys
        ),
        volumes={key: one for key, one in held if key in keys},
        bound_volumes={key: one for key, one in held if key not in keys},
        limits={pool.name: remaining_limits(pool, ground.nodes) for pool in ground.pools},
    )


def prospects_of(screen: Screen, free: Sequence[Candidate]) -> list[Prospect]:
    """The candidates, most wasteful first for what it costs to move their pods."""
    worth = screen.worth_by_node
    found = [Prospect(one, worth[one.name]) for one in free]
    return sorted(found, key=lambda one: (-one.ratio, one.candidate.name))


def keepers(poor: Sequence[Prospect]) -> frozenset[str]:
    """The fullest of poor nodes that are each other's equals: as many as all their pods are worth,
    within what a node may waste. Bought anew they would cost as much, so the others may move there.
    """
    groups: dict[Bought, list[Prospect]] = {}
    for one in poor:
        groups.setdefault(bought(one.candidate.node), []).append(one)
    kept: list[Prospect] = []
    for alike in groups.values():
        price = max(one.candidate.price_nanousd for one in alike)
        worth = sum(one.worth_nanousd for one in alike)
        n_kept = int(Fraction(worth, price) + _POOR) if price else 0
        alike.sort(key=lambda one: (-one.worth_nanousd, one.candidate.name))
        kept += alike[:n_kept]
    return frozenset(one.candidate.name for one in kept)


def may_be_replaced(one: Candidate, ground: Ground) -> bool:
    """Whether anything else may come for it, so that it makes sense to look."""
    return ground.snapshot.policy.replaces_spot_by_spot or one.node.capacity_type != labels.SPOT


def has_choice(one: Candidate, found: Estimate) -> bool:
    """Whether enough types would do: a spot node gives way to another only if many are cheaper."""
    return one.node.capacity_type != labels.SPOT or found.n_types >= SPOT_TYPES


def light_pools(ground: Ground) -> frozenset[str]:
    """Pools that were only second choice: there are heavier ones, which may have room again."""
    heaviest = max((pool.weight for pool in ground.pools), default=0)
    return frozenset(pool.name for pool in ground.pools if pool.weight < heaviest)
