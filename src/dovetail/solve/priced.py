"""Solves a puzzle whose nodes have a price of their own, and never worse than without it.

The search is a heuristic: what it finds when nodes cost something may come to more, all counted,
than what it finds when they cost nothing. So both are asked, and the better plan is taken.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from dovetail.model.plan import Certificate
from dovetail.model.policy import Policy
from dovetail.solve import pipeline
from dovetail.solve.puzzle import Puzzle, Solution


def solve(puzzle: Puzzle) -> Solution:
    """Place every pod that can be placed, as cheaply as can be found, with a proven bound."""
    found = pipeline.solve(puzzle)
    known = {pool.name: puzzle.policy.node_price_of(pool) for pool in puzzle.node_pools}
    if not any(known.values()):
        return found
    other = pipeline.solve(_without_node_prices(puzzle))
    extra = sum(known[one.node_pool.name] for one in other.launches)
    other = msgspec.structs.replace(other, node_price_nanousd=extra)
    heaviest = max(pool.weight for pool in puzzle.node_pools)
    if not _is_better(other, found, heaviest):
        return found
    left_out = [{pod.key for pod in one.unplaced} for one in (found, other)]
    # The bound was proven for the pods that are placed.
    proof = found.node_certificate if left_out[0] == left_out[1] else Certificate()
    return msgspec.structs.replace(other, node_certificate=proof)


def _without_node_prices(puzzle: Puzzle) -> Puzzle:
    policy: Policy = msgspec.structs.replace(puzzle.policy, node_price_nanousd=0)
    pools = tuple(
        msgspec.structs.replace(pool, node_price_nanousd=None) for pool in puzzle.node_pools
    )
    return msgspec.structs.replace(puzzle, policy=policy, node_pools=pools)


def _is_better(one: Solution, other: Solution, heaviest: int) -> bool:
    """Whether one plan comes before another, in the order of `ranking.rank`: pods left out (highest
    priority first), pods in light pools (lightest first), price with node prices, nodes.
    """
    left_out = [Counter(-pod.spec.priority for pod in held.unplaced) for held in (one, other)]
    light = [_pods_by_weight(held) for held in (one, other)]
    ranks = [
        (
            [left_out[number][key] for key in sorted(left_out[0] | left_out[1])],
            [light[number][key] for key in sorted(light[0] | light[1]) if key < heaviest],
            held.price_nanousd + held.node_price_nanousd,
            len(held.launches),
        )
        for number, held in enumerate((one, other))
    ]
    return ranks[0] < ranks[1]


def _pods_by_weight(found: Solution) -> Counter[int]:
    n_pods: Counter[int] = Counter()
    for one in found.launches:
        n_pods[one.node_pool.weight] += len(one.pods)
    return n_pods
