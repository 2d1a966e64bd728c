"""Finds the price of plans with fewer nodes, for the pods that are pending.

A plan is asked for with nodes that cost nothing beside their provider's price, and with nodes so
dear that only their number counts. Between two plans the price per node at which they cost the same
is tried next: a third plan that is better there lies between them.

Example: 12 nodes for $1.00 and 2 nodes for $1.50 cost the same when a node costs $0.05. Asked with
that price the solver finds 5 nodes for $1.10, which comes to $1.35 instead of $1.60. So the plan
with 5 nodes is the best from $0.0143 to $0.1333 a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from typing import Final

import msgspec

from dovetail.decide.provision import provision
from dovetail.model.plan import FrontierPoint
from dovetail.model.snapshot import Snapshot

MOST_PLANS: Final = 12
_DEAREST_NANOUSD: Final = 10**12  # a node; as much as `knobs.node_price` takes
_TIMES: Final = 10  # what the whole plan costs: then only the number of nodes counts


class Sample(msgspec.Struct, frozen=True, order=True):
    """A plan: pods that it leaves out, new nodes, and what the provider asks for them an hour."""

    n_left_out: int
    n_nodes: int
    price_nanousd: int


def sample_plans(snapshot: Snapshot, now: datetime) -> Iterator[Sample]:
    """Plans with other numbers of nodes, one after another."""
    first = _sample(snapshot, now, 0)
    yield first
    if first.n_nodes <= 1 or first.price_nanousd <= 0:
        return
    fewest = _sample(snapshot, now, min(_DEAREST_NANOUSD, _TIMES * first.price_nanousd))
    yield fewest
    samples, tried = [first, fewest], {0}
    for _ in range(MOST_PLANS - 2):
        price = _next_price(samples, tried)
        if price is None:
            return
        tried.add(price)
        samples.append(_sample(snapshot, now, price))
        yield samples[-1]


def frontier(samples: Sequence[Sample]) -> tuple[FrontierPoint, ...]:
    """The plans that nothing beats in both nodes and price, the cheapest first."""
    kept = _pareto_front(samples)
    hull = _hull(kept)
    best_from = {after: _slope(before, after) for before, after in pairwise(hull)}
    return tuple(
        FrontierPoint(
            sample.n_nodes, sample.price_nanousd, 0 if sample == kept[0] else best_from.get(sample)
        )
        for sample in kept
    )


def _sample(snapshot: Snapshot, now: datetime, node_price_nanousd: int) -> Sample:
    """The plan when every node has this price, whatever policy and pools say."""
    policy = msgspec.structs.replace(snapshot.policy, node_price_nanousd=node_price_nanousd)
    pools = tuple(
        msgspec.structs.replace(pool, node_price_nanousd=None) for pool in snapshot.node_pools
    )
    world = msgspec.structs.replace(snapshot, policy=policy, node_pools=pools)
    plan = provision(world, now)
    return Sample(len(plan.unschedulable), len(plan.launches), plan.cost.new_nanousd)


def _next_price(samples: Sequence[Sample], tried: set[int]) -> int | None:
    """The price per node at which two neighbours cost the same, of those farthest apart."""
    hull = _hull(_pareto_front(samples))
    pairs = sorted(
        pairwise(hull), key=lambda pair: (pair[1].n_nodes - pair[0].n_nodes, pair[0].n_nodes)
    )
    for before, after in pairs:
        price = _slope(before, after)
        if before.n_nodes - after.n_nodes > 1 and price not in tried:
            return price
    return None


def _pareto_front(samples: Sequence[Sample]) -> list[Sample]:
    """By number of nodes, most first: each costs more than those with more nodes. Only plans that
    leave out the fewest pods count.
    """
    least = min((sample.n_left_out for sample in samples), default=0)
    kept: list[Sample] = []
    for sample in sorted(sample for sample in samples if sample.n_left_out == least):
        if not kept or sample.price_nanousd < kept[-1].price_nanousd:
            kept.append(sample)
    return kept[::-1]


def _hull(kept: Sequence[Sample]) -> list[Sample]:
    """Those that are the best at some price per node."""
    hull: list[Sample] = []
    for sample in kept:
        while len(hull) > 1 and _rate(hull[-2], hull[-1]) >= _rate(hull[-1], sample):
            hull.pop()
        hull.append(sample)
    return hull


def _rate(before: Sample, after: Sample) -> Fraction:
    """What each node less costs."""
    return Fraction(after.price_nanousd - before.price_nanousd, before.n_nodes - after.n_nodes)


def _slope(before: Sample, after: Sample) -> int:
    """The least whole price per node at which fewer nodes are no worse."""
    rate = _rate(before, after)
    return -(-rate.numerator // rate.denominator)
