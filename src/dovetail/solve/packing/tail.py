"""Packs the last few pods, one node at a time.

For every offer at once, fill an empty node greedily in several orders; open the one that holds the
most value for its price; repeat. Value comes from the program's multipliers, floored so that pods
which ride in slack still count for something.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.kernel import loading, loops
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT, PodUnit

_LOOKED_AT: Final = 48  # units that one look considers; the rest join when the node is filled
_MANY_OFFERS: Final = 2000  # beyond that, a shortlist is made
_BEST_OFFERS: Final = 16  # for each unit
_MATTERS: Final = 0.02  # of all that is left; less waste is not worth another node
_HOLLOW: Final = 0.2  # pods worth less of a node's price than this have no worth to go by
_WELL_FILLED: Final = 0.8  # of its price; a unit that fills a node so far needs no company
_PLENTY: Final = np.int64(2**30)


@dataclass(slots=True)
class _Table:
    """Units (u, by place) against shortlisted offers (p)."""

    numbers: Int  # the units that wait
    offers: Int
    cap_rp: Float
    request_ur: Int
    accept_up: Bool
    cap_u: Int  # how many pods an empty node takes by the unit's own terms
    worth_u: Float
    price_p: Float
    cell_p: Int
    requests: tuple[Float, Float, Float] = field(init=False)  # as they are, inverse, and padding
    most_u: Float = field(init=False)  # scratch: how many pods of each a node takes by now
    scan: loops.OfferScan | None = field(init=False)

    def __post_init__(self) -> None:
        """Work out what every look needs."""
        request = self.request_ur.astype(np.float64)
        inverse = np.where(request > 0, 1.0 / np.maximum(request, 1.0), 0.0)
        self.requests = (request, inverse, np.where(request > 0, 1e-9, float(_PLENTY)))
        self.most_u = np.zeros(len(request))
        library, self.scan = loading.library(), None
        if library is not None:
            self.scan = loops.OfferScan(
                library,
                self.accept_up,
                self.cap_rp,
                self.cell_p,
                request=request,
                inverse=inverse,
                most=self.most_u,
                worth=self.worth_u,
            )


def pack_tail(bins: Bins, units: list[PodUnit], left: Int, offers: Int, worth_u: Float) -> None:
    """Place everything that is left, as far as anything takes it and limits allow."""
    waiting = np.flatnonzero(left)
    if not len(offers) or not len(waiting):
        return
    table = _table(bins, units, left, offers, (waiting, worth_u))
    mean = np.maximum(bins.enc.cap_or[offers].mean(axis=0), 1.0)
    size_ur = table.request_ur / mean
    biggest = size_ur.max(axis=1, initial=0.0)
    lean = size_ur[:, 0] - size_ur[:, 1]
    ranked = [np.argsort(key, kind="stable") for key in (-biggest, -lean, lean)]
    is_hopeless = np.zeros(len(waiting), dtype=bool)
    first = _Hard(table, left)
    compiled = bins.compiled_form([units[number] for number in waiting.tolist()])
    codes = None if compiled is None else np.array(compiled[1])
    while True:
        waits = (left[waiting] > 0) & ~is_hopeless
        if not waits.any():
            return
        orders = np.array([rank[waits[rank]][:_LOOKED_AT] for rank in ranked])
        is_open = bins.limits.open_offers()[table.offers]
        hard = first.next_one(left, np.flatnonzero(waits))
        if hard is None:
            best = _best(table, left, orders, is_open)
        else:
            is_open &= table.accept_up[hard]
            best = _least_wasteful(table, left, _orders_led_by(hard, orders), is_open)
        if best is None:
            is_hopeless[orders[0][0]] |= hard is None
            continue
        offer, order = best
        waits[order] = False
        order = np.concatenate([order, ranked[0][waits[ranked[0]]]])
        if not _open_and_fill(bins, units, left, offer, (waiting, order, codes)):
            # Its daemons keep the pods away that it was opened for, or they lack company.
            takes_u = table.accept_up[order][:, table.offers == offer].any(axis=1)
            is_hopeless[order[takes_u][0]] = True


def _orders_led_by(first: int, orders: Int) -> Int:
    """The same orders, with one unit before all others."""
    rows = [[first, *(unit for unit in order if unit != first)] for order in orders.tolist()]
    width = min(len(row) for row in rows)
    return np.array([row[:width] for row in rows])


class _Hard:
    """Units that fill no node well by themselves: their nodes are opened first, while there are
    others to fill the rest of them.
    """

    def __init__(self, table: _Table, left: Int) -> None:
        self._table = table
        self._least = _MATTERS * float(left[table.numbers] @ table.worth_u)
        cheapest = np.where(table.accept_up, table.price_p[None, :], np.inf).min(axis=1)
        self._is_past = cheapest <= self._least

    def next_one(self, left: Int, here: Int) -> int | None:
        """The unit that would waste most by itself, each only once; None if there is no more."""
        here = here[~self._is_past[here]]
        if not len(here):
            return None
        table, left_u = self._table, left[self._table.numbers[here]]
        most = np.minimum(table.cap_u[here], left_u)[:, None]
        fit = _fit_counts(table.requests[0][here], table.cap_rp)
        count = np.minimum(fit, most) * table.accept_up[here]
        value = count * table.worth_u[here][:, None]
        every, best = np.arange(len(here)), np.argmax(value / table.price_p[None, :], axis=1)
        value, price = value[every, best], table.price_p[best]
        is_easy = (value > _WELL_FILLED * price) | (value < _HOLLOW * price)
        is_easy |= count[every, best] < left_u
        self._is_past[here[is_easy]] = True
        waste = np.where(is_easy, 0.0, price - value)
        worst = int(np.argmax(waste))
        if waste[worst] <= self._least:
            return None
        self._is_past[here[worst]] = True
        return int(here[worst])


def _table(
    bins: Bins, units: list[PodUnit], left: Int, offers: Int, queue: tuple[Int, Float]
) -> _Table:
    """The waiting units, and the offers that are best for some of them."""
    waiting, worth_u = queue
    enc = bins.enc
    mine = [units[number] for number in waiting.tolist()]
    request = np.array([unit.request for unit in mine])
    accept = _acceptance(enc, mine, offers)
    for resource in range(request.shape[1]):
        asked = request[:, resource][:, None]
        accept &= (asked <= enc.cap_or[offers, resource][None, :]) | (asked == 0)
    cap_u = np.array([_own_cap(bins, unit) for unit in mine])
    price = np.maximum(enc.plan_price_o[offers], 1).astype(np.float64)
    short = np.arange(len(offers))
    if len(offers) > _MANY_OFFERS:
        most = np.minimum(left[waiting], cap_u)[:, None]
        fit = _fit_counts(request.astype(np.float64), enc.cap_or[offers].T.astype(np.float64))
        good = np.minimum(fit, most) / price[None, :]
        ranked = np.argsort(-np.where(accept, good, 0.0), axis=1, kind="stable")[:, :_BEST_OFFERS]
        alone = np.where(accept, price[None, :], np.inf).argmin(axis=1)
        short = np.unique(np.concatenate([ranked.reshape(-1), alone]))
    return _Table(
        numbers=waiting,
        offers=offers[short],
        cap_rp=np.ascontiguousarray(enc.cap_or[offers[short]].T.astype(np.float64)),
        request_ur=request,
        accept_up=np.ascontiguousarray(accept[:, short]),
        cap_u=cap_u,
        worth_u=worth_u[waiting],
        price_p=price[short],
        cell_p=enc.cell_o[offers[short]],
    )


def _acceptance(enc: Encoded, units: list[PodUnit], offers: Int) -> Bool:
    """units x offers: who takes whom, whatever its size; worked out once for units alike in it."""
    row_of: dict[tuple[int, int, int], int] = {}
    row_u = [row_of.setdefault((unit.mask, unit.cell, unit.weight), len(row_of)) for unit in units]
    mask, cell, weight = np.array(list(row_of)).T[:, :, None]
    accept: Bool = enc.masks_me[mask, offers]
    accept &= (cell == ANY_CELL) | (enc.cell_o[offers] == cell)
    accept &= (weight == ANY_WEIGHT) | (enc.weight_o[offers] == weight)
    every: Bool = accept[row_u]
    return every


def _fit_counts(request_ur: Float, cap_rp: Float) -> Float:
    """units x offers: how many pods an empty node takes; exact, since no amount is beyond 2**53."""
    fit = np.full((len(request_ur), cap_rp.shape[1]), float(_PLENTY))
    for asked_u, cap_p in zip(request_ur.T, cap_rp, strict=True):
        # Nobody asks for less than one of anything; who asks for none has plenty.
        share = cap_p[None, :] / np.where(asked_u > 0, asked_u, np.nan)[:, None]
        np.fmin(fit, np.floor(share, out=share), out=fit)
    np.maximum(fit, 0.0, out=fit)
    return fit


def _best(table: _Table, left: Int, orders: Int, is_open: Bool) -> tuple[int, Int] | None:
    """The offer and order with the most value for the price."""
    value = _greedy_value(table, left, orders)
    ratio = np.where(is_open[None, :], value / table.price_p[None, :], 0.0)
    order, place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    if ratio[order, place] <= 0:
        return None
    return int(table.offers[place]), orders[order]


def _least_wasteful(table: _Table, left: Int, orders: Int, is_open: Bool) -> tuple[int, Int] | None:
    """The offer and order that leave the least of the price unused."""
    waste = table.price_p[None, :] - _greedy_value(table, left, orders)
    waste = np.where(is_open[None, :], waste, np.inf)
    order, place = np.unravel_index(int(np.argmin(waste)), waste.shape)
    if not np.isfinite(waste[order, place]):
        return None
    return int(table.offers[place]), orders[order]


def _greedy_value(table: _Table, left: Int, orders: Int) -> Float:
    """orders x offers: what an empty node would hold if filled in this order.

    An estimate that only ranks offers, so floating point is good enough, and much faster.
    """
    table.most_u[:] = np.minimum(left[table.numbers], table.cap_u)
    if table.scan is not None:
        return table.scan.values(np.ascontiguousarray(orders))
    free = np.repeat(table.cap_rp[None, :, :], len(orders), axis=0)
    value = np.zeros((len(orders), len(table.offers)))
    request, inverse, padding = (array[orders] for array in table.requests)  # x turns x resources
    most, worth = table.most_u[orders], table.worth_u[orders]
    accept = table.accept_up.astype(np.float64)
    for turn in range(orders.shape[1]):
        count = free * inverse[:, turn, :, None]
        count += padding[:, turn, :, None]
        filled = np.minimum(count.min(axis=1), most[:, turn, None])
        np.floor(filled, out=filled)
        np.maximum(filled, 0.0, out=filled)
        filled *= accept[orders[:, turn]]
        value += filled * worth[:, turn, None]
        free -= request[:, turn, :, None] * filled[:, None, :]
    return value


def _own_cap(bins: Bins, unit: PodUnit) -> int:
    """How many pods of a unit an empty node takes by its own terms."""
    most = int(_PLENTY)
    for number in unit.own:
        term = bins.enc.ties.hosts[number]
        if number in unit.match:
            most = min(most, term.max_skew or 1)
    return most


def _open_and_fill(
    bins: Bins, units: list[PodUnit], left: Int, offer: int, queued: tuple[Int, Int, Int | None]
) -> bool:
    """Open one node, or as many alike as the same fill can repeat; says whether it took any pod.

    `queued`: who waits, in which order they come, and the same for the compiled loops.
    """
    span = bins.open(offer, 1)
    taken = _fill_one(bins, units, left, span.start, queued)
    if not taken:
        bins.close_last()
        return False
    again = min((int(left[number]) // count for number, count in taken), default=0)
    again = min(again, bins.limits.most(offer))
    if again > 0:
        more = bins.open(offer, again)
        nodes = np.arange(more.start, more.stop)
        for number, count in taken:
            bins.put(number, units[number], nodes, np.full(again, count))
            left[number] -= again * count
    return True


def _fill_one(
    bins: Bins, units: list[PodUnit], left: Int, node: int, queued: tuple[Int, Int, Int | None]
) -> list[tuple[int, int]]:
    """Fill a node with what waits, in order; says how many of whom it took."""
    everybody, order, codes = queued
    waiting = everybody[order]
    queue = None if codes is None else (codes[0][order], codes[1][order])
    taken = bins.fill_one(left, node, waiting, queue)
    if taken is not None:
        return taken
    taken = []
    span = slice(node, node + 1)
    requests = np.array([units[number].request for number in waiting.tolist()])
    while len(waiting):
        fits = (requests <= bins.free[:, node]).all(axis=1)
        waiting, requests = waiting[fits], requests[fits]
        if not len(waiting):
            break
        number = int(waiting[0])
        room = min(int(bins.room(units[number], span)[0]), int(left[number]))
        if room > 0:
            bins.put(number, units[number], np.array([node]), np.array([room]))
            taken.append((number, room))
            left[number] -= room
        waiting, requests = waiting[1:], requests[1:]
    return taken
