"""Gives a pending pod the place of pods of lower priority.

The pods that make room wait in its stead; `rescue` looks for another place for them afterwards.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.finishing.rescue import put_one, settle_one
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.contents import loads
from dovetail.solve.packing.units import ANY_CELL, PodUnit, unit_of
from dovetail.solve.zones.colocate import without_company
from dovetail.solve.zones.first_pods import followers, one_more, starters
from dovetail.solve.zones.quotas import Outlook
from dovetail.solve.zones.undo import is_skewed

Leaver = tuple[int, int, int]  # a unit, one of its groups, how many of its pods


def displace(attempt: Attempt, waiting: dict[int, int]) -> bool:
    """Let waiting pods take places from pods of lower priority; says whether any did."""
    enc = attempt.enc
    lowest = min((unit.priority for unit in attempt.units if unit.count), default=0)
    moved = False
    for group in sorted(waiting, key=lambda group: (-int(enc.priority_g[group]), group)):
        if int(enc.priority_g[group]) <= lowest:
            break
        while waiting.get(group, 0) and _take_a_place(attempt, group, waiting):
            waiting[group] -= 1
            moved = True
    attempt.unsettled = {group: count for group, count in waiting.items() if count}
    return moved


def _take_a_place(attempt: Attempt, group: int, waiting: dict[int, int]) -> bool:
    probe = unit_of(attempt.enc, group)
    held_by_node = loads(attempt.bins.log)
    for node in _candidates(attempt, probe, held_by_node):
        for leaving in _choices(attempt, node, held_by_node[node], probe):
            if _swap(attempt, group, node, leaving):
                for number, leaver, count in leaving:
                    take_out(attempt.units[number], leaver, count)
                    waiting[leaver] = waiting.get(leaver, 0) + count
                return True
    return False


def _choices(
    attempt: Attempt, node: int, pods: dict[int, int], probe: PodUnit
) -> list[list[Leaver]]:
    """Who might leave a node: pods of one group, those of lowest priority first; or all of them.

    Pods of one unit can be swapped for each other, so any of its groups may be on the node.
    """
    single: list[list[Leaver]] = []
    every: list[Leaver] = []
    ranked = sorted(pods, key=lambda number: (attempt.units[number].priority, number))
    for number in ranked:
        left = pods[number] if _may_go(attempt, number, node, probe) else 0
        for group, count in _totals(attempt.units[number]).items():
            leaver = (group, min(count, pods[number]))
            if not left or _is_counted_on(attempt, attempt.units[number], leaver):
                continue
            single.append([(number, group, min(count, pods[number]))])
            every.append((number, group, min(count, left)))
            left -= min(count, left)
    return [*single, every] if len(every) > 1 else single


def _totals(unit: PodUnit) -> dict[int, int]:
    totals: dict[int, int] = {}
    for group, count in unit.members:
        totals[group] = totals.get(group, 0) + count
    return totals


def take_out(unit: PodUnit, group: int, count: int) -> None:
    """Take pods of a group out of a unit."""
    totals = _totals(unit)
    totals[group] -= count
    unit.members = [(group, left) for group, left in totals.items() if left]
    unit.count -= count


def _candidates(
    attempt: Attempt, probe: PodUnit, held_by_node: dict[int, dict[int, int]]
) -> list[int]:
    """Nodes that would be large enough if all of lower priority left them."""
    bins = attempt.bins
    free = bins.free[:, : bins.n].copy()
    for node, pods in held_by_node.items():
        for number, count in pods.items():
            unit = attempt.units[number]
            if unit.priority < probe.priority:
                free[:, node] += unit.request * count
    fits = (free >= probe.request[:, None]).all(axis=0) & bins.accept[probe.mask, : bins.n]
    return [node for node in np.flatnonzero(fits).tolist() if node in held_by_node]


def _may_go(attempt: Attempt, number: int, node: int, probe: PodUnit) -> bool:
    """Whether pods of a unit may leave a node: nobody there depends on their company."""
    unit, ties = attempt.units[number], attempt.enc.ties
    if unit.priority >= probe.priority:
        return False
    return not any(
        ties.hosts[term].kind == TermKind.AFFINITY and attempt.bins.own[term, node]
        for term in unit.match
    )


def _is_counted_on(attempt: Attempt, unit: PodUnit, leaver: tuple[int, int]) -> bool:
    """Whether pods that were placed count on the pods of a group being in the unit's cell."""
    ties, state = attempt.enc.ties, attempt.settler.state
    group, count = leaver
    for number in ties.zone_match_g[group]:
        term = ties.zones[number]
        if term.kind == TermKind.ANTI or not (state.own[number] > term.own_d).any():
            continue
        if term.kind == TermKind.AFFINITY:
            return True
        fewer = state.match[number].copy()
        fewer[ties.domains_ck[unit.cell, term.key]] -= count
        if is_skewed(term, fewer, state.seen[number]):
            return True
    return False


def _swap(attempt: Attempt, group: int, node: int, leaving: list[Leaver]) -> bool:
    """Put one pod of the group on the node in place of the others, if the rules allow."""
    enc, bins = attempt.enc, attempt.bins
    cell = int(bins.cell[node])
    _shift(attempt, node, leaving, -1)
    n_cells = len(enc.ties.domains_ck)
    here = np.zeros(n_cells, dtype=np.int64)
    here[cell] = 1
    outlook = Outlook(np.zeros(n_cells, dtype=bool), here, np.zeros(n_cells))
    unit = unit_of(enc, group)
    if _may_start(attempt, group, node, leaving):
        unit = without_company(bins, unit)
    has_room = bins.room(unit, slice(node, node + 1))[0] > 0
    if has_room and settle_one(attempt, group, outlook) is not None:
        for number, _, count in leaving:
            strike(attempt, number, node, count)
        put_one(attempt, group, cell, node)
        return True
    _shift(attempt, node, leaving, 1)
    return False


def _may_start(attempt: Attempt, group: int, node: int, leaving: list[Leaver]) -> bool:
    """Whether all pods find company on their nodes, or start first, with one more of the group on
    a node that some have left.
    """
    unit = unit_of(attempt.enc, group)
    unit.add(group, 1)
    pod = one_more(attempt, unit, node)
    if not pod.wanted:
        return False
    gone = {(number, node): count for number, _, count in leaving}
    return starters(attempt, followers(attempt, gone), pod)[1]


def _shift(attempt: Attempt, node: int, leaving: list[Leaver], sign: int) -> None:
    """Let pods leave a node (or come back), in all counts."""
    for number, group, count in leaving:
        unit = attempt.units[number]
        attempt.bins.shift(unit, np.array([node]), np.array([sign * count]))
        if unit.cell != ANY_CELL:
            attempt.settler.record(group, unit.cell, sign * count)


def strike(attempt: Attempt, number: int, node: int, count: int) -> None:
    """Forget that a unit has so many pods on a node."""
    log = []
    for unit, nodes, counts in attempt.bins.log:
        if unit == number and count:
            fewer = counts.copy()
            taken = np.minimum(fewer, np.where(nodes == node, count, 0))
            fewer -= taken
            count -= int(taken.sum())
            log.append((unit, nodes[fewer > 0], fewer[fewer > 0]))
        else:
            log.append((unit, nodes, counts))
    attempt.bins.log = [entry for entry in log if len(entry[1])]
