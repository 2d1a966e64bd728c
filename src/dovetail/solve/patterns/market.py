"""Sorts of pods, and the nodes that take each, as arrays for patterns."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from dovetail.solve.axes import UNLIMITED, Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT, PodUnit
from dovetail.solve.patterns.knapsack import Items, as_numbers

_DOUBLINGS: Final = 2.0  # of size, from the smallest node of a segment to the largest


@dataclass(frozen=True, slots=True)
class MarketSegment:
    """Kinds of nodes of about one size that take the same sorts, none of them pointless."""

    rows: Int  # the sorts, by their places in the market
    items: Items
    offers: Int
    cap_or: Int
    price_o: Int
    bounded_or: Float = field(init=False)  # capacities, for `simple_bounds`

    def __post_init__(self) -> None:
        """Work out what every round needs."""
        object.__setattr__(self, "bounded_or", as_numbers(self.cap_or))


@dataclass(frozen=True, slots=True)
class PatternMarket:
    """Sorts of pods with their counts (s), and segments of nodes for them."""

    count_s: Int
    request_sr: Int
    segments: tuple[MarketSegment, ...]


def pattern_market(
    enc: Encoded, units: Sequence[PodUnit], count_s: Int, offers: Int
) -> PatternMarket:
    """The market for pods of these units, at the prices that plans compare."""
    accept_so = acceptance(enc, units, offers)
    return market_of(enc, units, count_s, (offers, enc.plan_price_o[offers], accept_so))


def market_of(
    enc: Encoded,
    units: Sequence[PodUnit],
    count_s: Int,
    nodes: tuple[Int, Int, Bool],
    *,
    is_spread_capped: bool = True,
) -> PatternMarket:
    """The market for pods of these units. `nodes`: offers, their prices, and who takes whom."""
    offers, price_o, accept_so = nodes
    kinds = (
        (TermKind.ANTI, TermKind.PORT, TermKind.SPREAD)
        if is_spread_capped
        else (TermKind.ANTI, TermKind.PORT)
    )
    request_sr, cap_or, most_s = with_caps(enc, units, offers, kinds)
    most_s = np.minimum(most_s, count_s)
    sizes = (request_sr, cap_or, most_s)
    segments = _segments((offers, price_o), sizes, (accept_so, apart(enc, units)))
    return PatternMarket(count_s, request_sr, segments)


def with_caps(
    enc: Encoded, units: Sequence[PodUnit], offers: Int, kinds: Container[TermKind]
) -> tuple[Int, Int, Int]:
    """Requests and capacities with a column for each cap on pods of a node, as far as terms of
    these kinds set one, and how many pods of each sort a node takes whatever its size.
    """
    most = np.full(len(units), UNLIMITED)
    members: dict[int, list[int]] = {}
    for place, unit in enumerate(units):
        for term in set(unit.own) & set(unit.match):
            if enc.ties.hosts[term].kind in kinds:
                members.setdefault(term, []).append(place)
    requests = [np.array([unit.request for unit in units], dtype=np.int64)]
    caps = [np.maximum(enc.cap_or[offers], 0)]
    for term, places in sorted(members.items()):
        host = enc.ties.hosts[term]
        cap = host.max_skew if host.kind == TermKind.SPREAD else 1
        most[places] = np.minimum(most[places], cap)
        column = np.zeros((len(units), 1), dtype=np.int64)
        column[places] = 1
        requests.append(column)
        caps.append(np.full((len(offers), 1), cap, dtype=np.int64))
    return np.concatenate(requests, axis=1), np.concatenate(caps, axis=1), most


def acceptance(enc: Encoded, units: Sequence[PodUnit], offers: Int) -> Bool:
    """units x offers: labels, taints, cell and weight."""
    accept = enc.masks_me[[unit.mask for unit in units]][:, offers]
    for place, unit in enumerate(units):
        if unit.cell != ANY_CELL:
            accept[place] &= enc.cell_o[offers] == unit.cell
        if unit.weight != ANY_WEIGHT:
            accept[place] &= enc.weight_o[offers] == unit.weight
    return accept


def apart(enc: Encoded, units: Sequence[PodUnit]) -> Bool:
    """sorts x sorts: whether anti-affinity or a host port keeps them from sharing a node."""
    apart_uu = np.zeros((len(units), len(units)), dtype=bool)
    owners: dict[int, list[int]] = {}
    for place, unit in enumerate(units):
        for term in unit.own:
            if enc.ties.hosts[term].kind in (TermKind.ANTI, TermKind.PORT):
                owners.setdefault(term, []).append(place)
    for place, unit in enumerate(units):
        for term in unit.match:
            apart_uu[place, owners.get(term, [])] = True
    apart_uu |= apart_uu.T
    np.fill_diagonal(apart_uu, val=False)
    return apart_uu


def _segments(
    nodes: tuple[Int, Int], sizes: tuple[Int, Int, Int], between: tuple[Bool, Bool]
) -> tuple[MarketSegment, ...]:
    offers, price_o = nodes
    if not len(offers):
        return ()
    request_sr, cap_or, most_s = sizes
    accept_so, apart_ss = between
    packed, number_o = np.unique(np.packbits(accept_so, axis=0).T, axis=0, return_inverse=True)
    number_o = number_o.reshape(-1)
    size_s = (request_sr / np.maximum(cap_or.mean(axis=0), 1.0)).max(axis=1, initial=0.0)
    segments = []
    for number in range(len(packed)):
        inside = np.flatnonzero(number_o == number)
        rows = np.flatnonzero(accept_so[:, inside[0]])
        if not len(rows):
            continue
        rows = rows[np.lexsort((rows, -size_s[rows]))]
        useful_r = (request_sr[rows] * most_s[rows][:, None]).sum(axis=0)
        cap = np.minimum(cap_or[inside], useful_r)
        for some in _by_size(cap, _undominated_rows(cap, price_o[inside])):
            mine = rows[((request_sr[rows] <= cap[some].max(axis=0)).all(axis=1))]
            if not len(mine):
                continue
            items = Items(
                np.ascontiguousarray(request_sr[mine]),
                _most_on_any(request_sr[mine], most_s[mine], cap[some]),
                np.ascontiguousarray(apart_ss[np.ix_(mine, mine)]),
            )
            chosen = inside[some]
            segments.append(MarketSegment(mine, items, offers[chosen], cap[some], price_o[chosen]))
    return tuple(segments)


def _by_size(cap_or: Int, kept: Int) -> list[Int]:
    """The kept nodes in classes of about one size: a grid for large nodes is too coarse for small
    ones.
    """
    cpu = np.maximum(cap_or[kept, 0], 1)
    class_k = np.floor(np.log2(cpu / cpu.min()) / _DOUBLINGS + 1e-9).astype(np.int64)
    return [kept[class_k == size] for size in np.unique(class_k).tolist()]


def _most_on_any(request_sr: Int, most_s: Int, cap_or: Int) -> Int:
    """How many pods of each sort the largest node takes."""
    most = most_s.copy()
    for resource in range(request_sr.shape[1]):
        asked = request_sr[:, resource]
        fit = int(cap_or[:, resource].max()) // np.maximum(asked, 1)
        most = np.where(asked > 0, np.minimum(most, fit), most)
    return np.maximum(most, 1)


def _undominated_rows(cap_or: Int, price_o: Int) -> Int:
    """The nodes than which no other has at least as much of everything for no more money."""
    order = np.lexsort((*(-cap_or.T[::-1]), price_o))
    kept: list[int] = []
    for offer in order.tolist():
        if not kept or not (cap_or[kept] >= cap_or[offer]).all(axis=1).any():
            kept.append(offer)
    return np.array(kept, dtype=np.int64)
