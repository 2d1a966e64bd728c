"""Is there a cheaper offer that would hold what a node holds?"""

from __future__ import annotations

import numpy as np

from dovetail.solve.attempt import Attempt
from dovetail.solve.axes import Bool, Int
from dovetail.solve.bins import EXISTING
from dovetail.solve.decode import loads
from dovetail.solve.terms import Kind
from dovetail.solve.ties import sights
from dovetail.solve.units import ANY_CELL


def right_size(attempt: Attempt) -> None:
    """Give every new node the cheapest offer that holds its pods, in its cell if they need that."""
    enc, bins = attempt.enc, attempt.bins
    offers = attempt.offers
    memo: dict[tuple[tuple[int, ...], int, int], Bool] = {}
    domains = _Domains(attempt)
    for node, held in loads(attempt).items():
        offer = int(bins.offer[node])
        if offer == EXISTING:
            continue
        masks = tuple(sorted({attempt.units[number].mask for number in held}))
        pinned = any(attempt.units[number].cell != ANY_CELL for number in held)
        cell = int(bins.cell[node]) if pinned else ANY_CELL
        weight = int(enc.weight_o[offer])
        key = (masks, cell, weight)
        if key not in memo:
            accept = enc.masks_me[list(masks)][:, offers].all(axis=0)
            accept &= enc.weight_o[offers] == weight
            if pinned:
                accept &= enc.cell_o[offers] == cell
            memo[key] = accept
        used = enc.cap_or[offer] - bins.free[:, node]
        fits = memo[key] & (enc.cap_or[offers] >= used).all(axis=1)
        price = np.where(fits, enc.plan_price_o[offers], enc.plan_price_o[offer])
        best = int(np.argmin(price))
        if price[best] < enc.plan_price_o[offer] and not domains.may_move(offer, offers[best]):
            fits &= domains.is_alike(offer, offers)
            price = np.where(fits, enc.plan_price_o[offers], enc.plan_price_o[offer])
            best = int(np.argmin(price))
        if price[best] < enc.plan_price_o[offer] and swap(attempt, node, int(offers[best])):
            domains.move(offer, int(offers[best]))


class _Domains:
    """How many new nodes of each sight (who counts them) each cell has, where spreads count
    domains: a node that moves must neither open a domain nor close one.
    """

    def __init__(self, attempt: Attempt) -> None:
        enc, bins = attempt.enc, attempt.bins
        self._enc = enc
        self._matters = any(term.kind == Kind.SPREAD for term in enc.ties.zones)
        self._sight_o = sights(enc.ties, enc.n_offers)
        n_sights = int(self._sight_o.max(initial=0)) + 1
        self._count = np.zeros((n_sights, len(enc.ties.domains_ck)), dtype=np.int64)
        new = slice(bins.n_existing, bins.n)
        live = bins.offer[new][~bins.dead[new]]
        np.add.at(self._count, (self._sight_o[live], enc.cell_o[live]), 1)

    def may_move(self, old: int, new: int) -> bool:
        """Whether a node of one offer may become one of another."""
        here, there = self._places(old, new)
        if not self._matters or here == there:
            return True
        return bool(self._count[here] > 1 and self._count[there] > 0)

    def is_alike(self, offer: int, offers: Int) -> Bool:
        """The offers whose nodes stand in the same cell and are counted by the same spreads."""
        cell_o, sight_o = self._enc.cell_o, self._sight_o
        alike: Bool = (cell_o[offers] == cell_o[offer]) & (sight_o[offers] == sight_o[offer])
        return alike

    def move(self, old: int, new: int) -> None:
        """A node of one offer has become one of another."""
        here, there = self._places(old, new)
        self._count[here] -= 1
        self._count[there] += 1

    def _places(self, old: int, new: int) -> tuple[tuple[int, int], tuple[int, int]]:
        sight_o, cell_o = self._sight_o, self._enc.cell_o
        return (int(sight_o[old]), int(cell_o[old])), (int(sight_o[new]), int(cell_o[new]))


def swap(attempt: Attempt, node: int, offer: int) -> bool:
    """Make a node one of another offer, if limits and daemon sets allow; says whether they did."""
    enc, bins = attempt.enc, attempt.bins
    old = int(bins.offer[node])
    bins.limits.take(old, -1)
    if bins.limits.most(offer) < 1 or not bins.same_daemons(old, offer):
        bins.limits.take(old, 1)
        return False
    bins.limits.take(offer, 1)
    bins.free[:, node] += enc.cap_or[offer] - enc.cap_or[old]
    bins.offer[node] = offer
    bins.cell[node] = enc.cell_o[offer]
    bins.weight[node] = enc.weight_o[offer]
    bins.accept[:, node] = enc.masks_me[:, offer]
    return True
