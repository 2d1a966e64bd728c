"""Who goes first when not everybody can be placed? Pods of higher priority.

As long as everything fits, priorities do not matter and all pods are planned together, which is
cheaper. Where pods stay out that others of lower priority might make room for, the plan is made
again in waves, one for each priority, highest first.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.finishing.displace import displace
from dovetail.solve.finishing.rescue import rescue
from dovetail.solve.finishing.rightsize import right_size
from dovetail.solve.packing.attempt import Attempt, new_attempt
from dovetail.solve.packing.bulk import plan_groups

Outcome = tuple[Attempt, dict[int, int]]  # a plan, and how many pods of which group stay out


def by_priority(plain: Outcome) -> Outcome:
    """The plan, or a better one for pods of higher priority."""
    if not _is_unfair(*plain):
        return plain
    return displaced(_better(plain, _in_waves(plain[0])))


def displaced(outcome: Outcome) -> Outcome:
    """The plan with pods of higher priority in the places of others, where that is all it takes."""
    attempt, waiting = outcome
    while _is_unfair(attempt, waiting) and displace(attempt, waiting):
        waiting = rescue(attempt)
    return attempt, waiting


def _better(plain: Outcome, waves: Outcome) -> Outcome:
    if _placed(waves) < _placed(plain):
        return plain
    is_same = waves[1] == plain[1] and plain[0].price() <= waves[0].price()
    return plain if is_same else waves


def _is_unfair(attempt: Attempt, waiting: dict[int, int]) -> bool:
    """Whether a pod stays out while one of lower priority is placed."""
    if not waiting:
        return False
    enc = attempt.enc
    placed_g = enc.count_g.copy()
    for group, count in waiting.items():
        placed_g[group] -= count
    highest = max(int(enc.priority_g[group]) for group in waiting)
    return bool((enc.priority_g[placed_g > 0] < highest).any())


def _in_waves(like: Attempt) -> Outcome:
    attempt = new_attempt(like.enc, like.offers, like.values, like.prefer)
    waiting: dict[int, int] = {}
    attempt.may_lean = False
    for priority in np.unique(like.enc.priority_g)[::-1].tolist():
        attempt.bins.n_kept = attempt.bins.n
        plan_groups(attempt, np.flatnonzero(like.enc.priority_g == priority).tolist())
        waiting = rescue(attempt)
        right_size(attempt)
    attempt.may_lean = True
    return attempt, rescue(attempt) if waiting else waiting


def _placed(outcome: Outcome) -> list[int]:
    """How many pods of each priority have a node, highest first."""
    attempt, waiting = outcome
    enc = attempt.enc
    placed_g = enc.count_g.copy()
    for group, count in waiting.items():
        placed_g[group] -= count
    priorities = np.unique(enc.priority_g)[::-1]
    return [int(placed_g[enc.priority_g == one].sum()) for one in priorities]
