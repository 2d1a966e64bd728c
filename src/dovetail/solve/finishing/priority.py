"""Gives pods of higher priority their place first when not all pods can be placed.

As long as everything fits, priorities do not matter and all pods are planned together, which is
cheaper. Where pods are left out that others of lower priority might make room for, the plan is made
again in waves, one for each priority, highest first.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.finishing.displace import displace
from dovetail.solve.finishing.rescue import rescue
from dovetail.solve.finishing.rightsize import right_size
from dovetail.solve.packing.attempt import Attempt, PackingResult, new_attempt
from dovetail.solve.packing.bulk import plan_groups


def prefer_high_priority(together: PackingResult) -> PackingResult:
    """The plan, or a better one for pods of higher priority."""
    if not _is_unfair(together):
        return together
    in_waves = _plan_in_waves(together.attempt)
    return displace_lower_priority(_better_plan(together, in_waves))


def displace_lower_priority(packing: PackingResult) -> PackingResult:
    """The plan with pods of higher priority in the places of others, where that is all it takes."""
    while _is_unfair(packing) and displace(packing.attempt, packing.left_out):
        packing = PackingResult(packing.attempt, rescue(packing.attempt))
    return packing


def _better_plan(together: PackingResult, in_waves: PackingResult) -> PackingResult:
    """The plan that places more pods of high priority; of equals the cheaper one."""
    if _placed_by_priority(in_waves) < _placed_by_priority(together):
        return together
    is_same = in_waves.left_out == together.left_out
    is_cheaper = together.attempt.price() <= in_waves.attempt.price()
    return together if is_same and is_cheaper else in_waves


def _is_unfair(packing: PackingResult) -> bool:
    """Whether a pod is left out while one of lower priority is placed."""
    if not packing.left_out:
        return False
    priority_g = packing.attempt.enc.priority_g
    highest = max(int(priority_g[group]) for group in packing.left_out)
    return bool((priority_g[packing.placed_g() > 0] < highest).any())


def _plan_in_waves(like: Attempt) -> PackingResult:
    """A plan for the same pods, one priority after another."""
    attempt = new_attempt(like.enc, like.offers, like.values, like.prefer)
    left_out: dict[int, int] = {}
    attempt.may_lean = False
    for priority in np.unique(like.enc.priority_g)[::-1].tolist():
        attempt.bins.n_kept = attempt.bins.n
        plan_groups(attempt, np.flatnonzero(like.enc.priority_g == priority).tolist())
        left_out = rescue(attempt)
        right_size(attempt)
    attempt.may_lean = True
    return PackingResult(attempt, rescue(attempt) if left_out else left_out)


def _placed_by_priority(packing: PackingResult) -> list[int]:
    """How many pods of each priority have a node, highest first."""
    priority_g, placed_g = packing.attempt.enc.priority_g, packing.placed_g()
    return [int(placed_g[priority_g == priority].sum()) for priority in np.unique(priority_g)[::-1]]
