"""Finds the units that at least one of some offers takes, for many units at once.

`Bins.fits_new` says it of one unit and every offer. Here only the offers that are asked about are
looked at, and units that differ in nothing but their pods' names are looked at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT, PodUnit

_BLOCK: Final = 256  # kinds at a time, so that a table stays small


def with_takers(bins: Bins, units: list[PodUnit], numbers: Iterable[int], offers: Int) -> list[int]:
    """The units that an empty node of some of the offers would take, in the given order."""
    kinds: dict[tuple[bytes, int, int, int], int] = {}
    first: list[PodUnit] = []
    kind_of: dict[int, int] = {}
    taken: dict[int, bool] = {}
    for number in numbers:
        unit = units[number]
        if unit.claims or bins.is_near_daemons(unit):
            taken[number] = bool(bins.fits_new(unit)[offers].any())
            continue
        key = (unit.request.tobytes(), unit.mask, unit.cell, unit.weight)
        kind = kinds.setdefault(key, len(first))
        if kind == len(first):
            first.append(unit)
        kind_of[number] = kind
    is_taken = _are_taken(bins.enc, first, offers).tolist()
    taken |= {number: is_taken[kind] for number, kind in kind_of.items()}
    return [number for number in numbers if taken[number]]


def _are_taken(enc: Encoded, units: list[PodUnit], offers: Int) -> Bool:
    """Whether some offer has room for one pod of each unit, and lets it in."""
    is_taken = np.zeros(len(units), dtype=bool)
    cap_rp = np.ascontiguousarray(enc.cap_or[offers].T)
    masks_mp = enc.masks_me[:, offers]
    cell_p, weight_p = enc.cell_o[offers], enc.weight_o[offers]
    for start in range(0, len(units), _BLOCK):
        block = units[start : start + _BLOCK]
        fits = masks_mp[[unit.mask for unit in block]]
        request = np.array([unit.request for unit in block])
        for resource, room in enumerate(cap_rp):
            asked = request[:, resource, None]
            fits &= (room >= asked) | (asked <= 0)
        fits &= _in_place(np.array([unit.cell for unit in block]), cell_p, ANY_CELL)
        fits &= _in_place(np.array([unit.weight for unit in block]), weight_p, ANY_WEIGHT)
        is_taken[start : start + len(block)] = fits.any(axis=1)
    return is_taken


def _in_place(wanted: Int, held_p: Int, anywhere: int) -> Bool:
    """units x offers: whether the offer is where the unit must go, if it must go anywhere."""
    right: Bool = (wanted[:, None] == held_p) | (wanted == anywhere)[:, None]
    return right
