"""Measures what an offer loses by being no larger than its siblings under minValues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.limits import share_of_limits


@dataclass(frozen=True, slots=True)
class Shapes:
    """Pods that are alike to an empty node: requests and accepted rows."""

    shape_g: Int
    request_sr: Int
    mask_s: Int

    def fits(self, masks_mo: Bool, cap_or: Int) -> Bool:
        """shapes x offers: who fits where."""
        fits = masks_mo[self.mask_s]
        for resource in range(cap_or.shape[1]):
            asked = self.request_sr[:, resource][:, None]
            fits &= (asked <= cap_or[:, resource][None, :]) | (asked == 0)
        return fits


class Losses:
    """What an offer loses by being no larger than others; pods that fit nothing do not count."""

    def __init__(self, enc: Encoded, shapes: Shapes) -> None:
        self.enc = enc
        fits_s: Bool = np.any(shapes.fits(enc.masks_me[:, : enc.n_offers], enc.cap_or), axis=1)
        count_g = enc.count_g * fits_s[shapes.shape_g]
        self._weight_m = np.bincount(enc.mask_g, weights=count_g, minlength=len(enc.masks_me))
        self._need_r = np.maximum((enc.requests_gr * count_g[:, None]).sum(axis=0), 1)

        self._share_o = share_of_limits(enc)
        codes: dict[str, int] = {}
        self._way_o = np.array(
            [
                (
                    codes.setdefault(offer.offering.capacity_type, len(codes)),
                    codes.setdefault(offer.offering.zone, len(codes)),
                )
                for offer in enc.market.offers
            ],
            dtype=np.int64,
        )

    def combine(self, siblings: Int, beside: Int) -> Int:
        """Whatever a provider might make of a launch that names the siblings."""
        if (self._way_o[siblings] == self._way_o[siblings[0]]).all():
            return siblings
        meant = np.isin(self.enc.type_o[beside], self.enc.type_o[siblings])
        for part in range(2):
            meant &= np.isin(self._way_o[beside, part], self._way_o[siblings, part])
        return beside[meant]

    def rank_siblings(self, offers: Int, beside: Int) -> Int:
        """offers x beside: itself first, then who keeps the most pods, the most room, takes
        the least of limits, is cheap.
        """
        enc, need = self.enc, self._need_r
        mine, theirs = enc.masks_me[:, offers], enc.masks_me[:, beside]
        lost = (mine * self._weight_m[:, None]).T @ (~theirs).astype(np.float64)
        less = np.zeros_like(lost)
        for resource in range(len(need)):
            # What nobody asks for is no loss.
            room = np.minimum(enc.cap_or[:, resource], need[resource]) / need[resource]
            own, other = room[offers][:, None], room[beside][None, :]
            less = np.maximum(less, np.maximum(own - other, 0.0) / np.maximum(own, 1e-12))
        lost[offers[:, None] == beside[None, :]] = -1.0
        rank = np.empty(len(beside))
        order = np.lexsort((enc.plan_price_o[beside], self._share_o[beside]))
        rank[order] = np.arange(len(beside))
        return np.argsort(2.0 * lost + np.minimum(less, 1.0) + 1e-9 * rank, axis=-1, kind="stable")

    def share(self, offers: Int) -> float:
        """The largest share of what any limit leaves that a node of any of these offers takes."""
        return float(self._share_o[offers].max(initial=0.0))

    def order_by_limits(self, offers: Int) -> Int:
        """The order of offers by what they take of limits, the least first, then by price."""
        return np.lexsort((self.enc.plan_price_o[offers], self._share_o[offers]))


def shapes_of(enc: Encoded) -> Shapes:
    """The distinct shapes of waiting pods, and that of every group."""
    table = np.concatenate([enc.mask_g[:, None], enc.requests_gr], axis=1)
    distinct, shape_g = np.unique(table, axis=0, return_inverse=True)
    return Shapes(shape_g.reshape(-1), distinct[:, 1:], distinct[:, 0])
