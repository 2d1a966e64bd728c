"""Gives a common node to pods that must share one (affinity by hostname).

A pod with required affinity at host level needs a node that runs a pod it names. The first of a
group that names itself may start anywhere; then all of them must follow to that node. A pod that
names others is given new nodes together with one of those others each.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.filling import snug_fill
from dovetail.solve.packing.units import ANY_CELL, PodUnit
from dovetail.solve.zones.quotas import ZoneState


def host_affinities(bins: Bins, unit: PodUnit) -> list[int]:
    """The host terms by which a unit wants company."""
    hosts = bins.enc.ties.hosts
    return [number for number in unit.own if hosts[number].kind == TermKind.AFFINITY]


def is_first(bins: Bins, state: ZoneState, group: int) -> bool:
    """Whether the pods of a group want company, are such company, and nobody else is anywhere."""
    ties = bins.enc.ties
    hosts = [t for t in ties.host_own_g[group] if ties.hosts[t].kind == TermKind.AFFINITY]
    zones = [t for t in ties.zone_own_g[group] if ties.zones[t].kind == TermKind.AFFINITY]
    if not hosts and not zones:
        return False
    if not set(hosts) <= set(ties.host_match_g[group]):
        return False
    if not set(zones) <= set(ties.zone_match_g[group]):
        return False
    return not any(bins.match[t, : bins.n].any() for t in hosts) and not any(
        state.match[t].any() for t in zones
    )


def without_company(bins: Bins, unit: PodUnit) -> PodUnit:
    """The same unit, as long as it may be the first of its kind."""
    wanted = host_affinities(bins, unit)
    return replace(unit, own=tuple(number for number in unit.own if number not in wanted))


def colocate(bins: Bins, units: list[PodUnit], left: Int) -> None:
    """Find nodes for units that want company on their node; `left` is counted down in place."""
    for number, unit in enumerate(units):
        if left[number] <= 0 or not host_affinities(bins, unit):
            continue
        _join(bins, units, left, number)
        while left[number] > 0 and _open_one(bins, units, left, number):
            pass


def _join(bins: Bins, units: list[PodUnit], left: Int, number: int) -> None:
    """Put pods on nodes that were just opened and have the company they want, before others fill
    those up.
    """
    span = slice(bins.n_existing, bins.n)
    if span.stop > span.start:
        left[number] -= snug_fill(bins, number, units[number], int(left[number]), span)


def _open_one(bins: Bins, units: list[PodUnit], left: Int, number: int) -> bool:
    """One more node for the unit, with the company it wants; False if there is no way."""
    unit = units[number]
    wanted = host_affinities(bins, unit)
    if all(term in unit.match for term in wanted):
        if any(bins.match[term, : bins.n].any() for term in wanted):
            return False
        return _start_on_existing(bins, units, left, number) or _start(
            bins, units, left, (number, None)
        )
    for friend, other in enumerate(units):
        if friend == number or left[friend] <= 0 or _waits_for_others(bins, other):
            continue
        meets = all(term in other.match for term in wanted)
        is_near = unit.cell in (ANY_CELL, other.cell) or other.cell == ANY_CELL
        if meets and is_near and _start(bins, units, left, (number, friend)):
            return True
    return False


def _waits_for_others(bins: Bins, unit: PodUnit) -> bool:
    """Whether pods of a unit want company themselves: two who wait for each other never start."""
    ties = bins.enc.ties
    return bool(host_affinities(bins, unit)) or any(
        ties.zones[number].kind == TermKind.AFFINITY and number not in ties.zone_match_g[group]
        for group, _ in unit.members
        for number in ties.zone_own_g[group]
    )


def _start_on_existing(bins: Bins, units: list[PodUnit], left: Int, number: int) -> bool:
    """Start on a node that is there, if it holds all of them; the snuggest of those."""
    span = slice(0, bins.n)
    room = bins.room(without_company(bins, units[number]), span)
    nodes = np.flatnonzero(room >= left[number])
    if not len(nodes):
        return False
    scale = np.maximum(bins.free[:2, span].max(axis=1, keepdims=True), 1)
    snug = (bins.free[:2, nodes] / scale).sum(axis=0)
    node = nodes[np.lexsort((nodes, snug))[:1]]
    bins.put(number, units[number], node, np.array([left[number]]))
    left[number] = 0
    return True


def _start(bins: Bins, units: list[PodUnit], left: Int, pair: tuple[int, int | None]) -> bool:
    number, friend = pair
    unit = units[number]
    allowed = bins.limits.open_offers() & bins.fits_new(unit)
    spare = bins.enc.cap_or
    if friend is not None:
        other = units[friend]
        allowed &= bins.fits_new(other)
        spare = spare - other.request
    many = _fit_into_spare(unit, int(left[number]), spare)
    candidates = np.flatnonzero(allowed & (many > 0))
    if not len(candidates):
        return False
    n_friends = 1 if friend is None else int(left[friend])
    need = min(-(-int(left[number]) // n_friends), int(many[candidates].max()))
    fine = allowed & (many >= need)
    if n_friends == 1:
        fine = _with_followers(bins, units, left, pair, (fine, spare))
    candidates = np.flatnonzero(fine)
    most = many[candidates]
    cost = bins.enc.plan_price_o[candidates] / most
    span = bins.open(int(candidates[np.lexsort((candidates, cost))[0]]), 1)
    return _fill(bins, units, left, (pair, span))


def _fit_into_spare(unit: PodUnit, count: int, spare_or: Int) -> Int:
    """How many of so many pods of a unit would fit into what offers have to spare."""
    many = np.full(len(spare_or), np.int64(count))
    for resource, asked in enumerate(unit.request.tolist()):
        if asked > 0:
            many = np.minimum(many, spare_or[:, resource] // asked)
    return many


def _with_followers(
    bins: Bins,
    units: list[PodUnit],
    left: Int,
    pair: tuple[int, int | None],
    offers: tuple[Bool, Int],
) -> Bool:
    """The offers that would also hold everybody else who must come to this node, since no other has
    the company they want; if none would, the offers as they are.
    """
    number, friend = pair
    fine, spare = offers
    company = units[number] if friend is None else units[friend]
    spare = spare - units[number].request * int(left[number])
    for other, unit in enumerate(units):
        wanted = host_affinities(bins, unit)
        is_follower = left[other] > 0 and wanted and all(term in company.match for term in wanted)
        if other in pair or not is_follower:
            continue
        spare = spare - unit.request * int(left[other])
        with_it = fine & bins.fits_new(unit) & ((spare >= 0) | (unit.request == 0)).all(axis=1)
        fine = with_it if with_it.any() else fine
    return fine


def _fill(
    bins: Bins, units: list[PodUnit], left: Int, start: tuple[tuple[int, int | None], slice]
) -> bool:
    """Put a friend (or the first of its kind) on the new node, then as many as follow."""
    (number, friend), span = start
    unit, node = units[number], np.array([span.start])
    opener = without_company(bins, unit) if friend is None else units[friend]
    first = number if friend is None else friend
    if bins.room(opener, span)[0] < 1:
        bins.close_last()
        return False
    bins.put(first, units[first], node, np.array([1]))
    left[first] -= 1
    room = min(int(bins.room(unit, span)[0]), int(left[number]))
    if room <= 0 and friend is not None:
        bins.log.pop()
        bins.shift(units[first], node, np.array([-1]))
        left[first] += 1
        bins.close_last()
        return False
    if room > 0:
        bins.put(number, unit, node, np.array([room]))
        left[number] -= room
    return True
