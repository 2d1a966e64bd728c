"""Finds unschedulable pods, which are left out before anything is planned.

They must not divide what is on offer either. A spread that leaves out some nodes of a zone divides
the zone in two, and minValues must then be met on either side; a spread of pods that are nowhere
need not.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.axes import Bool
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.variety import are_met, demands
from dovetail.solve.program.bound import fits_existing
from dovetail.solve.program.pod_worth import takes


def without_a_place(enc: Encoded, fits_gp: Bool) -> list[int]:
    """The groups that no offer takes, and no existing node."""
    lost = np.flatnonzero(~fits_gp.any(axis=1)).tolist()
    return [group for group in lost if not fits_existing(enc, group)]


def without_a_choice(enc: Encoded, fits_gp: Bool) -> list[int]:
    """The groups that minValues leave without a place, whatever divides the offers.

    The offers are those before minValues narrowed them; `fits_gp` is about those after.
    """
    return [group for group in without_a_place(enc, fits_gp) if not _has_choice(enc, group)]


def _has_choice(enc: Encoded, group: int) -> bool:
    """Whether the types of some pool that would hold the group are as many as it insists on."""
    takers = takes(enc, np.array([group]), np.arange(enc.n_offers))[0]
    return any(
        are_met(demands(pool, enc.market.types), kinds)
        for number, pool in enumerate(enc.market.pools)
        if (kinds := np.unique(enc.type_o[takers & (enc.pool_o == number)]).tolist())
    )
