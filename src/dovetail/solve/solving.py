"""Which nodes for which pods? The whole of `solve` in order."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.attempt import Attempt
from dovetail.solve.axes import Bool, Int
from dovetail.solve.bound import certify
from dovetail.solve.decode import decode, unplaced
from dovetail.solve.encode import Encoded, encode
from dovetail.solve.guidance import Guide
from dovetail.solve.guide import guide
from dovetail.solve.hopeless import without_a_choice, without_a_place
from dovetail.solve.lots import Lot
from dovetail.solve.minvalues import hold_min_values, may_give_way
from dovetail.solve.planning import run_attempt
from dovetail.solve.portfolio import cheaper_plan, rank
from dovetail.solve.preferences import prefer
from dovetail.solve.promote import promote
from dovetail.solve.prune import undominated
from dovetail.solve.puzzle import Puzzle, Solution, canonical
from dovetail.solve.quotas import simple_spread, spread_range
from dovetail.solve.rescue import rescue
from dovetail.solve.rightsize import right_size
from dovetail.solve.robust import with_robust_prices
from dovetail.solve.soundness import is_sound
from dovetail.solve.units import ANY_CELL, ANY_WEIGHT
from dovetail.solve.values import appraise, takes, worthless
from dovetail.solve.vectors import Values
from dovetail.solve.waves import Outcome, by_priority
from dovetail.solve.wishes import wishes_of


def solve(puzzle: Puzzle) -> Solution:
    """Place every pod that can be placed, as cheaply as can be found, with a proven bound."""
    if not puzzle.pods:
        return Solution()
    plain, shop, hopeless = _encoded(canonical(puzzle))
    enc = shop.enc
    if not enc.groups:
        return Solution(unplaced=hopeless)
    values = _appraised(shop)
    attempt, waiting = _best_attempt(enc, shop.offers, values)
    if waiting and may_give_way(enc):
        attempt, waiting = _without_min_values(attempt, waiting)
    launches, placed, order = decode(attempt)
    placed_g = enc.count_g.copy()
    for group, count in waiting.items():
        placed_g[group] -= count
    if shop is not plain:
        # Others may keep other types in reserve, or compare true prices: the bound knows neither.
        values = _appraised(plain)
    price = sum(one.offering.price_nanousd for one in launches)
    return Solution(
        launches=tuple(launches),
        placed=tuple(placed),
        unplaced=(*unplaced(attempt, waiting), *hopeless),
        order=tuple(order),
        price_nanousd=price,
        certificate=certify(plain.enc, values, plain.stands_for, placed_g=placed_g, price=price),
        n_groups=len(enc.groups),
    )


@dataclass(frozen=True, slots=True)
class _Searched:
    """A puzzle as arrays, with the offers worth searching over and what they take."""

    enc: Encoded
    offers: Int
    stands_for: Int
    fits_gp: Bool


def _searched(enc: Encoded) -> _Searched:
    offers, stands_for = undominated(enc)
    fits = takes(enc, np.arange(len(enc.groups)), offers)
    return _Searched(enc, offers, stands_for, fits)


def _encoded(puzzle: Puzzle) -> tuple[_Searched, _Searched, tuple[Pod, ...]]:
    """The puzzle as arrays, plain and with minValues held; and the pods that nothing could ever
    take, which are in neither: those move nobody else.
    """
    hopeless: tuple[Pod, ...] = ()
    while True:
        plain = shop = _searched(encode(puzzle, hopeless))
        lost = without_a_place(plain.enc, plain.fits_gp)
        if not lost:
            enc = hold_min_values(with_robust_prices(plain.enc))
            shop = plain if enc is plain.enc else _searched(enc)
            lost = [] if may_give_way(enc) else without_a_choice(plain.enc, shop.fits_gp)
        if not lost:
            return plain, shop, hopeless
        hopeless += tuple(pod for group in lost for pod in plain.enc.groups[group].pods)
        gone = {pod.key for pod in hopeless}
        rest = tuple(pod for pod in puzzle.pods if pod.key not in gone)
        puzzle = msgspec.structs.replace(puzzle, pods=rest)


def _appraised(shop: _Searched) -> Values:
    """What pods are worth, by the multipliers of the relaxed program."""
    found = _relaxation(shop.enc, shop.offers, shop.fits_gp)
    if found is None:
        return worthless(shop.enc, shop.offers)
    return appraise(shop.enc, shop.offers, found)


def _without_min_values(
    attempt: Attempt, waiting: dict[int, int]
) -> tuple[Attempt, dict[int, int]]:
    """Another plan that holds no minValues, if more pods find a place in it."""
    origin = attempt.enc.origin
    if origin is None:
        return attempt, waiting
    shop = _searched(origin.enc)
    other, left = _best_attempt(origin.enc, shop.offers, _appraised(shop))
    ranked = sorted({int(one) for one in origin.enc.priority_g}, reverse=True)

    def left_out(held: dict[int, int]) -> list[int]:
        priority = origin.enc.priority_g
        return [sum(n for group, n in held.items() if priority[group] == one) for one in ranked]

    return (other, left) if left_out(left) < left_out(waiting) else (attempt, waiting)


def _best_attempt(enc: Encoded, offers: Int, values: Values) -> Outcome:
    attempt = run_attempt(enc, offers, values)
    other = cheaper_plan(attempt)
    attempt, waiting = _finished(attempt)
    if other is not None and is_sound(other):
        attempt, waiting = min((attempt, waiting), _finished(other), key=rank)
    attempt.wishes = wishes_of(enc)
    if attempt.wishes is not None:
        prefer(attempt, attempt.wishes)
        if waiting:
            waiting = rescue(attempt)  # whoever moved may have left room
        promote(attempt)
    return attempt, waiting


def _finished(attempt: Attempt) -> Outcome:
    """The plan with whatever can still be placed, and every node no larger than need be."""
    attempt, waiting = by_priority((attempt, rescue(attempt)))
    is_moving = True
    while is_moving:
        right_size(attempt)
        if waiting:
            waiting = rescue(attempt)  # smaller nodes leave more of the limits
        is_moving = promote(attempt)
    return attempt, waiting


def _relaxation(enc: Encoded, offers: Int, fits_gp: Bool) -> Guide | None:
    """The program over all pods, zones free but for lone spreads: its multipliers price all."""
    weight_p, cell_p = enc.weight_o[offers], enc.cell_o[offers]
    top_g = np.full(len(enc.groups), ANY_WEIGHT)
    if len(np.unique(weight_p)) > 1:
        top_g = np.where(fits_gp, weight_p[None, :], ANY_WEIGHT).max(axis=1)
    ties = enc.ties
    lots = []
    for group in np.flatnonzero(fits_gp.any(axis=1)).tolist():
        lot = Lot(
            enc.requests_gr[group],
            int(enc.mask_g[group]),
            ANY_CELL,
            int(enc.count_g[group]),
            tuple(ties.host_own_g[group]),
            tuple(ties.host_match_g[group]),
            weight=int(top_g[group]),
        )
        zone = simple_spread(enc, group)
        if zone is not None:
            launchable = np.zeros(len(ties.domains_ck), dtype=bool)
            launchable[cell_p[fits_gp[group]]] = True
            bounds = spread_range(enc, group, zone, launchable)
            if bounds is not None:
                lot.key = ties.zones[zone].key
                lot.low, lot.high = bounds
                lot.weight = ANY_WEIGHT
        lots.append(lot)
    return guide(enc, offers, lots) if lots else None
