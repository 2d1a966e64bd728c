"""Cheaper loads for the same pods: ruin and recreate, from numbers of loads to numbers of loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.limits import Limits
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.units import PodUnit
from dovetail.solve.patterns.market import acceptance, apart, with_caps
from dovetail.solve.patterns.recreate import RebuildTask, recreate
from dovetail.solve.search.rates import NO_WAY, Rates

_FEES: Final = (0.5, 2.0, 8.0)  # of what may be spent, for each node


class Effort(NamedTuple):
    """How hard to search: looks at nodes, and tries."""

    looks: int
    tries: int


class Rebuilder:
    """Improves loads of one puzzle; knows which offers take what."""

    def __init__(self, enc: Encoded, rates: Rates, offers: Int, *, is_keeping: bool = True) -> None:
        self._enc, self._rates, self._is_keeping = enc, rates, is_keeping
        offers = offers[enc.supply_o[offers] >= UNLIMITED]
        self._offers = offers[np.lexsort((offers, enc.plan_price_o[offers]))]
        self.seen: dict[int, None] = {}  # loads of good states, in order, if those are kept
        self._tasks: dict[tuple[int, ...], RebuildTask] = {}

    def rebuild(self, loads: Sequence[int], limits: Limits, effort: Effort) -> list[int]:
        """Loads that hold the same pods for no more money; the same ones if none are found."""
        rebuilt = self._recreate(loads, limits, effort, 0)
        is_better = rebuilt is not None and self._rates.total(rebuilt) <= self._rates.total(loads)
        return rebuilt if rebuilt is not None and is_better else list(loads)

    def on_fewer_nodes(
        self, loads: Sequence[int], limits: Limits, effort: Effort, most: int
    ) -> list[int]:
        """Loads that hold the same pods on fewer nodes and cost no more than so much; the same ones
        if none are found. A fee for each node makes the search prefer few.
        """
        best, rates = list(loads), self._rates
        spare = max(most - rates.total(loads), 0)
        for share in _FEES:
            fee = int(share * spare / max(len(loads), 1))
            fewer = self._recreate(best, limits, effort, fee) if fee else None
            if fewer is not None and len(fewer) < len(best) and rates.total(fewer) <= most:
                best = fewer
        return best

    def _recreate(
        self, loads: Sequence[int], limits: Limits, effort: Effort, fee: int
    ) -> list[int] | None:
        """The best loads by the prices of nodes and a fee for each; None where nothing is known."""
        rates = self._rates
        sorts = tuple(sorted({sort for load in loads for sort, _ in rates.loads[load]}))
        if not sorts or any(rates.units[sort].claims for sort in sorts):
            return None
        place = {sort: row for row, sort in enumerate(sorts)}
        counts = []
        for load in loads:
            count_s = np.zeros(len(sorts), dtype=np.int64)
            for sort, count in rates.loads[load]:
                count_s[place[sort]] = count
            counts.append(count_s)
        task = self._task(sorts)
        bounds = tuple(
            (row[self._offers], max(left, 0))
            for row, left in zip(limits.rows, limits.left, strict=True)
        )
        task = replace(task, price_o=task.price_o + fee, limits=bounds)
        after, kept = recreate(task, counts, *effort)
        rebuilt = [self._load(sorts, counts) for counts in after]
        if self._is_keeping:
            self.seen.update(dict.fromkeys(self._load(sorts, counts) for counts in kept))
        return None if NO_WAY in rebuilt else rebuilt

    def _load(self, sorts: tuple[int, ...], counts: Int) -> int:
        rows = np.flatnonzero(counts).tolist()
        return self._rates.load(tuple((sorts[row], int(counts[row])) for row in rows))

    def _task(self, sorts: tuple[int, ...]) -> RebuildTask:
        task = self._tasks.get(sorts)
        if task is None:
            units = [self._rates.units[sort] for sort in sorts]
            accept_so = acceptance(self._enc, units, self._offers)
            task = self._tasks[sorts] = task_of(self._enc, units, self._offers, accept_so)
        return task


def task_of(enc: Encoded, units: Sequence[PodUnit], offers: Int, accept_so: Bool) -> RebuildTask:
    """A task for these units and offers, cheapest first, of which the accepted ones take each."""
    request_sr, cap_or, _ = with_caps(enc, units, offers, (TermKind.SPREAD,))
    hosts = enc.ties.hosts
    is_alone = [
        any(
            hosts[term].kind in (TermKind.ANTI, TermKind.PORT)
            for term in {*unit.own} & {*unit.match}
        )
        for unit in units
    ]
    apart_ss = apart(enc, units) | np.diag(is_alone)
    return RebuildTask(request_sr, accept_so, apart_ss, cap_or, enc.plan_price_o[offers])
