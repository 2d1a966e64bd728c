"""Replaces the offer of each node by the cheapest one that holds the same pods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.kernel import loading, loops
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.contents import kinds_by_node
from dovetail.solve.packing.units import ANY_CELL


def right_size(attempt: Attempt) -> None:
    """Give every new node the cheapest offer that holds its pods, in its cell if they need that."""
    enc, bins = attempt.enc, attempt.bins
    nodes = _nodes(attempt)
    if not len(nodes.numbers):
        return
    price_o = enc.plan_price_o
    domains = _Domains(attempt)
    offer_n = bins.offer[nodes.numbers]
    first_n = nodes.cheapest(enc)
    best_n = np.where(first_n < 0, offer_n, nodes.offers[first_n])
    for place in np.flatnonzero(price_o[best_n] < price_o[offer_n]).tolist():
        node, old, best = int(nodes.numbers[place]), int(offer_n[place]), int(best_n[place])
        if not domains.may_move(old, best):
            fits = nodes.fitting_offers(enc, place) & domains.is_alike(old, nodes.offers)
            price = np.where(fits, price_o[nodes.offers], price_o[old])
            best = int(nodes.offers[np.argmin(price)]) if price.min() < price_o[old] else old
        if best != old and not swap(attempt, node, best):
            fits = nodes.fitting_offers(enc, place) & domains.open_to(old, nodes.offers)
            best = _within_limits(attempt, old, fits, nodes.offers)
            best = best if best != old and swap(attempt, node, best) else old
        if best != old:
            domains.move(old, best)


def _within_limits(attempt: Attempt, old: int, fits: Bool, offers: Int) -> int:
    """The cheapest of the fitting offers that limits leave in place of the old one; that one if
    none is cheaper. Offers come cheapest first.
    """
    enc, limits = attempt.enc, attempt.bins.limits
    if not limits.are_finite:
        return old
    limits.take(old, -1)
    is_open = limits.open_offers()
    limits.take(old, 1)
    cheaper = fits & is_open[offers] & (enc.plan_price_o[offers] < enc.plan_price_o[old])
    return int(offers[np.argmax(cheaper)]) if cheaper.any() else old


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The new nodes that hold pods, what of them is used, and which offers would do."""

    numbers: Int
    used_nr: Int
    row_n: Int  # a row of `accept_xp`
    accept_xp: Bool
    offers: Int  # cheapest first

    def fitting_offers(self, enc: Encoded, place: int) -> Bool:
        """The offers that would hold what one node holds."""
        room: Bool = np.all(enc.cap_or[self.offers] >= self.used_nr[place], axis=1)
        fits: Bool = self.accept_xp[self.row_n[place]] & room
        return fits

    def cheapest(self, enc: Encoded) -> Int:
        """The place of the cheapest offer that would hold what each node holds, or -1."""
        library = loading.library()
        if library is not None:
            cap = np.ascontiguousarray(enc.cap_or[self.offers])
            return loops.first_fit(library, self.row_n, self.used_nr, self.accept_xp, cap)
        fits = (self.fitting_offers(enc, place) for place in range(len(self.numbers)))
        return np.array([int(np.argmax(fit)) if fit.any() else -1 for fit in fits], dtype=np.int64)


def _nodes(attempt: Attempt) -> _Nodes:
    enc, bins = attempt.enc, attempt.bins
    order = np.lexsort((attempt.offers, enc.plan_price_o[attempt.offers]))
    offers = attempt.offers[order]
    mask_u = np.array([unit.mask for unit in attempt.units], dtype=np.int64)
    cell_u = np.array([unit.cell for unit in attempt.units], dtype=np.int64)
    row_of: dict[tuple[tuple[int, ...], int, int], int] = {}
    rows, numbers = [], []
    n_masks = len(enc.masks_me)
    kind_u = np.where(cell_u == ANY_CELL, mask_u, mask_u + n_masks)
    for node, kinds in kinds_by_node(bins.log, kind_u):
        offer = int(bins.offer[node])
        if offer == EXISTING:
            continue
        cell = int(bins.cell[node]) if kinds[-1] >= n_masks else ANY_CELL
        masks = tuple(sorted({kind % n_masks for kind in kinds}))
        key = (masks, cell, int(enc.weight_o[offer]))
        rows.append(row_of.setdefault(key, len(row_of)))
        numbers.append(node)
    accept = np.empty((len(row_of), len(offers)), dtype=bool)
    masks_mp = enc.masks_me[:, offers]
    for (masks, cell, weight), row in row_of.items():
        accept[row] = masks_mp[list(masks)].all(axis=0)
        accept[row] &= enc.weight_o[offers] == weight
        if cell != ANY_CELL:
            accept[row] &= enc.cell_o[offers] == cell
    place = np.array(numbers, dtype=np.int64)
    used = enc.cap_or[bins.offer[place]] - bins.free[:, place].T
    return _Nodes(place, np.ascontiguousarray(used), np.array(rows, dtype=np.int64), accept, offers)


class _Domains:
    """How many new nodes of each sight (who counts them) each cell has, where spreads count
    domains: a node that moves must neither open a domain nor close one.
    """

    def __init__(self, attempt: Attempt) -> None:
        enc, bins = attempt.enc, attempt.bins
        self._enc = enc
        self._matters = any(term.kind == TermKind.SPREAD for term in enc.ties.zones)
        self._sight_o = enc.sight_o
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

    def open_to(self, offer: int, offers: Int) -> Bool:
        """The offers to which a node may change whatever the others of its domain do."""
        return self.is_alike(offer, offers) if self._matters else np.ones(len(offers), dtype=bool)

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
