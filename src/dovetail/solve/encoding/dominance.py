"""Leaves out offers that another one beats in everything.

An offer is dominated when another in the same cell and of the same weight accepts at least the same
pods, has at least its capacity, costs no more, and uses no more of any limit that may bind.
Dominated offers are still alternatives for a launch; one in limited supply dominates nothing.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.limits import Limits, binding_use
from dovetail.solve.kernel import loading, loops

_BLOCK: Final = 128
Bytes = npt.NDArray[np.uint8]


def undominated_offers(enc: Encoded) -> tuple[Int, Int]:
    """The offers worth searching over, ascending; for every offer the one that stands for it."""
    stands_for = np.arange(enc.n_offers)
    scarce_o = enc.supply_o < UNLIMITED
    # A limit is one more thing to compare: what an offer does not use of it, it leaves to others.
    size_or = np.concatenate([enc.cap_or, *(-use[:, None] for use in binding_use(enc))], axis=1)
    bits = np.packbits(enc.masks_me[:, : enc.n_offers], axis=0).T  # offers x bytes
    usable = np.flatnonzero(Limits(enc).open_offers() & bits.any(axis=1))
    place = enc.weight_o[usable] * (int(enc.cell_o.max(initial=0)) + 1) + enc.cell_o[usable]
    total = enc.cap_or[usable].astype(np.float64)
    size = (total / np.maximum(total.mean(axis=0), 1.0)).sum(axis=1) if len(usable) else place
    welcome = np.bitwise_count(bits[usable]).sum(axis=1).astype(np.int64)
    order = np.lexsort((usable, -welcome, -size, enc.plan_price_o[usable], place))
    ranked, place = usable[order], place[order]
    library = loading.library()
    if library is None:
        winner = _skyline(size_or, ranked, place, (bits, scarce_o))
    else:
        words = np.zeros((len(ranked), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
        words[:, : bits.shape[1]] = bits[ranked]
        taken = words.view(np.uint64)
        winner = loops.skyline(library, place, size_or[ranked], taken, scarce_o[ranked])
    stands_for[ranked] = ranked[winner]
    return np.sort(ranked[winner == np.arange(len(ranked))]), stands_for


def _skyline(size_or: Int, ranked: Int, place: Int, known: tuple[Bytes, Bool]) -> Int:
    """For offers in order of place and price: the place of the one that beats each, or its own."""
    winner = np.arange(len(ranked))
    kept = winner[:0]
    for start in range(0, len(ranked), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(ranked)))
        kept = kept[place[kept] == place[start]]
        rivals = np.concatenate([kept, block])
        beaten = _is_pointless(size_or, ranked[block], ranked[rivals], known)
        beaten &= place[block][:, None] == place[rivals][None, :]
        # Ties: the earlier one stays. Whoever beats a beaten one beats its victims too.
        beaten[:, len(kept) :] &= np.tri(len(block), k=-1, dtype=bool)
        lost = beaten.any(axis=1)
        winner[block[lost]] = rivals[beaten[lost].argmax(axis=1)]
        kept = np.concatenate([kept, block[~lost]])
    return winner


def _is_pointless(size_or: Int, losers: Int, winners: Int, known: tuple[Bytes, Bool]) -> Bool:
    """losers x winners: whether the winner makes the loser pointless (its price is no higher)."""
    bits, scarce_o = known
    result = np.broadcast_to(~scarce_o[winners][None, :], (len(losers), len(winners))).copy()
    for resource in range(size_or.shape[1]):
        result &= size_or[losers, resource][:, None] <= size_or[winners, resource][None, :]
    for byte in range(bits.shape[1]):
        result &= (bits[losers, byte][:, None] & ~bits[winners, byte][None, :]) == 0
    return result
