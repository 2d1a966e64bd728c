"""Which offers are worth searching over for these pods, and what are pods worth there?"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.dominance import undominated
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.minvalues import hold_min_values, may_give_way
from dovetail.solve.encoding.spot_risk import with_robust_prices
from dovetail.solve.encoding.unplaceable import without_a_choice, without_a_place
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT
from dovetail.solve.program.answers import Guide
from dovetail.solve.program.lots import Lot
from dovetail.solve.program.markets import dear_groups, joined
from dovetail.solve.program.multipliers import Values
from dovetail.solve.program.pod_worth import appraise, takes, worthless
from dovetail.solve.program.sifting import guide
from dovetail.solve.puzzle import Puzzle
from dovetail.solve.zones.quotas import simple_spread, spread_range


@dataclass(frozen=True, slots=True)
class Searched:
    """A puzzle as arrays, with the offers worth searching over and what they take."""

    enc: Encoded
    offers: Int
    stands_for: Int
    fits_gp: Bool


def searched(enc: Encoded) -> Searched:
    """The offers worth searching over."""
    offers, stands_for = undominated(enc)
    fits = takes(enc, np.arange(len(enc.groups)), offers)
    return Searched(enc, offers, stands_for, fits)


def encoded(puzzle: Puzzle) -> tuple[Searched, Searched, tuple[Pod, ...]]:
    """The puzzle as arrays, plain and with minValues held; and the pods that nothing could ever
    take, which are in neither: those move nobody else.
    """
    hopeless: tuple[Pod, ...] = ()
    while True:
        plain = shop = searched(encode(puzzle, hopeless))
        lost = without_a_place(plain.enc, plain.fits_gp)
        if not lost:
            enc = hold_min_values(with_robust_prices(plain.enc))
            shop = plain if enc is plain.enc else searched(enc)
            lost = [] if may_give_way(enc) else without_a_choice(plain.enc, shop.fits_gp)
        if not lost:
            return plain, shop, hopeless
        hopeless += tuple(pod for group in lost for pod in plain.enc.groups[group].pods)
        gone = {pod.key for pod in hopeless}
        rest = tuple(pod for pod in puzzle.pods if pod.key not in gone)
        puzzle = msgspec.structs.replace(puzzle, pods=rest)


def appraised(shop: Searched, *, is_proof: bool = True) -> Values:
    """What pods are worth, by the multipliers of the relaxed program; roughly, if nothing is to be
    proven by it.
    """
    dear_g = dear_groups(shop.enc, shop.offers, shop.fits_gp)
    found = _relaxation(shop.enc, shop.offers, (shop.fits_gp, dear_g), is_proof=is_proof)
    if found is None:
        return worthless(shop.enc, shop.offers)
    values = appraise(shop.enc, shop.offers, found)
    values.dear_g = dear_g
    return values


def _relaxation(
    enc: Encoded, offers: Int, groups: tuple[Bool, Bool], *, is_proof: bool
) -> Guide | None:
    """The program over all pods, zones free but for lone spreads: its multipliers price all."""
    fits_gp, dear_g = groups
    weight_p, cell_p = enc.weight_o[offers], enc.cell_o[offers]
    top_g = np.full(len(enc.groups), ANY_WEIGHT)
    if len(np.unique(weight_p)) > 1:
        top_g = np.where(fits_gp, weight_p[None, :], ANY_WEIGHT).max(axis=1)
    ties = enc.ties
    masks, counts, tops = enc.mask_g.tolist(), enc.count_g.tolist(), top_g.tolist()
    lots, is_dear = list[Lot](), list[bool]()
    for group in np.flatnonzero(fits_gp.any(axis=1)).tolist():
        lot = Lot(
            enc.requests_gr[group],
            masks[group],
            ANY_CELL,
            counts[group],
            tuple(ties.host_own_g[group]),
            tuple(ties.host_match_g[group]),
            weight=tops[group],
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
        is_dear.append(bool(dear_g[group]))
    if not lots:
        return None
    places = np.flatnonzero(~np.array(is_dear)), np.flatnonzero(is_dear)
    if not (len(places[0]) and len(places[1])):
        return guide(enc, offers, lots, is_proof=is_proof)
    first, second = (
        guide(enc, offers, [lots[one] for one in some.tolist()], is_proof=is_proof)
        for some in places
    )
    return joined(first, second, places)
