"""A lower bound on the price of any plan, from what pods are worth on whole nodes.

Give every sort of pod a value in whole nanodollars so that no pods that fit one node together are
worth more than the node costs. Then all pods together are worth no more than any plan. The values
come from generation; the knapsacks that prove them are solved to the end, in integers. Where all
pods are alike the bound is exact: the least price of nodes that hold so many.

A node that costs as much as the whole plan is not part of a cheaper one, and need not be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.packing.contents import loads
from dovetail.solve.packing.units import PodUnit, unit_of
from dovetail.solve.patterns.generation import Generator
from dovetail.solve.patterns.market import PatternMarket, market_of
from dovetail.solve.patterns.master import Master
from dovetail.solve.patterns.uniform import least_prices, pods_per_node
from dovetail.solve.program.multipliers import Values
from dovetail.solve.program.pod_worth import eligible

_MOST_SORTS: Final = 60
_ROUNDS: Final = 12
_WORK: Final = 20_000_000  # cells of tables, for each unit of effort
_STEPS: Final = 200  # of search for one kind of node and one sort of pod
_CORRECTIONS: Final = 4
_MOST_COUNTED: Final = 20_000  # pods

Worths = Mapping[tuple[object, ...], float]  # what generation found for units, by `kind_of`


@dataclass(frozen=True, slots=True)
class PatternBound:
    """The bound, and the value of every group's pods; no values where all pods are alike."""

    nanousd: int
    value_g: Int | None = None


@dataclass(frozen=True, slots=True)
class PricedPlan:
    """A plan whose price is to be bounded: pods placed on new nodes, and where."""

    attempt: Attempt
    placed_g: Int
    price: int
    worths: Worths
    is_close: bool = False  # whether another bound is near enough to make this one a luxury


def kind_of(unit: PodUnit) -> tuple[object, ...]:
    """What tells units apart, wherever they go."""
    return (unit.request.tobytes(), unit.mask, unit.own, unit.match)


def pattern_bound(
    enc: Encoded, values: Values, plan: PricedPlan, fits_g: Bool
) -> PatternBound | None:
    """The best bound that patterns prove; None where they prove nothing.

    Pods of groups that fit an existing node (`fits_g`) may cost nothing, and count as nothing.
    """
    counted_g = np.where(fits_g, 0, plan.placed_g)
    sort_g, units = _sorts(enc, counted_g)
    if not 0 < len(units) <= _MOST_SORTS or any(unit.claims for unit in units):
        return None
    count_s = np.bincount(sort_g[sort_g >= 0], counted_g[sort_g >= 0]).astype(np.int64)
    first_s = np.array([int(np.argmax(sort_g == sort)) for sort in range(len(units))])
    useful = enc.price_o[values.offers] < plan.price
    accept_sp = eligible(enc, first_s, values)[:, useful]
    if not accept_sp.any(axis=1).all():
        return PatternBound(plan.price) if plan.price > 0 and len(units) == 1 else None
    offers = values.offers[useful]
    nodes = (offers, enc.price_o[offers], accept_sp)
    # A lone host has the least pods of all hosts, so that a spread need not cap it.
    market = market_of(enc, units, count_s, nodes, is_spread_capped=False)
    if len(units) == 1:
        return _bound_for_one_sort(market, plan.price)
    if plan.is_close:
        return None
    return _bound_by_generation(enc, market, plan, (sort_g, units))


def _bound_for_one_sort(market: PatternMarket, price: int) -> PatternBound | None:
    count = int(market.count_s[0])
    if count > _MOST_COUNTED:
        return None
    least = int(least_prices(*pods_per_node(market), count)[0][count])
    return PatternBound(min(least, price))


def _sorts(enc: Encoded, counted_g: Int) -> tuple[Int, list[PodUnit]]:
    """The sort of every group that counts (-1: none), and a unit of each sort."""
    number_of: dict[tuple[object, ...], int] = {}
    sort_g = np.full(len(enc.groups), -1, dtype=np.int64)
    units: list[PodUnit] = []
    for group in np.flatnonzero(counted_g).tolist():
        unit = unit_of(enc, group)
        number = number_of.setdefault(kind_of(unit), len(units))
        if number == len(units):
            units.append(unit)
        sort_g[group] = number
    return sort_g, units


def _bound_by_generation(
    enc: Encoded, market: PatternMarket, plan: PricedPlan, sorts: tuple[Int, Sequence[PodUnit]]
) -> PatternBound | None:
    sort_g, units = sorts
    worth_s = _first_worths(enc, plan, units)
    generator = Generator(market, worth_s, _WORK * enc.problem.policy.effort)
    if any(kind_of(unit) not in plan.worths for unit in units):
        master = Master(market.count_s)
        generator.add(master, _patterns(plan, sorts))
        generator.generate(master, market.count_s, _ROUNDS)
    value_s = _proven_values(generator, market.count_s)
    if value_s is None:
        return None
    bound = min(int(value_s @ market.count_s), plan.price)  # dearer nodes were not looked at
    value_g = np.where(sort_g >= 0, value_s[sort_g], 0)
    return PatternBound(bound, value_g)


def _proven_values(generator: Generator, count_s: Int) -> Int | None:
    """The values in whole nanodollars, made smaller until no node holds more than it costs."""
    value_s = generator.worth_s.astype(np.int64)
    for _ in range(_CORRECTIONS):
        fills, ratio = generator.price(value_s.astype(np.float64), count_s, _STEPS, idle=0)
        if all((filled.bound_o <= segment.price_o).all() for segment, filled in fills):
            return value_s
        value_s = np.floor(value_s / (ratio * (1 + 1e-9))).astype(np.int64)
    return None


def _first_worths(enc: Encoded, plan: PricedPlan, units: Sequence[PodUnit]) -> Float:
    """What generation found for the plan, or else what the assignment program says."""
    known = [plan.worths.get(kind_of(unit)) for unit in units]
    mean_r = enc.mean_r
    rate = plan.price / max(float((plan.placed_g @ enc.requests_gr / mean_r).max()), 1e-9)
    return np.array(
        [
            max(1.0, rate * float((unit.request / mean_r).max()) if worth is None else worth)
            for unit, worth in zip(units, known, strict=True)
        ]
    )


def _patterns(plan: PricedPlan, sorts: tuple[Int, Sequence[PodUnit]]) -> list[tuple[Int, int]]:
    """What the new nodes of the plan hold; and one pod of each sort, at the price of the plan."""
    sort_g, units = sorts
    bins = plan.attempt.bins
    patterns = []
    for node, pods in sorted(loads(bins.log).items()):
        offer = int(bins.offer[node])
        if offer == EXISTING:
            continue
        count_s = np.zeros(len(units), dtype=np.int64)
        for number, count in pods.items():
            sort = int(sort_g[plan.attempt.units[number].members[0][0]])
            if sort >= 0:
                count_s[sort] += count
        if count_s.any():
            patterns.append((count_s, int(plan.attempt.enc.price_o[offer])))
    alone = np.eye(len(units), dtype=np.int64)
    return [*patterns, *((row, plan.price) for row in alone)]
