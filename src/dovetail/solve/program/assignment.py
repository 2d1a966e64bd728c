"""The linear program: nodes of each offer and pods on them, where pods may be divided.

A linear program over classes of pods: X nodes of each offer, Y pods of each class on each offer.

    min  sum_o price_o X_o + sum_l penalty_l short_l
    sum_l request_lr Y_lo             <= capacity_or X_o      every offer and resource
    sum_o Y_lo + short_l              >= count_l              every class
    low_ld <= sum_(o in d) Y_lo       <= high_ld              spread classes, every domain
    sum_(l in t) Y_lo                 <= cap_t X_o            pods of which a node takes only cap_t
    sum_o capacity_or X_o             <= limit_pr             pools with limits
    X_o                               <= supply_o

It is small, and its solution can be used as it is: it names the bins and the mix. Its multipliers
make the lower bound (`bound.py`). HiGHS solves it; nothing exact is taken from its floating point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import highspy
import numpy as np

from dovetail.solve.axes import Bool, Float, Int

INFINITE: Final = float(highspy.kHighsInf)
_PRIMAL: Final = 4
_DUAL: Final = 1
PENALTY: Final = 20.0  # leaving a pod out costs this many times its own node
_ROUGHLY, _CLOSELY = 1e-4, 1e-6  # where pods keep apart, plans by a rough answer cost 1 % more
_MANY_PODS: Final = 1_000  # with fewer there is little time to save


@dataclass(frozen=True, slots=True)
class Cut:
    """Whole pods on whole nodes: sum_l weight_l Y_lo <= X_o, by a dual feasible function."""

    offer: int
    kind: int  # which (resource, k) it is, see `cuts.py`
    weight_l: Float


@dataclass(slots=True)
class Program:
    """The program over candidate offers (o) and classes (l). Capacities are scaled to about 1."""

    price_o: Float
    cap_or: Float
    supply_o: Float
    request_lr: Float
    count_l: Float
    accept_lo: Bool
    penalty_l: Float
    domain_lo: Int  # domain of each offer for spread classes (-1: not spread)
    range_ld: dict[int, tuple[Float, Float]] = field(default_factory=dict)
    cap_groups: list[tuple[float, list[int]]] = field(default_factory=list)
    limits: list[tuple[Float, float]] = field(default_factory=list)  # weights over o, limit
    cuts: list[Cut] = field(default_factory=list)
    weights: dict[int, Float] = field(default_factory=dict)  # what `cuts.py` has worked out
    guest_o: Int | None = None  # a class of which every node of an offer holds one, or -1


@dataclass(slots=True)
class Assignment:
    """What the program says. Multipliers are non-negative: lambda per offer and resource, pi per
    class, zone surcharge per class and domain, mu per cap group and offer.
    """

    nodes_o: Float
    pods_lo: Float
    lambda_or: Float
    pi_l: Float
    mu_to: Float
    zone_ld: dict[int, Float]
    nu: Float  # one per cut
    value: float


class Solver:
    """The program inside HiGHS. Offers and cuts can be added after a solution; the next one starts
    from the last.
    """

    def __init__(self, program: Program, *, central: bool = False) -> None:
        self.program = program
        n_l = len(program.count_l)
        self._x_o = np.zeros(0, dtype=np.int64)
        self._y_lo = np.full((n_l, 0), -1, dtype=np.int64)
        self._capacity_ro = np.zeros((program.cap_or.shape[1], 0), dtype=np.int64)
        self._cap_to = np.zeros((len(program.cap_groups), 0), dtype=np.int64)
        self._cuts: list[int] = []
        is_rough = not program.cap_groups and program.count_l.sum() > _MANY_PODS
        self._highs = _highs(central=central, tolerance=_ROUGHLY if is_rough else _CLOSELY)
        self._fix_rows()
        cuts, program.cuts = program.cuts, []
        self._insert(program)
        self.add_cuts(cuts)

    def _fix_rows(self) -> None:
        """Rows that do not depend on offers: demand with its shortfall, zone quotas, limits."""
        p = self.program
        n_l = len(p.count_l)
        self._demand_l = np.arange(n_l)
        lower, upper = [p.count_l], [np.full(n_l, INFINITE)]
        self._zone: dict[int, int] = {}
        start = n_l
        for row, (low, high) in p.range_ld.items():
            self._zone[row] = start
            lower.append(low)
            upper.append(high)
            start += len(low)
        self._limit = start
        lower.append(np.full(len(p.limits), -INFINITE))
        upper.append(np.array([limit for _, limit in p.limits]))
        self._add_rows(np.concatenate(lower), np.concatenate(upper))
        self._add_columns(
            p.penalty_l, np.full(n_l, INFINITE), np.arange(n_l + 1), self._demand_l, np.ones(n_l)
        )

    def add_offers(self, more: Program) -> None:
        """Let the program buy more offers; `more` has the same classes and other offers, and cuts
        for those.
        """
        n_held, cuts = len(self.program.price_o), more.cuts
        self.program = join_programs(self.program, more)
        self._insert(more)
        self.add_cuts([replace(cut, offer=n_held + cut.offer) for cut in cuts])
        self._highs.setOptionValue("simplex_strategy", _PRIMAL)  # the last answer is feasible

    def _insert(self, more: Program) -> None:
        n_l, n_o = more.accept_lo.shape
        n_r, n_t = more.cap_or.shape[1], len(more.cap_groups)
        base = self._highs.getNumRow()
        # A cap over pods that an offer does not take needs no row.
        wanted = np.ones((n_r + n_t, n_o), dtype=bool)
        for number, (_, members) in enumerate(more.cap_groups):
            wanted[n_r + number] = more.accept_lo[members].any(axis=0)
        n_rows = int(wanted.sum())
        self._add_rows(np.full(n_rows, -INFINITE), np.zeros(n_rows))
        own = np.full((n_r + n_t, n_o), -1, dtype=np.int64)
        own[wanted] = base + np.arange(n_rows)
        self._capacity_ro = np.concatenate([self._capacity_ro, own[:n_r]], axis=1)
        self._cap_to = np.concatenate([self._cap_to, own[n_r:]], axis=1)
        first = self._highs.getNumCol()
        self._x_o = np.concatenate([self._x_o, first + np.arange(n_o)])
        self._add_offer_columns(more, own)
        pairs_l, pairs_o = np.nonzero(more.accept_lo)
        place = np.full((n_l, n_o), -1, dtype=np.int64)
        place[pairs_l, pairs_o] = first + n_o + np.arange(len(pairs_l))
        self._y_lo = np.concatenate([self._y_lo, place], axis=1)
        self._add_pair_columns(more, own, pairs_l, pairs_o)

    def _add_offer_columns(self, more: Program, own: Int) -> None:
        caps = np.array([cap for cap, _ in more.cap_groups])
        n_o = len(more.price_o)
        rows = [own]
        values = [np.concatenate([-more.cap_or.T, -np.repeat(caps[:, None], n_o, axis=1)])]
        values[0][own < 0] = 0.0
        for number, (weight_o, _) in enumerate(more.limits):
            rows.append(np.full((1, n_o), self._limit + number))
            values.append(weight_o[None, :])
        if more.guest_o is not None:
            rows.append(self._demand_l[np.maximum(more.guest_o, 0)][None, :])
            values.append((more.guest_o >= 0).astype(np.float64)[None, :])
        self._add_sparse(more.price_o, more.supply_o, np.concatenate(rows), np.concatenate(values))

    def _add_pair_columns(self, more: Program, own: Int, pairs_l: Int, pairs_o: Int) -> None:
        n_r = more.cap_or.shape[1]
        rows = [own[:n_r, pairs_o], self._demand_l[pairs_l][None, :]]
        values = [more.request_lr[pairs_l].T, np.ones((1, len(pairs_l)))]
        if more.range_ld:
            domain = more.domain_lo[pairs_l, pairs_o]
            zone = np.array([self._zone.get(row, -1) for row in range(len(more.count_l))])[pairs_l]
            inside = (zone >= 0) & (domain >= 0)
            rows.append(np.where(inside, zone + domain, 0)[None, :])
            values.append(inside.astype(np.float64)[None, :])
        for number, (_, members) in enumerate(more.cap_groups):
            capped = np.isin(pairs_l, members)
            rows.append(own[n_r + number, pairs_o][None, :])
            values.append(capped.astype(np.float64)[None, :])
        free = np.full(len(pairs_l), INFINITE)
        self._add_sparse(np.zeros(len(pairs_l)), free, np.concatenate(rows), np.concatenate(values))

    def _add_sparse(self, cost: Float, upper: Float, rows: Int, values: Float) -> None:
        """Columns given as a table of rows and values, zeros left out."""
        keep = (values != 0).T
        starts = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
        self._add_columns(cost, upper, starts, rows.T[keep], values.T[keep])

    def _add_rows(
        self, lower: Float, upper: Float, entries: tuple[Int, Int, Float] | None = None
    ) -> None:
        """Rows, empty or with entries: where each row starts, columns, values."""
        if entries is None:
            entries = (np.zeros(len(lower), np.int64), np.zeros(0, np.int64), np.zeros(0))
        starts, columns, values = entries
        self._highs.addRows(
            len(lower),
            lower,
            upper,
            len(values),
            starts.astype(np.int32),
            columns.astype(np.int32),
            values,
        )

    def _add_columns(
        self, cost: Float, upper: Float, starts: Int, rows: Int, values: Float
    ) -> None:
        self._highs.addCols(
            len(cost),
            cost,
            np.zeros(len(cost)),
            upper,
            len(values),
            starts[:-1].astype(np.int32),
            rows.astype(np.int32),
            values,
        )

    def add_cuts(self, cuts: Sequence[Cut]) -> None:
        """Whole pods on whole nodes, for offers that are in the program."""
        if not cuts:
            return
        n_l = len(self._y_lo)
        offers = np.array([cut.offer for cut in cuts])
        columns = np.concatenate([self._y_lo[:, offers].T, self._x_o[offers][:, None]], axis=1)
        weight = np.array([cut.weight_l for cut in cuts]).reshape(len(cuts), n_l)
        weight = np.concatenate([weight, np.full((len(cuts), 1), -1.0)], axis=1)
        use = (columns >= 0) & (weight != 0)
        starts = np.concatenate([[0], np.cumsum(use.sum(axis=1))])[:-1]
        base = self._highs.getNumRow()
        self._cuts += range(base, base + len(cuts))
        lower, upper = np.full(len(cuts), -INFINITE), np.zeros(len(cuts))
        self._add_rows(lower, upper, (starts, columns[use], weight[use]))
        self.program.cuts = [*self.program.cuts, *cuts]
        self._highs.setOptionValue("simplex_strategy", _DUAL)  # its multipliers are

    def fix(self, offer: int, amount: float) -> None:
        """Buy just so many nodes of an offer."""
        self._highs.changeColBounds(int(self._x_o[offer]), amount, amount)

    def solve(self) -> Assignment:
        """What the program says now."""
        self._highs.run()
        solution = self._highs.getSolution()
        cols = np.maximum(np.array(solution.col_value), 0.0)
        duals = np.array(solution.row_dual)
        p = self.program
        pods = np.where(self._y_lo >= 0, cols[np.maximum(self._y_lo, 0)], 0.0)
        nodes = cols[self._x_o]
        if p.guest_o is not None:
            hosts = np.flatnonzero(p.guest_o >= 0)
            pods[p.guest_o[hosts], hosts] += nodes[hosts]
        zone = {
            row: duals[start : start + len(p.range_ld[row][0])] for row, start in self._zone.items()
        }
        return Assignment(
            nodes_o=nodes,
            pods_lo=pods,
            lambda_or=np.maximum(-duals[self._capacity_ro.T], 0.0),
            pi_l=np.maximum(duals[self._demand_l], 0.0),
            mu_to=np.where(self._cap_to >= 0, np.maximum(-duals[self._cap_to], 0.0), 0.0),
            zone_ld=zone,
            nu=np.maximum(-duals[np.array(self._cuts, dtype=np.int64)], 0.0),
            value=float(p.price_o @ nodes),
        )


def _highs(*, central: bool, tolerance: float) -> highspy.Highs:
    solver = highspy.Highs()  # type: ignore[no-untyped-call]  # the package has no stubs for it
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("presolve", "off")
    if central:
        solver.setOptionValue("solver", "ipm")
        solver.setOptionValue("run_crossover", "off")
        solver.setOptionValue("ipm_optimality_tolerance", tolerance)
    return solver


def join_programs(first: Program, more: Program) -> Program:
    """The same classes over the offers of both."""
    return Program(
        price_o=np.concatenate([first.price_o, more.price_o]),
        cap_or=np.concatenate([first.cap_or, more.cap_or]),
        supply_o=np.concatenate([first.supply_o, more.supply_o]),
        request_lr=first.request_lr,
        count_l=first.count_l,
        accept_lo=np.concatenate([first.accept_lo, more.accept_lo], axis=1),
        penalty_l=first.penalty_l,
        domain_lo=np.concatenate([first.domain_lo, more.domain_lo], axis=1),
        range_ld=first.range_ld,
        cap_groups=first.cap_groups,
        limits=[
            (np.concatenate([weight, extra]), limit)
            for (weight, limit), (extra, _) in zip(first.limits, more.limits, strict=True)
        ],
        cuts=first.cuts,
        weights=first.weights,
    )
