"""Chooses the zone of pods that must share one, where they make up much of the bill.

What pods are worth in each zone comes from a program that may divide them among zones, so that the
zones it uses look equally good. Where pods with required affinity by zone make up a large part of
all, the program is asked again for each zone, with all of them there.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.attempt import Prefer, left_of, new_attempt
from dovetail.solve.packing.pack import buy
from dovetail.solve.program.multipliers import Values
from dovetail.solve.program.rounding import cost_of
from dovetail.solve.zones.colocate import colocate
from dovetail.solve.zones.settle import settle_all

_MUCH: Final = 0.05  # of what all pods are worth
_MOST_ZONES: Final = 6
_MOST_GROUPS: Final = 1_000  # in all: with more, each trial takes long
_MOST_COMPONENTS: Final = 2  # that are tried, one after the other


def best_zones(enc: Encoded, offers: Int, values: Values) -> Prefer:
    """The zone of every group that matters, if some zone is better than what looks best."""
    prefer: dict[int, tuple[int, ...]] = {}
    if len(enc.groups) > _MOST_GROUPS:
        return prefer
    for groups in _large_components(enc, values):
        is_open_c = np.all([np.isfinite(values.cell_worth(group)) for group in groups], axis=0)
        cells = np.flatnonzero(is_open_c)[:_MOST_ZONES].tolist()
        ways = [{**prefer, **dict.fromkeys(groups, (cell,))} for cell in cells]
        if len(ways) > 1:
            prefer = min(ways, key=lambda way: _cost(enc, offers, values, way))
    return prefer


def _large_components(enc: Encoded, values: Values) -> list[tuple[int, ...]]:
    """Groups that must share a zone and are worth much, the largest first."""
    each_g = values.worth_sc.min(axis=1, initial=np.inf)[values.shape_g]
    worth_g = np.where(np.isfinite(each_g), each_g, 0.0) * enc.count_g
    components = {zone.groups for zone in enc.ties.zones if zone.kind == TermKind.AFFINITY}
    worth = {groups: float(worth_g[list(groups)].sum()) for groups in components}
    large = [groups for groups in components if worth[groups] > _MUCH * worth_g.sum()]
    return sorted(large, key=lambda groups: (-worth[groups], groups))[:_MOST_COMPONENTS]


def _cost(enc: Encoded, offers: Int, values: Values, prefer: Prefer) -> float:
    """What the program would pay if groups went there."""
    attempt = new_attempt(enc, offers, values, prefer)
    settle_all(attempt, range(len(enc.groups)))
    attempt.left_u = left_of(attempt)
    colocate(attempt.bins, attempt.units, attempt.left_u)
    bought = buy(attempt.bins, attempt.units, attempt.left_u, offers, values.favourites)
    return 0.0 if bought is None else cost_of(bought[1], bought[0].program)
