"""How are many groups settled at once, if no node has room for any of them?

The compiled twin of `_settle_group` in `settle` and of `Settler.settle`, in `quotas.c`, for groups
that prefer no cell. What was counted by domain is laid end to end for it, term after term, and is
taken back afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.kernel import loops
from dovetail.solve.packing.attempt import Attempt, Step
from dovetail.solve.packing.units import ANY_WEIGHT
from dovetail.solve.program.pod_worth import takes

_Arrays = list[npt.NDArray[np.generic]]
_ROWS: Final = 1000  # groups that are compared with all offers at a time


@dataclass(frozen=True, slots=True)
class Ways:
    """groups x cells: where nodes may be launched for each, by how heavy a pool, and by how heavy a
    one if limits were no matter.
    """

    is_open_gc: Bool
    weight_gc: Int
    top_gc: Int


def ways(attempt: Attempt, groups: Sequence[int]) -> Ways:
    """Where nodes may be launched for these groups."""
    values = attempt.values
    is_open = values.is_open_sc[values.shape_g[list(groups)]]
    has_weights = len(attempt.weights) > 1
    weight_gc = np.full(is_open.shape, ANY_WEIGHT)
    if not has_weights and not attempt.bins.limits.are_finite:
        return Ways(is_open, weight_gc, weight_gc)
    top_gc = weight_gc.copy()
    for start in range(0, len(groups), _ROWS):
        some = slice(start, start + _ROWS)
        _weigh(attempt, groups[some], weight_gc[some], top_gc[some])
    is_open = is_open & (weight_gc > ANY_WEIGHT)
    if has_weights:
        return Ways(is_open, weight_gc, top_gc)
    nothing = np.full(is_open.shape, ANY_WEIGHT)
    return Ways(is_open, nothing, nothing)


def _weigh(attempt: Attempt, groups: Sequence[int], weight_gc: Int, top_gc: Int) -> None:
    """Find the heaviest pools of every cell that take each group, with limits and without."""
    enc, offers = attempt.enc, attempt.offers
    weight_p, cell_p = enc.weight_o[offers], enc.cell_o[offers]
    top_gp = np.where(takes(enc, np.array(groups), offers), weight_p, ANY_WEIGHT)
    is_left_p = attempt.bins.limits.open_offers()[offers]
    for cell in range(top_gc.shape[1]):
        here = cell_p == cell
        top_gc[:, cell] = top_gp[:, here].max(axis=1, initial=ANY_WEIGHT)
        weight_gc[:, cell] = top_gp[:, here & is_left_p].max(axis=1, initial=ANY_WEIGHT)


def settle_at_once(
    library: CDLL, attempt: Attempt, groups: Sequence[int]
) -> tuple[list[Step], list[tuple[int, int, int, int]]]:
    """Settle these groups in this order: the turns they take, and what goes where in the end, with
    the weight of the pools that it is for.
    """
    count_g = attempt.enc.count_g[list(groups)]
    found = ways(attempt, groups)
    worth_gc = attempt.values.worth_sc[attempt.values.shape_g[list(groups)]]
    placed_gc = np.zeros(worth_gc.shape, dtype=np.int64)
    n_turns_g = np.zeros(len(groups), dtype=np.int64)
    cells, steps = np.empty((2, int(count_g.sum())), dtype=np.int64)
    counted = _zone_counts(attempt)
    arrays: _Arrays = [
        *_terms(attempt),
        *counted,
        np.concatenate(attempt.settler.state.seen),
        *_followers(attempt),
        count_g,
        *_groups(attempt, groups),
        found.is_open_gc,
        np.lexsort((worth_gc, -found.weight_gc), axis=1),
        found.weight_gc,
        _company_there(attempt),
        *_scratch(attempt),
        placed_gc,
        n_turns_g,
        cells,
        steps,
    ]
    kept = [np.ascontiguousarray(one) for one in arrays]
    shape = (*worth_gc.shape, len(attempt.weights) > 1)
    block = np.array([*shape, *map(loops.address, kept), 0], dtype=np.int64)
    library.dovetail_settle(loops.address(block))
    _take_back(attempt, counted)
    who, n_turns = np.array(groups, dtype=np.int64), int(block[-1])
    turns = (np.repeat(who, n_turns_g), cells[:n_turns], steps[:n_turns])
    place, cell = np.nonzero(placed_gc)
    settled = (who[place], cell, placed_gc[place, cell], found.top_gc[place, cell])
    return (
        list(zip(*(one.tolist() for one in turns), strict=True)),
        list(zip(*(one.tolist() for one in settled), strict=True)),
    )


def _zone_counts(attempt: Attempt) -> _Arrays:
    """Term after term and domain after domain: who is selected, who states, what is foreseen."""
    state = attempt.settler.state
    return [np.concatenate(one) for one in (state.match, state.own, state.foreseen)]


def _take_back(attempt: Attempt, counted: _Arrays) -> None:
    """Let the state of zones be what was counted."""
    state, start = attempt.settler.state, 0
    for number, match in enumerate(state.match):
        mine = slice(start, start + len(match))
        match[:] = counted[0][mine]
        state.own[number][:] = counted[1][mine]
        state.foreseen[number][:] = counted[2][mine]
        start = mine.stop


def _followers(attempt: Attempt) -> _Arrays:
    """Term after term and domain after domain who could follow; and for which terms one knows."""
    followers, match = attempt.settler.followers, attempt.settler.state.match
    found = [followers.get(number, np.zeros_like(one)) for number, one in enumerate(match)]
    is_known = [number in followers for number in range(len(match))]
    return [np.concatenate(found), np.array(is_known, dtype=bool)]


def _scratch(attempt: Attempt) -> _Arrays:
    """Room for the loop to work in: marks of cells and domains, and numbers of cells."""
    n_cells = len(attempt.settler.domain_ck)
    n_domains = max(len(one) for one in attempt.settler.state.match)
    marks = (*np.empty((3, n_cells), dtype=bool), np.empty(n_domains, dtype=bool))
    return [*marks, *np.empty((3, n_cells), dtype=np.int64)]


def _terms(attempt: Attempt) -> _Arrays:
    """What zone terms are, each array in the order of the terms."""
    zones = attempt.enc.ties.zones
    size = np.array([len(term.match_d) for term in zones], dtype=np.int64)
    columns = [(term.kind, term.key, term.max_skew, term.min_domains) for term in zones]
    return [
        attempt.settler.domain_ck.T,
        *np.array(columns, dtype=np.int64).T,
        np.cumsum(size) - size,
        size,
        np.array([term.counts_c for term in zones], dtype=bool),
        np.array([len(term.groups) == 1 and not term.match_d.any() for term in zones], dtype=bool),
    ]


def _groups(attempt: Attempt, groups: Sequence[int]) -> _Arrays:
    """What groups are, each array in the order of the groups."""
    ties = attempt.enc.ties
    hosts = {number for number, term in enumerate(ties.hosts) if term.kind == TermKind.AFFINITY}
    zones = {number for number, term in enumerate(ties.zones) if term.kind == TermKind.AFFINITY}
    lacks: list[Sequence[int]] = [()] * len(groups)
    may_lead, wants_host = np.zeros((2, len(groups)), dtype=bool)
    for place, group in enumerate(groups if hosts or zones else ()):
        here = hosts.intersection(ties.host_own_g[group])
        there = zones.intersection(ties.zone_own_g[group])
        if here or there:
            others = here.difference(ties.host_match_g[group])
            lacks[place] = [t for t in sorted(others) if ties.hosts[t].match_o is None]
            wants_host[place] = bool(here)
            may_lead[place] = not others and there.issubset(ties.zone_match_g[group])
    return [
        *_end_to_end([ties.zone_own_g[group] for group in groups]),
        *_end_to_end([ties.zone_match_g[group] for group in groups]),
        *_end_to_end(lacks),
        *_end_to_end([ties.host_match_g[group] for group in groups]),
        may_lead,
        wants_host,
    ]


def _end_to_end(lists: Sequence[Sequence[int]]) -> tuple[Int, Int]:
    """Where each list begins (and the last one ends), and all of them one after another."""
    start = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(one) for one in lists], out=start[1:])
    return start, np.fromiter(chain.from_iterable(lists), np.int64, int(start[-1]))


def _company_there(attempt: Attempt) -> npt.NDArray[np.bool_]:
    """For every host term, whether pods that it selects are settled already."""
    there = np.zeros(len(attempt.enc.ties.hosts), dtype=bool)
    for unit in attempt.units:
        if unit.count:
            there[list(unit.match)] = True
    return there
