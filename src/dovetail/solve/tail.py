"""How are the last few pods packed, one node at a time?

For every offer at once, fill an empty node greedily in several orders; open the one that holds the
most value for its price; repeat. Value comes from the program's multipliers, floored so that pods
which ride in slack still count for something.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.bins import Bins
from dovetail.solve.encode import Encoded
from dovetail.solve.units import ANY_CELL, ANY_WEIGHT, Unit

_LOOKED_AT: Final = 48  # units that one look considers; the rest join when the node is filled


def pack_tail(bins: Bins, units: list[Unit], left: Int, offers: Int, worth_u: Float) -> None:
    """Place everything that is left, as far as anything takes it and limits allow."""
    enc = bins.enc
    mean = np.maximum(enc.cap_or[offers].mean(axis=0), 1.0) if len(offers) else None
    if mean is None:
        return
    size_u = np.array([unit.request / mean for unit in units])
    spread_u = size_u[:, 0] - size_u[:, 1]
    biggest = size_u.max(axis=1, initial=0.0)
    hopeless = np.zeros(len(units), dtype=bool)
    while True:
        waiting = np.flatnonzero((left > 0) & ~hopeless)
        if not len(waiting):
            return
        orders = [
            waiting[np.lexsort((waiting, key[waiting]))][:_LOOKED_AT]
            for key in (-biggest, -spread_u, spread_u)
        ]
        allowed = offers[bins.limits.open_offers()[offers]]
        best = _best(bins, units, left, allowed, (orders, worth_u))
        if best is None:
            hopeless[orders[0][0]] = True
            continue
        offer, order = best
        if not _open_and_fill(bins, units, left, offer, _rest_after(order, waiting, biggest)):
            hopeless[order[0]] = True  # an empty node's own daemons keep it away


def _rest_after(order: Int, waiting: Int, biggest: Float) -> Int:
    """The order, then whoever else waits, large before small."""
    others = np.setdiff1d(waiting, order)
    return np.concatenate([order, others[np.argsort(-biggest[others], kind="stable")]])


def _best(
    bins: Bins,
    units: list[Unit],
    left: Int,
    offers: Int,
    ranked: tuple[list[Int], Float],
) -> tuple[int, Int] | None:
    """The offer and order with the most value for the price; it takes the first unit of the order."""
    orders, worth_u = ranked
    best_ratio, best = 0.0, None
    price = np.maximum(bins.enc.plan_price_o[offers], 1).astype(np.float64)
    seen: set[bytes] = set()
    for order in orders:
        if order.tobytes() in seen:
            continue
        seen.add(order.tobytes())
        value = _greedy_value(bins, units, left, offers, (order, worth_u))
        ratio = value / price
        if len(ratio) and ratio.max() > best_ratio:
            best_ratio = float(ratio.max())
            best = (int(offers[int(np.argmax(ratio))]), order)
    return best


def _greedy_value(
    bins: Bins, units: list[Unit], left: Int, offers: Int, ranked: tuple[Int, Float]
) -> Float:
    """What an empty node of every offer would hold if filled in this order."""
    order, worth_u = ranked
    enc = bins.enc
    free = enc.cap_or[offers].T.copy()
    value = np.zeros(len(offers))
    for number in order.tolist():
        unit = units[number]
        count = _room(enc, unit, offers, free)
        np.minimum(count, left[number], out=count)
        if unit.own:
            np.minimum(count, _own_cap(bins, unit), out=count)
        np.maximum(count, 0, out=count)
        value += count * worth_u[number]
        free -= unit.request[:, None] * count[None, :]
    return value


def _room(enc: Encoded, unit: Unit, offers: Int, free: Int) -> Int:
    count: Int | None = None
    for resource, asked in enumerate(unit.request.tolist()):
        if asked > 0:
            fits = free[resource] // asked
            count = fits if count is None else np.minimum(count, fits)
    if count is None:
        count = np.full(len(offers), 2**30, dtype=np.int64)
    accept = enc.masks_me[unit.mask, offers]
    if unit.cell != ANY_CELL:
        accept = accept & (enc.cell_o[offers] == unit.cell)
    if unit.weight != ANY_WEIGHT:
        accept = accept & (enc.weight_o[offers] == unit.weight)
    return np.where(accept, count, 0)


def _own_cap(bins: Bins, unit: Unit) -> int:
    """How many pods of a unit an empty node takes by its own terms."""
    most = 2**30
    for number in unit.own:
        term = bins.enc.ties.hosts[number]
        if number in unit.match:
            most = min(most, term.max_skew or 1)
    return most


def _open_and_fill(bins: Bins, units: list[Unit], left: Int, offer: int, order: Int) -> bool:
    """Open one node, or as many alike as the same fill can repeat; says whether it took any pod."""
    span = bins.open(offer, 1)
    taken: list[tuple[int, int]] = []
    waiting = order[left[order] > 0]
    requests = np.array([units[number].request for number in waiting.tolist()])
    while len(waiting):
        fits = (requests <= bins.free[:, span.start]).all(axis=1)
        waiting, requests = waiting[fits], requests[fits]
        if not len(waiting):
            break
        number = int(waiting[0])
        room = min(int(bins.room(units[number], span)[0]), int(left[number]))
        if room > 0:
            bins.put(number, units[number], np.array([span.start]), np.array([room]))
            taken.append((number, room))
            left[number] -= room
        waiting, requests = waiting[1:], requests[1:]
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
