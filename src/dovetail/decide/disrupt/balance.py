"""Does a move save enough for what it disturbs? What pools with policy Balanced ask (core.md 6.10).

A pool approves when the share of its cost that is saved is at least half the share of its pods that
are disturbed. A move that concerns several such pools needs all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from dovetail.decide.disrupt.cost import moving_cost
from dovetail.decide.disrupt.probe import Ground, movable_pods
from dovetail.decide.prices import price_of, whole_prices
from dovetail.decide.recall import recalled
from dovetail.model.node import Node
from dovetail.model.pool import ConsolidationPolicy
from dovetail.model.verdict import Score

THOUSAND: Final = 1000
LEAST_SCORE: Final = 500  # thousandths


class Stake(msgspec.Struct, frozen=True):
    """What some nodes cost, and what it costs to move all their pods."""

    price_nanousd: int
    cost: int


@recalled
def stakes(ground: Ground) -> Mapping[str, Stake]:
    """What all nodes of each Balanced pool come to, by the pool's name."""
    names = {
        pool.name
        for pool in ground.snapshot.node_pools
        if pool.disruption.consolidation_policy == ConsolidationPolicy.BALANCED
    }
    by_pool: dict[str, list[Node]] = {name: [] for name in sorted(names)}
    for node in ground.nodes:
        if node.node_pool in by_pool:
            by_pool[node.node_pool].append(node)
    return {name: _stake(nodes, ground) for name, nodes in by_pool.items()}


def _stake(nodes: Sequence[Node], ground: Ground) -> Stake:
    known = whole_prices(ground.snapshot)
    return Stake(
        sum(price_of(node, known) for node in nodes),
        sum(moving_cost(movable_pods(node.name, ground)) for node in nodes),
    )


def scores(
    going: Sequence[Node], saving: int, held: Mapping[str, Stake], ground: Ground
) -> tuple[Score, ...]:
    """What every Balanced pool that loses nodes makes of this, by the pool's name."""
    concerned = sorted({node.node_pool for node in going} & held.keys())
    if not concerned:
        return ()
    paid = _stake(going, ground).price_nanousd
    found = []
    for pool in concerned:
        part = _stake([node for node in going if node.node_pool == pool], ground)
        share = Fraction(saving * part.price_nanousd, paid) if paid else Fraction(0)
        exact = score(share, part.cost, held[pool])
        found.append(Score(pool, exact * THOUSAND // 1))
    return tuple(found)


def is_approved(found: Iterable[Score]) -> bool:
    """Whether every pool that was asked approves."""
    return all(one.thousandths >= LEAST_SCORE for one in found)


def score(saving: Fraction, cost: int, held: Stake) -> Fraction:
    """The share of a pool's cost that is saved, over the share of its pods that are disturbed."""
    if not held.price_nanousd or not held.cost or not cost:
        return Fraction(0)
    return (saving / held.price_nanousd) / Fraction(cost, held.cost)
