"""One plan in the making: bins, units, zone counts, and the order of decisions.

Several attempts with different preferences make a portfolio.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.wishes import Wishes
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT, PodUnit, UnitBook
from dovetail.solve.program.multipliers import Values
from dovetail.solve.program.pod_worth import takes
from dovetail.solve.zones.quotas import Settler, ZoneState

Step = tuple[int, int, int]  # a group, a cell, and how many of its pods are bound there next
Prefer = Mapping[int, tuple[int, ...]]  # group -> cells that it goes to first, all else equal


@dataclass(slots=True)
class Attempt:
    """One plan in the making."""

    enc: Encoded
    offers: Int
    values: Values
    bins: Bins
    book: UnitBook
    settler: Settler
    prefer: Prefer = field(default_factory=dict)
    left_u: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    unsettled: dict[int, int] = field(default_factory=dict)  # group -> pods that may go nowhere yet
    steps: list[Step] = field(default_factory=list)  # in order
    weights: list[int] = field(default_factory=list)
    wishes: Wishes | None = None  # None: nobody prefers anything
    may_lean: bool = True  # whether no more nodes come in bulk, so that host minima will stay
    leaned_on: set[int] = field(default_factory=set)  # host spreads that rely on a full minimum

    @property
    def units(self) -> list[PodUnit]:
        """All units so far."""
        return self.book.units

    def price(self) -> int:
        """What the opened nodes cost."""
        new = slice(self.bins.n_existing, self.bins.n)
        return int(self.enc.price_o[self.bins.offer[new][~self.bins.dead[new]]].sum())

    def _worth(self, number: int, values: Values) -> float:
        return worth_of(self.units[number], values)

    def worths(self) -> Float:
        """What one pod of each unit is worth; nothing where that is not known."""
        values, units = self.values, self.units
        if not values.worth_sc.size:
            return np.zeros(len(units))
        group_u = np.array([unit.members[0][0] if unit.members else -1 for unit in units])
        cell_u = np.array([unit.cell for unit in units])
        shape_u = values.shape_g[group_u]
        least_s = values.worth_sc.min(axis=1, initial=np.inf)
        worth_u = np.where(
            cell_u == ANY_CELL, least_s[shape_u], values.worth_sc[shape_u, np.maximum(cell_u, 0)]
        )
        return np.where(np.isfinite(worth_u) & (group_u >= 0), worth_u, 0.0)

    def remaining_worth(self, values: Values) -> float:
        """What all pods that are not on a node are worth by these values."""
        left = np.flatnonzero(self.left_u).tolist()
        worth = sum(int(self.left_u[number]) * self._worth(number, values) for number in left)
        for group, count in self.unsettled.items():
            least = float(values.cell_worth(group).min(initial=np.inf))
            worth += count * least if np.isfinite(least) else 0.0
        return worth


class PackingResult(NamedTuple):
    """A plan, and how many pods of which group it leaves out."""

    attempt: Attempt
    left_out: dict[int, int]

    def placed_g(self) -> Int:
        """How many pods of each group have a node."""
        placed_g: Int = self.attempt.enc.count_g.copy()
        for group, count in self.left_out.items():
            placed_g[group] -= count
        return placed_g


def worth_of(unit: PodUnit, values: Values) -> float:
    """What one pod of a unit is worth by these values; nothing where that is not known."""
    if not unit.members or not values.worth_sc.size:
        return 0.0
    group = unit.members[0][0]
    if unit.cell == ANY_CELL:
        value = float(values.cell_worth(group).min(initial=np.inf))
    else:
        value = float(values.worth_sc[values.shape_g[group], unit.cell])
    return value if isfinite(value) else 0.0


def new_attempt(enc: Encoded, offers: Int, values: Values, prefer: Prefer | None = None) -> Attempt:
    """An empty plan."""
    return Attempt(
        enc,
        offers,
        values,
        Bins(enc),
        UnitBook(enc),
        Settler(enc, ZoneState.of(enc)),
        prefer or {},
        weights=enc.weights,
    )


def left_of(attempt: Attempt) -> Int:
    """How many pods of every unit are not on a node yet."""
    left = np.array([unit.count for unit in attempt.units], dtype=np.int64)
    for number, _, counts in attempt.bins.log:
        left[number] -= int(counts.sum())
    return left


def top_weight(attempt: Attempt, group: int, cell: int, below: int | None = None) -> int:
    """The highest pool weight (below a given one) with an offer that takes the group."""
    if len(attempt.weights) < 2:
        return ANY_WEIGHT
    enc = attempt.enc
    fits = takes(enc, np.array([group]), attempt.offers)[0]
    if cell != ANY_CELL:
        fits &= enc.cell_o[attempt.offers] == cell
    weight = enc.weight_o[attempt.offers][fits]
    if below is not None:
        weight = weight[weight < below]
    return int(weight.max()) if len(weight) else ANY_WEIGHT
