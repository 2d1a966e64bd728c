"""The linear program over the patterns known so far: how many nodes of each, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import highspy
import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.program.assignment import INFINITE

_DOLLAR: Final = 1e9  # nanodollars
_PRIMAL: Final = 4
_DUAL: Final = 1


@dataclass(frozen=True, slots=True)
class MasterSolution:
    """What the program says: nodes of each pattern, what a pod of each sort is worth, the price."""

    nodes_j: Float
    worth_s: Float  # nanodollars
    price: float  # nanodollars


class Master:
    """min price . x with sum_j count_sj x_j >= demand_s. Patterns are added between solutions."""

    def __init__(self, demand_s: Int) -> None:
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]  # no stubs for it
        for name, value in (("output_flag", False), ("threads", 1), ("presolve", "off")):
            self._highs.setOptionValue(name, value)
        n_rows = len(demand_s)
        nothing = np.zeros(0, dtype=np.int32)
        self._highs.addRows(
            n_rows,
            demand_s.astype(np.float64),
            np.full(n_rows, INFINITE),
            0,
            np.zeros(n_rows, dtype=np.int32),
            nothing,
            np.zeros(0),
        )
        self._n_rows = n_rows

    def add(self, patterns: Sequence[Int], prices: Sequence[int]) -> None:
        """Let the program use more patterns: how many pods of each sort, and what a node costs."""
        if not len(patterns):
            return
        count_js = np.array(patterns, dtype=np.int64)
        rows_j, rows_s = np.nonzero(count_js)
        starts = np.searchsorted(rows_j, np.arange(len(count_js)))
        self._highs.addCols(
            len(count_js),
            np.array(prices, dtype=np.float64) / _DOLLAR,
            np.zeros(len(count_js)),
            np.full(len(count_js), INFINITE),
            len(rows_j),
            starts.astype(np.int32),
            rows_s.astype(np.int32),
            count_js[rows_j, rows_s].astype(np.float64),
        )
        self._highs.setOptionValue("simplex_strategy", _PRIMAL)

    def ask(self, demand_s: Int, open_j: Bool) -> None:
        """Ask for other numbers of pods, with the patterns that are open."""
        for row, demand in enumerate(demand_s.tolist()):
            self._highs.changeRowBounds(row, float(demand), INFINITE)
        n_patterns = len(open_j)
        every, nothing = np.arange(n_patterns, dtype=np.int32), np.zeros(n_patterns)
        self._highs.changeColsBounds(n_patterns, every, nothing, np.where(open_j, INFINITE, 0.0))
        self._highs.setOptionValue("simplex_strategy", _DUAL)

    def solve(self) -> MasterSolution:
        """What the program says now."""
        self._highs.run()
        solution = self._highs.getSolution()
        nodes_j = np.maximum(np.array(solution.col_value), 0.0)
        worth_s = np.maximum(np.array(solution.row_dual), 0.0) * _DOLLAR
        return MasterSolution(
            nodes_j, worth_s, self._highs.getInfo().objective_function_value * _DOLLAR
        )
