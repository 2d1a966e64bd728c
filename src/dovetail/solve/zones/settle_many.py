"""Settles the zones of many groups at once, where no existing node has room for any of them.

The compiled twin of `_settle_group` in `settle` and of `Settler.settle`, in `quotas.c`, for groups
that prefer no cell. What was counted by domain is laid end to end for it, term after term, and is
taken back afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.kernel.loading import Library
from dovetail.solve.kernel.structures import QuotasStruct, pointer_to
from dovetail.solve.packing.attempt import Attempt, Step
from dovetail.solve.packing.units import ANY_WEIGHT
from dovetail.solve.program.pod_worth import takes

_Arrays = dict[str, npt.NDArray[np.generic]]  # by the names of fields in `quotas.c`
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
    library: Library, attempt: Attempt, groups: Sequence[int]
) -> tuple[list[Step], list[tuple[int, int, int, int]]]:
    """Settle these groups in this order: the turns they take, and what goes where in the end, with
    the weight of the pools that it is for.
    """
    count_g = attempt.enc.count_g[list(groups)]
    launchable = ways(attempt, groups)
    worth_gc = attempt.values.worth_sc[attempt.values.shape_g[list(groups)]]
    placed_gc = np.zeros(worth_gc.shape, dtype=np.int64)
    n_turns_g = np.zeros(len(groups), dtype=np.int64)
    cells, steps = np.empty((2, int(count_g.sum())), dtype=np.int64)
    counts = _zone_counts(attempt)
    quotas = QuotasStruct(
        n_groups=len(groups),
        n_cells=worth_gc.shape[1],
        has_weights=len(attempt.weights) > 1,
        **_terms(attempt),
        **counts,
        **_followers(attempt),
        count=count_g,
        **_groups(attempt, groups),
        is_open=launchable.is_open_gc,
        order=np.lexsort((worth_gc, -launchable.weight_gc), axis=1),
        weight=launchable.weight_gc,
        is_there=_company_there(attempt),
        **_scratch(attempt),
        placed=placed_gc,
        n_turns=n_turns_g,
        cells=cells,
        steps=steps,
        n_turns_in_all=0,
    )
    library.dovetail_settle(pointer_to(quotas))
    _take_back(attempt, counts)
    group_numbers, n_turns = np.array(groups, dtype=np.int64), int(quotas.n_turns_in_all)
    turns = (np.repeat(group_numbers, n_turns_g), cells[:n_turns], steps[:n_turns])
    place, cell = np.nonzero(placed_gc)
    pools = launchable.top_gc[place, cell]
    settled = (group_numbers[place], cell, placed_gc[place, cell], pools)
    return (
        list(zip(*(column.tolist() for column in turns), strict=True)),
        list(zip(*(column.tolist() for column in settled), strict=True)),
    )


def _zone_counts(attempt: Attempt) -> _Arrays:
    """Term after term and domain after domain: who is selected, who states, what is foreseen."""
    state = attempt.settler.state
    return {
        "match": np.concatenate(state.match),
        "own": np.concatenate(state.own),
        "foreseen": np.concatenate(state.foreseen),
    }


def _take_back(attempt: Attempt, counts: _Arrays) -> None:
    """Let the state of zones be what was counted."""
    state, start = attempt.settler.state, 0
    for number, match in enumerate(state.match):
        mine = slice(start, start + len(match))
        match[:] = counts["match"][mine]
        state.own[number][:] = counts["own"][mine]
        state.foreseen[number][:] = counts["foreseen"][mine]
        start = mine.stop


def _followers(attempt: Attempt) -> _Arrays:
    """Term after term and domain after domain which domains nodes make and who could follow; and
    for which terms the latter is known.
    """
    followers, match = attempt.settler.followers, attempt.settler.state.match
    by_term = [followers.get(number, np.zeros_like(row)) for number, row in enumerate(match)]
    is_known = [number in followers for number in range(len(match))]
    return {
        "seen": np.concatenate(attempt.settler.state.seen),
        "followers": np.concatenate(by_term),
        "has_followers": np.array(is_known, dtype=bool),
    }


def _scratch(attempt: Attempt) -> _Arrays:
    """Room for the loop to work in: marks of cells and domains, and numbers of cells."""
    n_cells = len(attempt.settler.domain_ck)
    n_domains = max(len(row) for row in attempt.settler.state.match)
    marks = dict.fromkeys(("launch", "allowed", "fine"), n_cells) | {"reach": n_domains}
    return {
        **{name: np.empty(size, dtype=bool) for name, size in marks.items()},
        **{name: np.empty(n_cells, dtype=np.int64) for name in ("most", "crowd", "lure")},
    }


def _terms(attempt: Attempt) -> _Arrays:
    """What zone terms are, each array in the order of the terms."""
    zones = attempt.enc.ties.zones
    size = np.array([len(term.match_d) for term in zones], dtype=np.int64)
    is_lone = [len(term.groups) == 1 and not term.match_d.any() for term in zones]
    return {
        "domain": attempt.settler.domain_ck.T,
        "kind": np.array([term.kind for term in zones], dtype=np.int64),
        "key": np.array([term.key for term in zones], dtype=np.int64),
        "skew": np.array([term.max_skew for term in zones], dtype=np.int64),
        "min_domains": np.array([term.min_domains for term in zones], dtype=np.int64),
        "start": np.cumsum(size) - size,
        "size": size,
        "counts": np.array([term.counts_c for term in zones], dtype=bool),
        "is_lone": np.array(is_lone, dtype=bool),
    }


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
    own_from, own_terms = _end_to_end([ties.zone_own_g[group] for group in groups])
    match_from, match_terms = _end_to_end([ties.zone_match_g[group] for group in groups])
    lack_from, lack_terms = _end_to_end(lacks)
    offer_from, offered = _end_to_end([ties.host_match_g[group] for group in groups])
    return {
        "own_from": own_from,
        "own_terms": own_terms,
        "match_from": match_from,
        "match_terms": match_terms,
        "lack_from": lack_from,
        "lacks": lack_terms,
        "offer_from": offer_from,
        "offered": offered,
        "may_lead": may_lead,
        "wants_host": wants_host,
    }


def _end_to_end(lists: Sequence[Sequence[int]]) -> tuple[Int, Int]:
    """Where each list begins (and the last one ends), and all of them one after another."""
    start = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(numbers) for numbers in lists], out=start[1:])
    return start, np.fromiter(chain.from_iterable(lists), np.int64, int(start[-1]))


def _company_there(attempt: Attempt) -> npt.NDArray[np.bool_]:
    """For every host term, whether pods that it selects are settled already."""
    there = np.zeros(len(attempt.enc.ties.hosts), dtype=bool)
    for unit in attempt.units:
        if unit.count:
            there[list(unit.match)] = True
    return there
