"""Which pods must share a node with others, and how do they get one?

A pod with required affinity at host level needs a node that runs a pod it names. The first of a
group that names itself may start anywhere; then all of them must follow to that node. A pod that
names others is given new nodes together with one of those others each.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.bins import Bins
from dovetail.solve.terms import Kind
from dovetail.solve.units import ANY_CELL, Unit


def host_affinities(bins: Bins, unit: Unit) -> list[int]:
    """The host terms by which a unit wants company."""
    hosts = bins.enc.ties.hosts
    return [number for number in unit.own if hosts[number].kind == Kind.AFFINITY]


def colocate(bins: Bins, units: list[Unit], left: Int, offers: Int) -> None:
    """Open nodes for units that want company on their node; `left` is counted down in place."""
    for number, unit in enumerate(units):
        wanted = host_affinities(bins, unit)
        if not wanted or left[number] <= 0:
            continue
        while left[number] > 0 and _open_one(bins, units, left, offers, number):
            pass


def _open_one(bins: Bins, units: list[Unit], left: Int, offers: Int, number: int) -> bool:
    """One more node for the unit, with the company it wants; False if there is no way."""
    unit = units[number]
    wanted = host_affinities(bins, unit)
    if all(term in unit.match for term in wanted):
        if any(bins.match[term, : bins.n].any() for term in wanted):
            return False
        return _start(bins, units, left, offers, (number, None))
    for friend, other in enumerate(units):
        meets = all(term in other.match or term in unit.match for term in wanted)
        if friend != number and left[friend] > 0 and meets and not host_affinities(bins, other):
            if unit.cell in (ANY_CELL, other.cell) or other.cell == ANY_CELL:
                if _start(bins, units, left, offers, (number, friend)):
                    return True
    return False


def _start(
    bins: Bins, units: list[Unit], left: Int, offers: Int, pair: tuple[int, int | None]
) -> bool:
    number, friend = pair
    unit = units[number]
    allowed = bins.limits.open_offers() & _fits(bins, unit)
    spare = bins.enc.cap_or
    if friend is not None:
        other = units[friend]
        allowed &= bins.fits_new(other)
        spare = spare - other.request
    many = np.full(bins.enc.n_offers, np.int64(left[number]))
    for resource, asked in enumerate(unit.request.tolist()):
        if asked > 0:
            many = np.minimum(many, spare[:, resource] // asked)
    candidates = np.flatnonzero(allowed & (many > 0))
    if not len(candidates):
        return False
    del offers
    most = many[candidates]
    if friend is None:
        candidates, most = candidates[most == most.max()], most[most == most.max()]
    cost = bins.enc.plan_price_o[candidates] / most
    offer = int(candidates[np.lexsort((candidates, cost))[0]])
    span = bins.open(offer, 1)
    node = np.array([span.start])
    if friend is not None:
        bins.put(friend, units[friend], node, np.array([1]))
        left[friend] -= 1
    else:
        # The first of its kind may start without company.
        bins.put(number, unit, node, np.array([1]))
        left[number] -= 1
    room = min(int(bins.room(unit, span)[0]), int(left[number]))
    if room > 0:
        bins.put(number, unit, node, np.array([room]))
        left[number] -= room
    return friend is None or room > 0


def _fits(bins: Bins, unit: Unit) -> np.ndarray:
    return bins.fits_new(unit)
