"""Counts how many more nodes of an offer pool limits and reservations allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail.model.resources import NODES
from dovetail.solve.axes import UNLIMITED, Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded


class Limits:
    """What pools and reservations still allow. Limits count capacity, not allocatable."""

    def __init__(self, enc: Encoded) -> None:
        self._enc = enc
        self.rows: list[Int] = []  # what one node of every offer takes of each limit
        self.left: list[int] = []
        for number, pool in enumerate(enc.market.pools):
            for resource, left in sorted(enc.problem.limits.get(pool.name, {}).items()):
                # A pool that is over one of its limits launches nothing.
                least = 1 if left < 0 else 0
                self.rows.append(_use(enc, number, resource, least))
                self.left.append(left)
        self._reserved = _reservations(enc)
        self.supply = enc.supply_o.copy()
        for same in self._reserved.values():
            self.supply[same] = enc.supply_o[same].min()

    @property
    def are_finite(self) -> bool:
        """Whether anything is limited at all."""
        return bool(self.rows) or bool(self._reserved)

    def take(self, offer: int, count: int) -> None:
        """Open so many nodes (or give them back, when negative)."""
        for place, row in enumerate(self.rows):
            self.left[place] -= int(row[offer]) * count
        for same in self._reserved.get(offer, ()):
            self.supply[same] -= count

    def same_reservation(self, offer: int) -> list[int]:
        """The offers that draw on the same reservation, itself among them."""
        return self._reserved.get(offer, [])

    def most(self, offer: int) -> int:
        """How many more nodes of an offer may be opened."""
        most = int(self.supply[offer])
        for row, left in zip(self.rows, self.left, strict=True):
            if row[offer] > 0:
                most = min(most, left // int(row[offer]))
        return max(most, 0)

    def open_offers(self) -> Bool:
        """The offers of which at least one more node may be opened."""
        result = self.supply > 0
        for row, left in zip(self.rows, self.left, strict=True):
            result &= (row == 0) | (row <= left)
        return result

    def allow(self, offers: Int, amounts: Float) -> bool:
        """Whether so many nodes of these offers could be opened, with some room to spare."""
        return all(
            float(row[offers] @ amounts) <= _SPARE * left
            for row, left in zip(self.rows, self.left, strict=True)
        )

    def program_rows(self, offers: Int) -> list[tuple[Float, float]]:
        """The limits as rows of the linear program over these offers."""
        return [
            (row[offers] / scale, max(left, 0) / scale)
            for row, left in zip(self.rows, self.left, strict=True)
            for scale in (max(float(row.max(initial=1)), 1.0),)
        ]


_SPARE: Final = 0.9  # numbers of nodes are rounded in the end
_PLENTY: Final = 8  # limits that leave this many times what is asked for will not bind


def binding_use(enc: Encoded) -> list[Int]:
    """What a node of every offer uses of each limit that might bind, a row for each limit."""
    asked = dict(zip(enc.resources, enc.count_g @ enc.requests_gr, strict=True))
    asked[NODES] = int(enc.count_g.sum())
    rows = []
    for number, pool in enumerate(enc.market.pools):
        for resource, left in sorted(enc.problem.limits.get(pool.name, {}).items()):
            use_o = _use(enc, number, resource, 1 if left < 0 else 0)
            if left < _PLENTY * max(int(asked.get(resource, 0)), int(use_o.max(initial=0))):
                rows.append(use_o)
    return rows


def sure_offers(enc: Encoded, price: int, n_pods: int) -> Bool:
    """The offers of which one more can be had beside any plan that costs no more than this.

    Such a plan uses no more of a limit than its money can buy, nor more than a node for each pod.
    """
    sure: Bool = enc.supply_o == UNLIMITED
    for number, pool in enumerate(enc.market.pools):
        mine = enc.pool_o == number
        for resource, left in enc.problem.limits.get(pool.name, {}).items():
            use_o = _use(enc, number, resource, 1 if left < 0 else 0)
            most = int(use_o.max(initial=0)) * n_pods
            if enc.price_o[mine].min(initial=UNLIMITED) > 0:
                rate = float((use_o[mine] / enc.price_o[mine]).max(initial=0.0))
                most = min(most, int(rate * price * (1 + 1e-9)))
            sure &= ~mine | (most + use_o <= left)
    return sure


Use = tuple[int, ...]  # of each limit of a pool, in the order of `limits_by_pool`


@dataclass(frozen=True, slots=True)
class PoolLimit:
    """What a pool's limit leaves of a resource, and what nodes of offers and types take of it."""

    left: int
    use_o: Int
    use_t: Int


def limits_by_pool(enc: Encoded) -> dict[int, list[PoolLimit]]:
    """The limits of pools, by the pool's number; limits of nodes are left out, since all types
    take the same of them.
    """
    by_pool: dict[int, list[PoolLimit]] = {}
    for number, pool in enumerate(enc.market.pools):
        for resource, left in sorted(enc.problem.limits.get(pool.name, {}).items()):
            if resource != NODES:
                use_o = _use(enc, number, resource, 0)
                by_pool.setdefault(number, []).append(
                    PoolLimit(left, use_o, capacity_t(enc, resource))
                )
    return by_pool


def share_of_limits(enc: Encoded) -> Float:
    """The largest share of what any limit leaves that one node of each offer takes."""
    share_o = np.zeros(enc.n_offers)
    for limits in limits_by_pool(enc).values():
        for limit in limits:
            share_o = np.maximum(share_o, limit.use_o / max(limit.left, 1))
    return share_o


def capacity_t(enc: Encoded, resource: str) -> Int:
    """What a node of each type takes of a limit."""
    return np.array(
        [1 if resource == NODES else kind.capacity.get(resource, 0) for kind in enc.market.types],
        dtype=np.int64,
    )


def _use(enc: Encoded, pool: int, resource: str, least: int) -> Int:
    use_o = capacity_t(enc, resource)[enc.type_o]
    if enc.origin is not None:
        # With minValues, any of the types that a row stands for may be delivered.
        use_o = enc.origin.largest_by_resource.get(resource, use_o)
    return np.where(enc.pool_o == pool, np.maximum(use_o, least), 0)


def _reservations(enc: Encoded) -> dict[int, list[int]]:
    """Offers that draw on the same reservation."""
    by_id: dict[tuple[str, int, str], list[int]] = {}
    finite = np.flatnonzero(enc.supply_o < UNLIMITED)
    for offer in finite.tolist():
        market_offer = enc.market.offers[offer]
        name = market_offer.offering.reservation_id
        place = (name, -1, "") if name else ("", market_offer.type, market_offer.offering.zone)
        by_id.setdefault(place, []).append(offer)
    return {offer: same for same in by_id.values() for offer in same}
