"""Makes one whole plan: existing nodes first, then quotas of zones, then new nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.minvalues import relaxed_groups, share_nodes
from dovetail.solve.packing.attempt import Attempt, left_of, new_attempt, top_weight
from dovetail.solve.packing.dear_nodes import pack_dear
from dovetail.solve.packing.pack import pack, remaining_lots
from dovetail.solve.packing.units import ANY_WEIGHT
from dovetail.solve.packing.zone_trials import best_zones
from dovetail.solve.program.multipliers import Values
from dovetail.solve.program.sifting import solve_program
from dovetail.solve.search.portfolio import is_small
from dovetail.solve.zones.colocate import colocate
from dovetail.solve.zones.settle import move_over, settle_all


def run_attempt(enc: Encoded, offers: Int, values: Values) -> Attempt:
    """Plan everything that can be planned in bulk."""
    is_large = enc.problem.policy.effort > 0 and not is_small(enc)
    prefer = best_zones(enc, offers, values) if is_large else None
    attempt = new_attempt(enc, offers, values, prefer)
    first = relaxed_groups(enc)
    if first:
        plan_groups(attempt, first)
        attempt.bins.n_kept = attempt.bins.n
        share_nodes(attempt.bins)
    plan_groups(attempt, sorted(set(range(len(enc.groups))).difference(first)))
    return attempt


def plan_groups(attempt: Attempt, groups: Iterable[int]) -> None:
    """Plan these groups in bulk, on nodes that are there and on new ones."""
    settle_all(attempt, groups)
    attempt.left_u = left_of(attempt)
    colocate(attempt.bins, attempt.units, attempt.left_u)
    worth_u = _worth_of_units(attempt)
    good = (attempt.values.favourites, worth_u)
    if not attempt.bins.limits.allow(attempt.values.favourites, attempt.values.bought):
        good = _revalue(attempt, worth_u)
    pack_dear(attempt, good)
    pack(attempt.bins, attempt.units, attempt.left_u, attempt.offers, good)
    _fall_back(attempt, worth_u)


def _worth_of_units(attempt: Attempt) -> Float:
    mean = (
        np.maximum(attempt.enc.cap_or[attempt.offers].mean(axis=0), 1.0)
        if len(attempt.offers)
        else np.ones(len(attempt.enc.resources))
    )
    price = float(attempt.enc.plan_price_o[attempt.offers].mean()) if len(attempt.offers) else 1.0
    if not attempt.units:
        return np.zeros(0)
    request_ur = np.array([unit.request for unit in attempt.units])
    floor_u = 0.02 * price * (request_ur / mean).max(axis=1, initial=0.0)
    worth_u: Float = np.maximum(np.maximum(attempt.worths(), floor_u), 1.0)
    return worth_u


def _fall_back(attempt: Attempt, worth_u: Float) -> None:
    """What a heavier pool's limits left out goes to the next lighter pool, unless that pool
    launches beside.
    """
    tried: set[tuple[int, int]] = set()
    while len(attempt.weights) > 1:
        moved = False
        for number in np.flatnonzero(attempt.left_u).tolist():
            unit = attempt.units[number]
            if unit.weight == ANY_WEIGHT:
                continue
            if move_over(attempt, number, tried):
                moved = True
                continue
            lower = top_weight(attempt, unit.members[0][0], unit.cell, below=unit.weight)
            if lower != ANY_WEIGHT:
                unit.weight = lower
                moved = True
        if not moved:
            return
        attempt.bins.n_kept = attempt.bins.n  # what heavier pools hold stays there
        worth_u = np.concatenate([worth_u, _worth_of_units(attempt)[len(worth_u) :]])
        good = _revalue(attempt, worth_u)
        pack(attempt.bins, attempt.units, attempt.left_u, attempt.offers, good)


def _revalue(attempt: Attempt, worth_u: Float) -> tuple[Int, Float]:
    """The offers to buy and what pods are worth among the pools that are left to them."""
    bins = attempt.bins
    offers = attempt.offers[bins.limits.open_offers()[attempt.offers]]
    numbers, lots = remaining_lots(bins, attempt.units, attempt.left_u, offers)
    if not lots:
        return attempt.values.favourites, worth_u
    solved = solve_program(attempt.enc, offers, lots, bins.limits.program_rows(offers))
    worth_u = worth_u.copy()
    worth = solved.assignment.pi_l[solved.classes.class_of] * 1e9
    worth_u[numbers] = np.maximum(worth_u[numbers], worth)
    return solved.offers[solved.assignment.nodes_o > 1e-7], worth_u
