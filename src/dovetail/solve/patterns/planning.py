"""Loads for all pods of a draft, by patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from dovetail.solve.axes import UNLIMITED, Float, Int
from dovetail.solve.packing.attempt import Attempt, worth_of
from dovetail.solve.packing.units import ANY_CELL, PodUnit
from dovetail.solve.patterns.dive import DiveDepth, dive
from dovetail.solve.patterns.generation import Generator
from dovetail.solve.patterns.market import PatternMarket, pattern_market
from dovetail.solve.patterns.master import Master
from dovetail.solve.patterns.proof import kind_of
from dovetail.solve.patterns.uniform import uniform_nodes
from dovetail.solve.search.improve import Improver, LoadLayout
from dovetail.solve.search.rates import NO_LOAD, NO_WAY, Rates, Site

_MOST_SORTS: Final = 60
CLOSE: Final = 0.006  # of the price: where a plan is so near its bound, there is little to gain
_ROUNDS, _FEW_ROUNDS = 80, 20  # of generation, for many pods and for few
_DIVE_ROUNDS, _FEW_DIVE_ROUNDS = 2, 1
_WORK: Final = 5_000_000  # cells of tables, for each unit of effort
_MORE_WORK: Final = 40_000  # for each pod beyond a few; half as much again for the dive
_TOO_FEW: Final = 12  # pods: other ways to search find by themselves what patterns would say
FEW_PODS: Final = 300  # a plan for so many is as cheap as can be, however many nodes that takes
NEAR: Final = 1.01  # times the lower bound: so much larger plans may cost to have fewer nodes
_MANY_PODS: Final = 1_000
_MOST_VECTORS: Final = 3


def pattern_loads(
    base: Attempt, rates: Rates, pods: Mapping[int, int], start: Sequence[int], most: int
) -> list[list[int]]:
    """Ways to load nodes with pods that can be alone on one, perhaps not with all of them; none
    where patterns are no help. `start` are loads of good plans for the same pods, of which the best
    costs `most`.
    """
    enc = base.enc
    sorts = [sort for sort in sorted(pods) if rates.with_one_more(NO_LOAD, sort) != NO_WAY]
    units = [rates.units[sort] for sort in sorts]
    if not 0 < len(sorts) <= _MOST_SORTS or any(unit.claims for unit in units):
        return []
    count_s = np.array([pods[sort] for sort in sorts], dtype=np.int64)
    # A node that costs more than the whole plan is not part of a cheaper one.
    price_p = enc.plan_price_o[base.offers]
    offers = base.offers[(enc.supply_o[base.offers] >= UNLIMITED) & (price_p <= most)]
    market = pattern_market(enc, units, count_s, offers)
    counts = uniform_nodes(market)
    if counts is not None:
        return [[rates.load(((sorts[0], count),)) for count in counts]]
    is_close = most <= least_price(base, rates, pods) * (1 + CLOSE)
    if is_close or int(count_s.sum()) <= _TOO_FEW:
        return []
    known = known_patterns(rates, sorts, start)
    return [
        [load for load in (load_of(rates, sorts, held) for held in nodes) if load != NO_WAY]
        for nodes in _dives(base, market, units, known)
    ]


def load_of(rates: Rates, sorts: Sequence[int], held: Int) -> int:
    """The load of so many pods of each sort."""
    rows = np.flatnonzero(held).tolist()
    return rates.load(tuple((sorts[row], int(held[row])) for row in rows))


def _dives(
    base: Attempt,
    market: PatternMarket,
    units: Sequence[PodUnit],
    known: Sequence[tuple[Int, int]],
) -> list[list[Int]]:
    """Whole nodes for most pods, in one way or two. What pods are worth is kept for the bound."""
    n_pods = int(market.count_s.sum())
    work = _work(n_pods) * base.enc.problem.policy.effort
    worth_s = first_worths(base, np.array([unit.request for unit in units]))
    generator, master = Generator(market, worth_s, work), Master(market.count_s)
    generator.add(master, known)
    is_few = n_pods <= FEW_PODS
    generator.generate(master, market.count_s, _FEW_ROUNDS if is_few else _ROUNDS)
    # What pods are worth in one cell says little of any; small bounds are soon found by themselves.
    if not is_few or all(unit.cell == ANY_CELL for unit in units):
        _keep_worths(base.values.pattern_worths, units, generator.worth_s.tolist())
    found = []
    for by_price in (False, True) if n_pods <= _MANY_PODS else (True,):
        generator.work = max(generator.work, 0) + work // 2
        depth = DiveDepth(_FEW_DIVE_ROUNDS if is_few else _DIVE_ROUNDS)
        found.append(dive(generator, master, depth, by_price=by_price))
    return found


def _keep_worths(
    worths: dict[tuple[object, ...], float], units: Sequence[PodUnit], found: Sequence[float]
) -> None:
    """Keep what pods are worth, the least of several cells."""
    for unit, worth in zip(units, found, strict=True):
        worths[kind_of(unit)] = min(worth, worths.get(kind_of(unit), worth))


def least_price(base: Attempt, rates: Rates, pods: Mapping[int, int]) -> float:
    """What pods are worth by the assignment program: they can hardly cost less."""
    return sum(worth_of(rates.units[sort], base.values) * n for sort, n in pods.items())


def _work(n_pods: int) -> int:
    """How many cells of tables may be filled: small plans are made all day, and must be quick."""
    return _WORK + _MORE_WORK * max(0, min(n_pods, _MANY_PODS) - FEW_PODS)


def with_the_rest(
    rates: Rates,
    improver: Improver,
    found: Sequence[int],
    pods: Mapping[int, int],
    sites: Sequence[Site] = (),
) -> tuple[list[int], LoadLayout] | None:
    """The loads, and a layout for the pods that are not in them, which are put where each costs
    least; None if one fits nowhere.
    """
    placed = Counter(sort for load in found for sort in rates.pods(load))
    left = sorted((Counter(pods) - placed).elements())
    tail = LoadLayout([], [()] * len(sites))
    is_placed = improver.insert(tail, improver.order_pods(left))
    return (list(found), tail) if is_placed else None


def known_patterns(
    rates: Rates, sorts: Sequence[int], start: Sequence[int]
) -> list[tuple[Int, int]]:
    """The loads of a plan, and one pod of each sort on a node of its own."""
    place = {sort: row for row, sort in enumerate(sorts)}
    patterns = []
    for load in (*(rates.with_one_more(NO_LOAD, sort) for sort in sorts), *start):
        if any(sort not in place for sort, _ in rates.loads[load]):
            continue
        count_s = np.zeros(len(sorts), dtype=np.int64)
        for sort, count in rates.loads[load]:
            count_s[place[sort]] = count
        patterns.append((count_s, rates.price[load]))
    return patterns


def first_worths(base: Attempt, request_sr: Int) -> Float:
    """What the assignment program says that pods are worth."""
    values = base.values
    places = np.searchsorted(values.offers, values.favourites)
    order = np.argsort(-values.bought, kind="stable")[:_MOST_VECTORS]
    worths = [
        request_sr @ (values.vector_kr[values.choice_p[place]] * values.scale_p[place])
        for place in places[order].tolist()
    ]
    found: Float = np.min(worths, axis=0) if worths else np.zeros(len(request_sr))
    return np.maximum(found, 1.0)
