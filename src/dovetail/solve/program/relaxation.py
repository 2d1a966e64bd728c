"""Encodes a puzzle, chooses the offers worth searching over, and values pods by the linear program.

The program is relaxed: pods may be cut into pieces, and zones are free but for lone spreads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.dominance import undominated_offers
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.minvalues import hold_min_values, may_give_way
from dovetail.solve.encoding.spot_risk import with_robust_prices
from dovetail.solve.encoding.unplaceable import without_a_choice, without_a_place
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT
from dovetail.solve.program.answers import SolvedProgram
from dovetail.solve.program.lots import Lot
from dovetail.solve.program.markets import MarketSplit, dear_groups, join_guides
from dovetail.solve.program.multipliers import Values
from dovetail.solve.program.pod_worth import appraise, priceless, takes
from dovetail.solve.program.sifting import solve_program
from dovetail.solve.puzzle import Puzzle
from dovetail.solve.zones.quotas import simple_spread, spread_range

_ENOUGH: Final = 0.95  # of what two programs say: less is proven where one market serves the other


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """A puzzle as arrays, with the offers worth searching over and what they take."""

    enc: Encoded
    offers: Int
    stands_for: Int
    fits_gp: Bool


@dataclass(frozen=True, slots=True)
class EncodedPuzzle:
    """A puzzle as arrays twice: with all offers at true prices, and with those that minValues and
    the risk of spot interruptions leave; and the pods that no node could ever take, in neither.
    """

    plain: SearchSpace
    restricted: SearchSpace
    unschedulable: tuple[Pod, ...]

    @property
    def is_restricted(self) -> bool:
        """Whether the two differ."""
        return self.restricted is not self.plain


def search_space(enc: Encoded) -> SearchSpace:
    """The offers worth searching over."""
    offers, stands_for = undominated_offers(enc)
    fits = takes(enc, np.arange(len(enc.groups)), offers)
    return SearchSpace(enc, offers, stands_for, fits)


def encode_schedulable(puzzle: Puzzle) -> EncodedPuzzle:
    """Encode a puzzle without its unschedulable pods, which must not influence where others go."""
    unschedulable: tuple[Pod, ...] = ()
    while True:
        plain = restricted = search_space(encode(puzzle, unschedulable))
        lost = without_a_place(plain.enc, plain.fits_gp)
        if not lost:
            enc = hold_min_values(with_robust_prices(plain.enc))
            restricted = plain if enc is plain.enc else search_space(enc)
            lost = [] if may_give_way(enc) else without_a_choice(plain.enc, restricted.fits_gp)
        if not lost:
            return EncodedPuzzle(plain, restricted, unschedulable)
        unschedulable += tuple(pod for group in lost for pod in plain.enc.groups[group].pods)
        left_aside = {pod.key for pod in unschedulable}
        rest = tuple(pod for pod in puzzle.pods if pod.key not in left_aside)
        puzzle = msgspec.structs.replace(puzzle, pods=rest)


def value_pods(space: SearchSpace, *, is_proof: bool = True) -> Values:
    """What pods are worth, by the dual values of the relaxed program; roughly, if nothing is to be
    proven by it.
    """
    dear_g = dear_groups(space.enc, space.offers, space.fits_gp)
    solved = _solve_relaxation(space, dear_g, is_proof=is_proof)
    if solved is None:
        return priceless(space.enc, space.offers)
    values = appraise(space.enc, space.offers, solved)
    values.dear_g = dear_g
    if not dear_g.any() or _total_worth(space.enc, values) >= _ENOUGH * solved.assignment.value:
        return values
    # Dear nodes that are half empty hold other pods for nothing, as their own program sees it.
    solved = _solve_relaxation(space, np.zeros_like(dear_g), is_proof=is_proof)
    joint = values if solved is None else appraise(space.enc, space.offers, solved)
    return max(values, joint, key=lambda values: _total_worth(space.enc, values))


def _total_worth(enc: Encoded, values: Values) -> float:
    """What all pods are worth at least, in dollars."""
    each_g = values.worth_sc.min(axis=1, initial=np.inf)[values.shape_g]
    return float(enc.count_g @ np.where(np.isfinite(each_g), each_g, 0.0)) * 1e-9


def _solve_relaxation(space: SearchSpace, dear_g: Bool, *, is_proof: bool) -> SolvedProgram | None:
    """Solve the program over all pods that some offer takes; None if there are none.

    Groups that only dear offers take (`dear_g`) have a program of their own.
    """
    enc, offers = space.enc, space.offers
    groups = np.flatnonzero(space.fits_gp.any(axis=1))
    if not len(groups):
        return None
    lots = _lots(space, groups.tolist())
    is_dear = dear_g[groups]
    markets = MarketSplit(np.flatnonzero(~is_dear), np.flatnonzero(is_dear))
    if not (len(markets.common) and len(markets.dear)):
        return solve_program(enc, offers, lots, is_proof=is_proof)
    common, dear = (
        solve_program(enc, offers, [lots[number] for number in numbers.tolist()], is_proof=is_proof)
        for numbers in markets
    )
    return join_guides(common, dear, markets)


def _lots(space: SearchSpace, groups: list[int]) -> list[Lot]:
    """The pods of each group, as one demand of the program."""
    enc, fits_gp = space.enc, space.fits_gp
    weight_p = enc.weight_o[space.offers]
    top_g = np.full(len(enc.groups), ANY_WEIGHT)
    if len(np.unique(weight_p)) > 1:
        top_g = np.where(fits_gp, weight_p[None, :], ANY_WEIGHT).max(axis=1)
    masks, counts, tops = enc.mask_g.tolist(), enc.count_g.tolist(), top_g.tolist()
    lots = []
    for group in groups:
        lot = Lot(
            enc.requests_gr[group],
            masks[group],
            ANY_CELL,
            counts[group],
            tuple(enc.ties.host_own_g[group]),
            tuple(enc.ties.host_match_g[group]),
            weight=tops[group],
        )
        zone_term = simple_spread(enc, group)
        if zone_term is not None:
            _bound_by_spread(lot, space, group, zone_term)
        lots.append(lot)
    return lots


def _bound_by_spread(lot: Lot, space: SearchSpace, group: int, zone_term: int) -> None:
    """Bound the pods of a lot in each zone, at least and at most, by its lone topology spread."""
    enc = space.enc
    launchable = np.zeros(len(enc.ties.domains_ck), dtype=bool)
    launchable[enc.cell_o[space.offers][space.fits_gp[group]]] = True
    bounds = spread_range(enc, group, zone_term, launchable)
    if bounds is not None:
        lot.key = enc.ties.zones[zone_term].key
        lot.low, lot.high = bounds
        lot.weight = ANY_WEIGHT
