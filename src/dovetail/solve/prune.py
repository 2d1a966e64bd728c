"""Which offers need the search not look at?

An offer is dominated when another in the same cell and of the same weight accepts at least the same
pods, has at least its capacity, and costs no more. Dominated offers are still alternatives for a
launch; what is scarce (a reservation, a pool near its limits) dominates nothing.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encode import Encoded
from dovetail.solve.limits import Limits, scarce_offers

_BLOCK: Final = 128
Bytes = npt.NDArray[np.uint8]


def undominated(enc: Encoded) -> tuple[Int, Int]:
    """The offers worth searching over, ascending; for every offer the one that stands for it."""
    stands_for = np.arange(enc.n_offers)
    scarce_o = scarce_offers(enc)
    usable = np.flatnonzero(Limits(enc).open_offers())
    bits = np.packbits(enc.masks_me[:, : enc.n_offers], axis=0).T  # offers x bytes
    place = np.stack([enc.weight_o[usable], enc.cell_o[usable]], axis=1)
    kept = []
    for where in np.unique(place, axis=0):
        inside = usable[(place == where).all(axis=1)]
        inside = inside[bits[inside].any(axis=1)]
        kept.append(_skyline(enc, inside, (bits, scarce_o), stands_for))
    return (np.sort(np.concatenate(kept)) if kept else usable[:0]), stands_for


def _skyline(enc: Encoded, inside: Int, known: tuple[Bytes, Bool], stands_for: Int) -> Int:
    total = enc.cap_or[inside].astype(np.float64)
    scale = np.maximum(total.mean(axis=0), 1.0) if len(inside) else 1.0
    welcome = np.bitwise_count(known[0][inside]).sum(axis=1)
    size = (total / scale).sum(axis=1)
    order = np.lexsort((inside, -welcome.astype(np.int64), -size, enc.plan_price_o[inside]))
    ranked = inside[order]
    kept = ranked[:0]
    for start in range(0, len(ranked), _BLOCK):
        block = ranked[start : start + _BLOCK]
        rivals = np.concatenate([kept, block])
        beaten = _beaten(enc, block, rivals, known)
        # Ties: the earlier one stays. Whoever beats a beaten one beats its victims too.
        beaten[:, len(kept) :] &= np.tri(len(block), k=-1, dtype=bool)
        lost = beaten.any(axis=1)
        stands_for[block[lost]] = stands_for[rivals[beaten[lost].argmax(axis=1)]]
        kept = np.concatenate([kept, block[~lost]])
    return kept


def _beaten(enc: Encoded, losers: Int, winners: Int, known: tuple[Bytes, Bool]) -> Bool:
    """losers x winners: whether the winner makes the loser pointless (its price is no higher)."""
    bits, scarce_o = known
    result = np.broadcast_to(~scarce_o[winners][None, :], (len(losers), len(winners))).copy()
    for resource in range(enc.cap_or.shape[1]):
        result &= enc.cap_or[losers, resource][:, None] <= enc.cap_or[winners, resource][None, :]
    for byte in range(bits.shape[1]):
        result &= (bits[losers, byte][:, None] & ~bits[winners, byte][None, :]) == 0
    return result
