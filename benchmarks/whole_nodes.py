"""What can no plan of a cluster without constraints cost less than? Independently of `solve`.

Pods of one sort: exactly, by dynamic programming over their number. Several sorts: an integer
program in which nodes are whole and pods may be cut, but no node holds more of a sort than fit it.
Both look at every type that the pool takes; there are no daemon sets, existing nodes or limits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from math import gcd
from typing import Final, NamedTuple

import highspy
import numpy as np

from benchmarks.catalogues import NANOUSD
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot

SECONDS_AT_MOST: Final = 10.0
_ROUNDING: Final = 1e-6  # what floating point may be off by, as a part of the bound


class Machine(NamedTuple):
    """What can be bought: what it holds for pods, and its price."""

    room: tuple[int, ...]
    price_nanousd: int


class Sort(NamedTuple):
    """Pods that ask for the same."""

    asked: tuple[int, ...]
    n_pods: int


def market(snapshot: Snapshot) -> tuple[list[Sort], list[Machine]]:
    """The sorts of pods, and the machines than which no other holds as much for as little."""
    asked = Counter(tuple(sorted(pod.spec.requests.items())) for pod in snapshot.pods)
    names = sorted({name for request in asked for name, _ in request})
    sorts = [
        Sort(tuple(dict(request).get(name, 0) for name in names), count)
        for request, count in sorted(asked.items())
    ]
    # Whole pods fill a machine in steps: the rest of it is of no use to any of them.
    steps = [gcd(*(sort.asked[place] for sort in sorts)) or 1 for place in range(len(names))]
    (pool,) = snapshot.node_pools
    machines = {
        Machine(
            tuple(
                one.allocatable.get(name, 0) // step * step
                for name, step in zip(names, steps, strict=True)
            ),
            offering.price_nanousd,
        )
        for one in snapshot.instance_types[pool.name]
        for offering in one.offerings
        if is_sold(pool, one, offering)
    }
    return sorts, _worthwhile(machines)


def is_sold(pool: NodePool, one: InstanceType, offering: Offering) -> bool:
    """Whether the pool may launch this now."""
    offered = one.requirements & offering.requirements
    return offering.is_available and all(
        wanted.key in offered and wanted.intersects(offered[wanted.key])
        for wanted in pool.requirements
    )


def _worthwhile(machines: set[Machine]) -> list[Machine]:
    kept: list[Machine] = []
    for one in sorted(machines, key=lambda one: (one.price_nanousd, [-n for n in one.room])):
        if not any(all(a >= b for a, b in zip(k.room, one.room, strict=True)) for k in kept):
            kept.append(one)
    return kept


def held(sort: Sort, machine: Machine) -> int:
    """How many pods of a sort one machine takes, as far as there are any."""
    pairs = zip(sort.asked, machine.room, strict=True)
    return min([sort.n_pods, *(room // asked for asked, room in pairs if asked)])


def optimum_nanousd(snapshot: Snapshot) -> int:
    """The least price of nodes for pods that are all alike, exactly. Raises ValueError if none
    takes them.
    """
    (sort,), machines = market(snapshot)
    useful = [(held(sort, one), one.price_nanousd) for one in machines if held(sort, one)]
    if not useful:
        msg = "no machine takes such a pod"
        raise ValueError(msg)
    best = [0]
    for left in range(1, sort.n_pods + 1):
        best.append(min(best[max(0, left - n)] + price for n, price in useful))
    return best[sort.n_pods]


def bound_nanousd(snapshot: Snapshot, seconds: float = SECONDS_AT_MOST) -> int:
    """A lower bound on the price of any plan, the best that so many seconds give."""
    sorts, machines = market(snapshot)
    solver = _program(sorts, machines)
    solver.setOptionValue("time_limit", seconds)
    solver.run()
    bound = float(solver.getInfo().mip_dual_bound) * NANOUSD * (1 - _ROUNDING)
    return max(0, int(bound)) if np.isfinite(bound) else 0


def _program(sorts: Sequence[Sort], machines: Sequence[Machine]) -> highspy.Highs:
    """min price . x with x whole: pods y of each sort on each kind of machine fit x machines."""
    solver = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy ships no types
    for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 1e-6)):
        solver.setOptionValue(name, value)
    most = float(sum(sort.n_pods for sort in sorts))
    for place, machine in enumerate(machines):
        solver.addVar(0.0, most)
        solver.changeColCost(place, machine.price_nanousd / NANOUSD)
        solver.changeColIntegrality(place, highspy.HighsVarType.kInteger)
    column: dict[tuple[int, int], int] = {}
    for (s, sort), (m, machine) in product(enumerate(sorts), enumerate(machines)):
        if held(sort, machine):
            column[s, m] = len(machines) + len(column)
            solver.addVar(0.0, float(sort.n_pods))
    for s, sort in enumerate(sorts):
        everywhere = {here: 1.0 for (other, _), here in column.items() if other == s}
        _row(solver, everywhere, sort.n_pods, highspy.kHighsInf)
    for m, machine in enumerate(machines):
        _fit(solver, (m, machine), sorts, column)
    return solver


def _fit(
    solver: highspy.Highs,
    bought: tuple[int, Machine],
    sorts: Sequence[Sort],
    column: Mapping[tuple[int, int], int],
) -> None:
    """Pods fit the machines of one kind: in each resource together, and each sort by itself."""
    m, machine = bought
    here = {s: column[s, m] for s in range(len(sorts)) if (s, m) in column}
    for resource, room in enumerate(machine.room):
        if room:
            shares = {place: sorts[s].asked[resource] / room for s, place in here.items()}
            _row(solver, {m: -1.0, **shares}, -highspy.kHighsInf, 0.0)
    for s, place in here.items():
        most = float(held(sorts[s], machine))
        _row(solver, {place: 1.0, m: -most}, -highspy.kHighsInf, 0.0)


def _row(solver: highspy.Highs, weights: dict[int, float], lower: float, upper: float) -> None:
    columns = np.array(list(weights), dtype=np.int32)
    solver.addRow(lower, upper, len(weights), columns, np.array(list(weights.values())))
