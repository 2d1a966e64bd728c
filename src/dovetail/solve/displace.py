"""Does a pod wait for a place that pods of lower priority were given? Then it gets that place.

The pods that make room wait in its stead; `rescue` looks for another place for them afterwards.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.attempt import Attempt
from dovetail.solve.decode import loads
from dovetail.solve.quotas import Outlook
from dovetail.solve.rescue import put_one, settle_one
from dovetail.solve.terms import Kind
from dovetail.solve.undo import release
from dovetail.solve.units import ANY_CELL, Unit, unit_of


def displace(attempt: Attempt, waiting: dict[int, int]) -> bool:
    """Let waiting pods take places from pods of lower priority; says whether any did."""
    enc = attempt.enc
    lowest = min((unit.priority for unit in attempt.units if unit.count), default=0)
    moved = False
    for group in sorted(waiting, key=lambda one: (-int(enc.priority_g[one]), one)):
        if int(enc.priority_g[group]) <= lowest:
            break
        while waiting.get(group, 0) and _take_a_place(attempt, group, waiting):
            waiting[group] -= 1
            moved = True
    attempt.unsettled = {group: count for group, count in waiting.items() if count}
    return moved


def _take_a_place(attempt: Attempt, group: int, waiting: dict[int, int]) -> bool:
    probe = unit_of(attempt.enc, group)
    held_by_node = loads(attempt)
    for node in _candidates(attempt, probe, held_by_node):
        lower = {
            number: count
            for number, count in held_by_node[node].items()
            if _may_go(attempt, number, node, probe)
        }
        for leaving in _choices(attempt, lower):
            if _swap(attempt, group, node, leaving):
                for number, count in leaving.items():
                    release(attempt, number, count, waiting)
                return True
    return False


def _choices(attempt: Attempt, lower: dict[int, int]) -> list[dict[int, int]]:
    """Who might leave: one kind of pod, those of lowest priority first; or all of them."""
    ranked = sorted(lower, key=lambda number: (attempt.units[number].priority, number))
    single = [{number: lower[number]} for number in ranked]
    return [*single, lower] if len(lower) > 1 else single


def _candidates(
    attempt: Attempt, probe: Unit, held_by_node: dict[int, dict[int, int]]
) -> list[int]:
    """Nodes that would be large enough if all of lower priority left them."""
    bins = attempt.bins
    free = bins.free[:, : bins.n].copy()
    for node, held in held_by_node.items():
        for number, count in held.items():
            unit = attempt.units[number]
            if unit.priority < probe.priority:
                free[:, node] += unit.request * count
    fits = (free >= probe.request[:, None]).all(axis=0) & bins.accept[probe.mask, : bins.n]
    return [node for node in np.flatnonzero(fits).tolist() if node in held_by_node]


def _may_go(attempt: Attempt, number: int, node: int, probe: Unit) -> bool:
    """Whether pods of a unit may leave a node: nobody there depends on their company."""
    unit, ties = attempt.units[number], attempt.enc.ties
    if unit.priority >= probe.priority:
        return False
    if any(_is_counted_on(attempt, group) for group, _ in unit.members):
        return False
    return not any(
        ties.hosts[term].kind == Kind.AFFINITY and attempt.bins.own[term, node]
        for term in unit.match
    )


def _is_counted_on(attempt: Attempt, group: int) -> bool:
    """Whether pods that were placed count on the pods of this group being where they are."""
    ties, state = attempt.enc.ties, attempt.settler.state
    return any(
        ties.zones[number].kind != Kind.ANTI
        and bool((state.own[number] > ties.zones[number].own_d).any())
        for number in ties.zone_match_g[group]
    )


def _swap(attempt: Attempt, group: int, node: int, lower: dict[int, int]) -> bool:
    """Put one pod of the group on the node in place of the others, if the rules allow."""
    enc, bins = attempt.enc, attempt.bins
    cell = int(bins.cell[node])
    _shift(attempt, node, lower, -1)
    n_cells = len(enc.ties.domains_ck)
    here = np.zeros(n_cells, dtype=np.int64)
    here[cell] = 1
    outlook = Outlook(np.zeros(n_cells, dtype=bool), here, np.zeros(n_cells))
    has_room = bins.room(unit_of(enc, group), slice(node, node + 1))[0] > 0
    if has_room and settle_one(attempt, group, outlook) is not None:
        put_one(attempt, group, cell, node)
        for number in lower:
            _strike(attempt, number, node)
        return True
    _shift(attempt, node, lower, 1)
    return False


def _shift(attempt: Attempt, node: int, held: dict[int, int], sign: int) -> None:
    """Let pods leave a node (or come back), in all counts."""
    for number, count in held.items():
        unit = attempt.units[number]
        attempt.bins.shift(unit, np.array([node]), np.array([sign * count]))
        if unit.cell != ANY_CELL:
            for group, n_pods in _last(unit, count):
                attempt.settler.record(group, unit.cell, sign * n_pods)


def _last(unit: Unit, count: int) -> list[tuple[int, int]]:
    """The groups of the last pods of a unit: those that go first."""
    found = []
    for group, held in reversed(unit.members):
        taken = min(held, count)
        count -= taken
        if taken:
            found.append((group, taken))
    return found


def _strike(attempt: Attempt, number: int, node: int) -> None:
    """Forget that a unit has pods on a node."""
    log = []
    for unit, nodes, counts in attempt.bins.log:
        keep = (nodes != node) | (unit != number)
        if keep.any():
            log.append((unit, nodes[keep], counts[keep]))
    attempt.bins.log = log
