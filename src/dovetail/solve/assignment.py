"""How many nodes of which offer, and which pods on them, if pods could be cut into pieces?

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

from dataclasses import dataclass, field
from typing import Final

import highspy
import numpy as np

from dovetail.solve.axes import Bool, Float, Int

PENALTY: Final = 20.0  # leaving a pod out costs this many times its own node


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
    domain_lo: Int | None = None  # domain of each offer for spread classes (-1 row: not spread)
    range_ld: dict[int, tuple[Float, Float]] = field(default_factory=dict)
    cap_groups: list[tuple[float, list[int]]] = field(default_factory=list)
    limits: list[tuple[Float, float]] = field(default_factory=list)  # weights over o, limit
    cuts: list[Cut] = field(default_factory=list)


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


class _Builder:
    """Columns and rows as HiGHS wants them, column by column."""

    def __init__(self, program: Program) -> None:
        self.p = program
        self.pairs_l, self.pairs_o = np.nonzero(program.accept_lo)
        self.n_o, self.n_r = program.cap_or.shape
        self.n_l = len(program.count_l)
        self.rows: list[tuple[Int, Int, Float]] = []  # row numbers, column numbers, values
        self.lower: list[Float] = []
        self.upper: list[Float] = []
        self.n_rows = 0
        self.y0 = self.n_o
        self.s0 = self.n_o + len(self.pairs_l)
        self.n_cols = self.s0 + self.n_l

    def add(self, rows: Int, cols: Int, values: Float, lower: Float, upper: Float) -> int:
        start = self.n_rows
        self.rows.append((rows + start, cols, values))
        self.lower.append(lower)
        self.upper.append(upper)
        self.n_rows += len(lower)
        return start

    def matrix(self) -> tuple[Int, Int, Float]:
        rows = np.concatenate([one[0] for one in self.rows])
        cols = np.concatenate([one[1] for one in self.rows])
        values = np.concatenate([one[2] for one in self.rows])
        keep = values != 0
        rows, cols, values = rows[keep], cols[keep], values[keep]
        order = np.lexsort((rows, cols))
        starts = np.searchsorted(cols[order], np.arange(self.n_cols + 1))
        return starts, rows[order], values[order]


def solve_program(program: Program, *, central: bool = False) -> Assignment:
    """Solve it. `central` asks for a point inside the optimal face, which mixes classes well."""
    b = _Builder(program)
    places = _rows(b)
    model = _model(b)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("presolve", "off")
    if central:
        solver.setOptionValue("solver", "ipm")
        solver.setOptionValue("run_crossover", "off")
        solver.setOptionValue("ipm_optimality_tolerance", 1e-6)
    solver.passModel(model)
    solver.run()
    solution = solver.getSolution()
    cols = np.maximum(np.array(solution.col_value), 0.0)
    duals = np.array(solution.row_dual)
    return _read(b, places, cols, duals)


@dataclass(slots=True)
class _Places:
    capacity: int
    demand: int
    zones: dict[int, int]
    caps: int
    cuts: int


def _rows(b: _Builder) -> _Places:
    p = b.p
    n_pairs = len(b.pairs_l)
    pair_cols = b.y0 + np.arange(n_pairs)
    capacity = b.n_rows
    for r in range(b.n_r):
        b.add(
            np.concatenate([b.pairs_o, np.arange(b.n_o)]),
            np.concatenate([pair_cols, np.arange(b.n_o)]),
            np.concatenate([p.request_lr[b.pairs_l, r], -p.cap_or[:, r]]),
            np.full(b.n_o, -highspy.kHighsInf),
            np.zeros(b.n_o),
        )
    demand = b.add(
        np.concatenate([b.pairs_l, np.arange(b.n_l)]),
        np.concatenate([pair_cols, b.s0 + np.arange(b.n_l)]),
        np.ones(n_pairs + b.n_l),
        p.count_l.copy(),
        np.full(b.n_l, highspy.kHighsInf),
    )
    zones = {}
    for row, (low, high) in p.range_ld.items():
        mine = np.flatnonzero(b.pairs_l == row)
        assert p.domain_lo is not None
        domain = p.domain_lo[row, b.pairs_o[mine]]
        inside = domain >= 0
        zones[row] = b.add(
            domain[inside], pair_cols[mine][inside], np.ones(int(inside.sum())), low, high
        )
    caps = b.n_rows
    for cap, members in p.cap_groups:
        mine = np.flatnonzero(np.isin(b.pairs_l, members))
        b.add(
            np.concatenate([b.pairs_o[mine], np.arange(b.n_o)]),
            np.concatenate([pair_cols[mine], np.arange(b.n_o)]),
            np.concatenate([np.ones(len(mine)), np.full(b.n_o, -cap)]),
            np.full(b.n_o, -highspy.kHighsInf),
            np.zeros(b.n_o),
        )
    for weight_o, limit in p.limits:
        b.add(
            np.zeros(b.n_o, dtype=np.int64),
            np.arange(b.n_o),
            weight_o,
            np.array([-highspy.kHighsInf]),
            np.array([limit]),
        )
    cuts = b.n_rows
    for cut in p.cuts:
        mine = np.flatnonzero((b.pairs_o == cut.offer) & (cut.weight_l[b.pairs_l] > 0))
        b.add(
            np.zeros(len(mine) + 1, dtype=np.int64),
            np.append(pair_cols[mine], cut.offer),
            np.append(cut.weight_l[b.pairs_l[mine]], -1.0),
            np.array([-highspy.kHighsInf]),
            np.zeros(1),
        )
    return _Places(capacity, demand, zones, caps, cuts)


def _model(b: _Builder) -> highspy.HighsLp:
    p = b.p
    starts, index, values = b.matrix()
    model = highspy.HighsLp()
    model.num_col_ = b.n_cols
    model.num_row_ = b.n_rows
    model.col_cost_ = np.concatenate([p.price_o, np.zeros(len(b.pairs_l)), p.penalty_l])
    model.col_lower_ = np.zeros(b.n_cols)
    upper = np.full(b.n_cols, highspy.kHighsInf)
    upper[: b.n_o] = p.supply_o
    model.col_upper_ = upper
    model.row_lower_ = np.concatenate(b.lower)
    model.row_upper_ = np.concatenate(b.upper)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = starts
    model.a_matrix_.index_ = index
    model.a_matrix_.value_ = values
    return model


def _read(b: _Builder, places: _Places, cols: Float, duals: Float) -> Assignment:
    p = b.p
    pods = np.zeros((b.n_l, b.n_o))
    pods[b.pairs_l, b.pairs_o] = cols[b.y0 : b.s0]
    lam = np.zeros((b.n_o, b.n_r))
    for r in range(b.n_r):
        start = places.capacity + r * b.n_o
        lam[:, r] = np.maximum(-duals[start : start + b.n_o], 0.0)
    mu = np.zeros((len(p.cap_groups), b.n_o))
    for t in range(len(p.cap_groups)):
        start = places.caps + t * b.n_o
        mu[t] = np.maximum(-duals[start : start + b.n_o], 0.0)
    zone = {
        row: duals[start : start + len(p.range_ld[row][0])] for row, start in places.zones.items()
    }
    nodes = cols[: b.n_o]
    return Assignment(
        nodes,
        pods,
        lam,
        np.maximum(duals[places.demand : places.demand + b.n_l], 0.0),
        mu,
        zone,
        np.maximum(-duals[places.cuts : places.cuts + len(p.cuts)], 0.0),
        float(p.price_o @ nodes),
    )
