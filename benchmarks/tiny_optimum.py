"""What does the cheapest plan of a tiny cluster cost? Exactly, by integer programming.

Variables: how many nodes of each maximal mix (`tiny_patterns`) are bought, and how many pods of
each group stand in each zone. Pods of a group in a zone need as many places in the nodes there.
Rules across zones are rows: a spread's largest and smallest zone differ by at most its skew at the
end (every zone that the pods may use counts, also an empty one); pods that keep together by zone
stand where one of the pods meant stands. There is no limit on nodes, so the optimum is exact.

But for spreads over host names: here no node holds more pods than the skew, as if some node were
always empty. kube-scheduler counts from the emptiest node there is, so that plans may cost less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import highspy
import numpy as np

from benchmarks.catalogues import NANOUSD, ZONES
from benchmarks.tiny_patterns import Group, Pattern, groups_of, patterns
from dovetail import labels
from dovetail.model.snapshot import Snapshot

_SECONDS_AT_MOST: Final = 60.0


def optimum_nanousd(snapshot: Snapshot) -> int:
    """The least price at which every pod is placed. Raises ValueError when there is no way."""
    groups = groups_of(snapshot)
    bought = patterns(snapshot, groups)
    program = _Program()
    nodes = [
        program.variable(pattern.price_nanousd / NANOUSD, upper=len(snapshot.pods))
        for pattern in bought
    ]
    pods = [{zone: program.variable(0, len(group.pods)) for zone in ZONES} for group in groups]
    present = [{zone: program.variable(0, 1) for zone in ZONES} for _ in groups]
    _place_all(program, groups, pods)
    _buy_room(program, bought, nodes, pods)
    for index, group in enumerate(groups):
        for zone in ZONES:
            program.row({present[index][zone]: 1, pods[index][zone]: -1}, upper=0)
        _spread(program, group, pods[index])
        _keep_together(program, index, groups, pods, present)
    counts = program.solve()
    return sum(
        round(counts[node]) * one.price_nanousd for node, one in zip(nodes, bought, strict=True)
    )


def has_host_spread(snapshot: Snapshot) -> bool:
    """Whether pods are spread over host names, so that a plan may cost less than the optimum."""
    return any(
        spread.topology_key == labels.HOSTNAME
        for pod in snapshot.pods
        for spread in pod.spec.spread
    )


_ByZone = Mapping[str, int]


def _place_all(program: _Program, groups: Sequence[Group], pods: Sequence[_ByZone]) -> None:
    for group, by_zone in zip(groups, pods, strict=True):
        total = len(group.pods)
        program.row(dict.fromkeys(by_zone.values(), 1.0), lower=total, upper=total)


def _buy_room(
    program: _Program,
    bought: Sequence[Pattern],
    nodes: Sequence[int],
    pods: Sequence[_ByZone],
) -> None:
    for index, by_zone in enumerate(pods):
        for zone, variable in by_zone.items():
            places = {
                node: float(pattern.counts[index])
                for node, pattern in zip(nodes, bought, strict=True)
                if pattern.zone == zone and pattern.counts[index]
            }
            program.row({**places, variable: -1.0}, lower=0)


def _spread(program: _Program, group: Group, pods: _ByZone) -> None:
    pinned = group.spec.node_selector.get(labels.ZONE)
    zones = [zone for zone in ZONES if pinned in {None, zone}]
    for spread in group.spec.spread:
        if spread.topology_key != labels.ZONE:
            continue
        for fuller in zones:
            for emptier in zones:
                if fuller != emptier:
                    program.row({pods[fuller]: 1, pods[emptier]: -1}, upper=spread.max_skew)


def _keep_together(
    program: _Program,
    index: int,
    groups: Sequence[Group],
    pods: Sequence[_ByZone],
    present: Sequence[_ByZone],
) -> None:
    """Those who wish for company stand only where it is; a group that is its own company, once."""
    group = groups[index]
    for term in group.spec.affinity:
        meant = [
            other for other, one in enumerate(groups) if term.selector.matches(one.pods[0].labels)
        ]
        for zone in ZONES:
            company = {present[other][zone]: -float(len(group.pods)) for other in meant}
            program.row({pods[index][zone]: 1.0, **company}, upper=0)
        if index in meant:
            program.row(dict.fromkeys(present[index].values(), 1.0), upper=1)


class _Program:
    """An integer program, gathered row by row and solved once."""

    def __init__(self) -> None:
        self._costs: list[float] = []
        self._uppers: list[float] = []
        self._rows: list[tuple[Mapping[int, float], float, float]] = []

    def variable(self, cost: float, upper: float) -> int:
        """A new whole number from 0 to `upper`; returns its index."""
        self._costs.append(cost)
        self._uppers.append(upper)
        return len(self._costs) - 1

    def row(
        self,
        weights: Mapping[int, float],
        *,
        lower: float = -highspy.kHighsInf,
        upper: float = highspy.kHighsInf,
    ) -> None:
        """A weighted sum that must stay within bounds."""
        self._rows.append((weights, lower, upper))

    def solve(self) -> list[float]:
        """The cheapest values of all variables."""
        solver = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy ships no types
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("mip_abs_gap", 1e-9)
        solver.setOptionValue("time_limit", _SECONDS_AT_MOST)
        solver.passModel(self._model())
        solver.run()
        status = solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            msg = f"no optimum found: {solver.modelStatusToString(status)}"
            raise ValueError(msg)
        return list(solver.getSolution().col_value)

    def _model(self) -> highspy.HighsLp:
        model = highspy.HighsLp()
        model.num_col_ = len(self._costs)
        model.num_row_ = len(self._rows)
        model.col_cost_ = np.array(self._costs)
        model.col_lower_ = np.zeros(len(self._costs))
        model.col_upper_ = np.array(self._uppers, dtype=float)
        model.row_lower_ = np.array([lower for _, lower, _ in self._rows], dtype=float)
        model.row_upper_ = np.array([upper for _, _, upper in self._rows], dtype=float)
        model.integrality_ = [highspy.HighsVarType.kInteger] * len(self._costs)
        lengths = [len(weights) for weights, _, _ in self._rows]
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        model.a_matrix_.index_ = np.array(
            [index for weights, _, _ in self._rows for index in weights], dtype=np.int32
        )
        model.a_matrix_.value_ = np.array(
            [weight for weights, _, _ in self._rows for weight in weights.values()], dtype=float
        )
        return model
