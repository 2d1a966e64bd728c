"""Chooses cells anew for pods that are tied to zones, together with their nodes.

Groups are settled in cells before nodes are packed, a group at a time. Here the pods of a good plan
are packed once more while those that may move choose their cells with their nodes: pods that follow
others go wherever one of those others is; pods that others follow leave one behind in every cell;
pods of a spread leave behind what the spread needs. Where pods went is then wished for, pod by pod,
when groups are settled again: only what the constraints allow is granted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.units import ANY_CELL, PodUnit, unit_of
from dovetail.solve.patterns.market import acceptance
from dovetail.solve.patterns.rebuild import task_of
from dovetail.solve.patterns.recreate import RebuildTask, cheapest, recreate
from dovetail.solve.search.drafts import Draft
from dovetail.solve.search.rates import Rates
from dovetail.solve.zones.quotas import Split, simple_spread, spread_range


@dataclass(frozen=True, slots=True)
class Moved:
    """Cells for the pods of some groups, and loads of nodes there."""

    splits: dict[int, Split]
    loads: list[int]


@dataclass(frozen=True, slots=True)
class _Row:
    """Pods of one unit that stay in their cell, or that may go to any of some cells."""

    unit: PodUnit
    group: int  # -1: of several groups, or of one that is not tied to zones
    cells: tuple[int, ...] = ()  # none: where the unit is


def relocate_cells(
    rates: Rates,
    draft: Draft,
    loads: Sequence[int],
    effort: tuple[int, int],
    only: int | None = None,
) -> Moved | None:
    """Cells that cost less for pods that may move, of all groups or of only one; None if none may,
    or none are found.
    """
    attempt = draft.attempt
    rows, counts = _rows(rates, attempt, loads, only)
    if not any(row.cells for row in rows):
        return None
    enc = attempt.enc
    offers = attempt.offers[enc.supply_o[attempt.offers] >= UNLIMITED]
    offers = offers[np.lexsort((offers, enc.plan_price_o[offers]))]
    task = _task(enc, rows, offers)
    after, _ = recreate(task, counts, *effort)
    cell_n = enc.cell_o[offers[cheapest(task, np.array(after))]].tolist()
    nodes = list(zip(after, cell_n, strict=True))
    return Moved(_splits(rows, nodes), list(_loads(rates, rows, nodes)))


def _rows(
    rates: Rates, attempt: Attempt, loads: Sequence[int], only: int | None
) -> tuple[list[_Row], list[Int]]:
    """The pods of all loads: two rows for a unit of which some stay and others may move."""
    number_of = {rates.sort_of(unit): number for number, unit in enumerate(attempt.units)}
    used = sorted({sort for load in loads for sort, _ in rates.loads[load]})
    rows, place, stay = list[_Row](), dict[int, int](), dict[int, int]()
    for sort in used:
        unit = attempt.units[number_of[sort]]
        group = unit.members[0][0] if len(unit.members) == 1 else -1
        is_free = only is None or group == only
        cells, stay[sort] = _freedom(attempt, unit) if is_free else ((), unit.count)
        place[sort] = len(rows)
        rows += [_Row(unit, group), _Row(unit, group, cells)]
    counts = []
    for load in loads:
        n_placed = np.zeros(len(rows), dtype=np.int64)
        for sort, count in rates.loads[load]:
            kept = min(count, stay[sort])
            stay[sort] -= kept
            n_placed[place[sort]], n_placed[place[sort] + 1] = kept, count - kept
        counts.append(n_placed)
    return rows, counts


def _freedom(attempt: Attempt, unit: PodUnit) -> tuple[tuple[int, ...], int]:
    """The cells where pods of a unit may go, and how many of them stay; all, if none may go."""
    everyone = (), unit.count
    enc, ties = attempt.enc, attempt.enc.ties
    if unit.cell == ANY_CELL or len(unit.members) != 1:
        return everyone
    group = unit.members[0][0]
    own, match = ties.zone_own_g[group], ties.zone_match_g[group]
    open_c = np.isfinite(attempt.values.cell_worth(group))
    zone = simple_spread(enc, group)
    if zone is not None:
        bounds = spread_range(enc, group, zone, open_c)
        domain = ties.domains_ck[unit.cell, ties.zones[zone].key]
        return everyone if bounds is None else (_places(open_c), int(bounds[0][domain]))
    kinds = {ties.zones[number].kind for number in (*own, *match)}
    if kinds != {TermKind.AFFINITY} or set(own) & set(match):
        return everyone
    for number in own:
        domain_c = ties.domains_ck[:, ties.zones[number].key]
        is_there_d = attempt.settler.state.match[number] > 0
        open_c = open_c & (domain_c >= 0) & is_there_d[domain_c]
    return _places(open_c), min(1, unit.count) if match else 0


def _places(open_c: Bool) -> tuple[int, ...]:
    return tuple(np.flatnonzero(open_c).tolist())


def _task(enc: Encoded, rows: Sequence[_Row], offers: Int) -> RebuildTask:
    units = [
        unit_of(enc, row.group, ANY_CELL, row.unit.weight) if row.cells else row.unit
        for row in rows
    ]
    accept_so = acceptance(enc, units, offers)
    for place, row in enumerate(rows):
        if row.cells:
            accept_so[place] &= np.isin(enc.cell_o[offers], row.cells)
    return task_of(enc, units, offers, accept_so)


def _splits(rows: Sequence[_Row], nodes: Sequence[tuple[Int, int]]) -> dict[int, Split]:
    """For every group of which some pods might have moved: a cell for each pod."""
    cells: dict[int, list[int]] = {row.group: [] for row in rows if row.cells}
    for counts, cell in nodes:
        for place in np.flatnonzero(counts).tolist():
            row = rows[place]
            if row.group in cells:
                cells[row.group] += [cell if row.cells else row.unit.cell] * int(counts[place])
    return {group: Split(sorted(wished)) for group, wished in cells.items()}


def _loads(rates: Rates, rows: Sequence[_Row], nodes: Sequence[tuple[Int, int]]) -> Iterator[int]:
    """The nodes as loads, with pods that moved in their new cells."""
    for counts, cell in nodes:
        pods: Counter[int] = Counter()
        for place in np.flatnonzero(counts).tolist():
            row, unit = rows[place], rows[place].unit
            if row.cells:
                unit = unit_of(rates.enc, row.group, cell, unit.weight)
            pods[rates.sort_of(unit)] += int(counts[place])
        yield rates.load(tuple(sorted(pods.items())))
