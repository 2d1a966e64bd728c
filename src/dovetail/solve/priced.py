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
    solution = pipeline.solve(puzzle)
    known = {pool.name: puzzle.policy.node_price_of(pool) for pool in puzzle.node_pools}
    if not any(known.values()):
        return solution
    other = pipeline.solve(_without_node_prices(puzzle))
    extra = sum(known[node.node_pool.name] for node in other.launches)
    other = msgspec.structs.replace(other, node_price_nanousd=extra)
    heaviest = max(pool.weight for pool in puzzle.node_pools)
    if not _is_better(other, solution, heaviest):
        return solution
    left_out = [{pod.key for pod in way.unplaced} for way in (solution, other)]
    # The bound was proven for the pods that are placed.
    proof = solution.node_certificate if left_out[0] == left_out[1] else Certificate()
    return msgspec.structs.replace(other, node_certificate=proof)


def _without_node_prices(puzzle: Puzzle) -> Puzzle:
    policy: Policy = msgspec.structs.replace(puzzle.policy, node_price_nanousd=0)
    pools = tuple(
        msgspec.structs.replace(pool, node_price_nanousd=None) for pool in puzzle.node_pools
    )
    return msgspec.structs.replace(puzzle, policy=policy, node_pools=pools)


def _is_better(solution: Solution, other: Solution, heaviest: int) -> bool:
    """Whether one plan comes before another, in the order of `ranking.rank`: pods left out (highest
    priority first), pods in light pools (lightest first), price with node prices, nodes.
    """
    left_out = [Counter(-pod.spec.priority for pod in way.unplaced) for way in (solution, other)]
    light = [_pods_by_weight(way) for way in (solution, other)]
    ranks = [
        (
            [left_out[number][key] for key in sorted(left_out[0] | left_out[1])],
            [light[number][key] for key in sorted(light[0] | light[1]) if key < heaviest],
            solution.price_nanousd + solution.node_price_nanousd,
            len(solution.launches),
        )
        for number, solution in enumerate((solution, other))
    ]
    return ranks[0] < ranks[1]


def _pods_by_weight(solution: Solution) -> Counter[int]:
    n_pods: Counter[int] = Counter()
    for planned_node in solution.launches:
        n_pods[planned_node.node_pool.weight] += len(planned_node.pods)
    return n_pods
