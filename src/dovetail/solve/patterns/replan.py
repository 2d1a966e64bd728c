"""Plans the new nodes of a plan again by patterns, where they cost much more than their pods are
worth: mostly where small nodes are cheapest, and so whole pods matter on each of them.

Nodes that waste most are rearranged several times; where that is not enough, all new nodes are
filled by patterns, and rearranged again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from dovetail.solve.axes import UNLIMITED
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.contents import entries
from dovetail.solve.patterns.dive import DiveDepth, dive
from dovetail.solve.patterns.generation import Generator
from dovetail.solve.patterns.market import pattern_market
from dovetail.solve.patterns.master import Master
from dovetail.solve.patterns.planning import (
    FEW_PODS,
    first_worths,
    known_patterns,
    load_of,
    with_the_rest,
)
from dovetail.solve.patterns.rearrange import (
    NodeContents,
    contents_of,
    free_to_change,
    rearrange_again_and_again,
    replace_nodes,
    waste_of,
)
from dovetail.solve.patterns.rebuild import Effort, Rebuilder
from dovetail.solve.search.improve import Improver
from dovetail.solve.search.rates import NO_LOAD, NO_WAY, Rates, WorkBudget

_WASTE: Final = 0.018  # of the price: a plan that wastes less is good enough
_MOST_WASTE: Final = 0.3  # of the price: more has reasons that patterns know nothing of
_MOST_SORTS: Final = 150
_ROUNDS: Final = 200  # of generation, before the dive
_DEPTH: Final = DiveDepth(rounds=1, steps=200, rest=0.03)
_WORK: Final = 200_000_000  # cells of tables, for each unit of effort
_TRIES: Final = 3_000
_LOOKS: Final = 5_000_000  # at nodes, for each unit of effort


def replan_by_patterns(attempt: Attempt) -> None:
    """Give the pods of new nodes cheaper nodes, where those waste much and patterns can help; a
    plan for a few pods was searched in better ways.
    """
    enc = attempt.enc
    if not enc.problem.policy.effort or int(enc.count_g.sum()) <= FEW_PODS:
        return
    if _has_few_plain_sorts(attempt) and _is_wasteful(attempt):
        before = attempt.price()
        rearrange_again_and_again(attempt)
        # Where a few nodes at a time gain nothing, neither do all together.
        if attempt.price() < before and _is_wasteful(attempt):
            _replan(attempt)


def _is_wasteful(attempt: Attempt) -> bool:
    """Whether the nodes that may change cost much more than their pods are worth."""
    waste_n = waste_of(attempt)[free_to_change(attempt)]
    return _WASTE < float(waste_n.sum()) / max(attempt.price(), 1) < _MOST_WASTE


def _has_few_plain_sorts(attempt: Attempt) -> bool:
    """Whether few sorts of pods are on the nodes that may change, and none keeps others away: where
    some do, waste has other reasons.
    """
    units, nodes, _ = entries(attempt.bins.log)
    numbers = np.unique(units[free_to_change(attempt)[nodes]]).tolist()
    return len(numbers) <= _MOST_SORTS and not any(attempt.units[n].own for n in numbers)


def _replan(attempt: Attempt) -> None:
    """Fill all nodes that may change by patterns, and improve that; undone if it is dearer."""
    rates = Rates(attempt.enc, attempt.offers, WorkBudget(int(UNLIMITED)))
    before = contents_of(attempt, rates, free_to_change(attempt))
    if before is None or not _are_plain(before, rates):
        return
    loads = _loads_of_whole_nodes(attempt, rates, before)
    if loads is None:
        return
    replace_nodes(attempt, before, rates.nodes(loads))
    rearrange_again_and_again(attempt)
    after = contents_of(attempt, rates, free_to_change(attempt))
    if after is not None and after.price >= before.price:
        replace_nodes(attempt, after, rates.nodes(before.loads))


def _are_plain(contents: NodeContents, rates: Rates) -> bool:
    """Whether every pod can be alone on a node, and claims no device."""
    return all(
        not rates.units[sort].claims and rates.with_one_more(NO_LOAD, sort) != NO_WAY
        for sort in contents.units_of_sort
    )


def _loads_of_whole_nodes(
    attempt: Attempt, rates: Rates, contents: NodeContents
) -> list[int] | None:
    """Loads for the same pods that limits allow; None if none are found."""
    enc, limits = attempt.enc, attempt.bins.limits
    pods = {sort: units.total() for sort, units in sorted(contents.units_of_sort.items())}
    improver = Improver(rates, (), limits, WorkBudget(int(UNLIMITED)))
    loads = _loads_by_patterns(attempt, rates, pods, contents.loads)
    parts = with_the_rest(rates, improver, loads, pods)
    if parts is None:
        return None
    loads = parts[0] + parts[1].loads
    effort = Effort(_LOOKS * enc.problem.policy.effort, _TRIES)
    rebuilder = Rebuilder(enc, rates, attempt.offers, is_keeping=False)
    loads = rebuilder.rebuild(loads, limits, effort)
    return loads if _are_within_limits(attempt, rates, contents, loads) else None


def _loads_by_patterns(
    attempt: Attempt, rates: Rates, pods: dict[int, int], start: Sequence[int]
) -> list[int]:
    """Loads of whole nodes for most of these pods."""
    enc, sorts = attempt.enc, list(pods)
    units = [rates.units[sort] for sort in sorts]
    count_s = np.array([pods[sort] for sort in sorts], dtype=np.int64)
    offers = attempt.offers[enc.supply_o[attempt.offers] >= UNLIMITED]
    market = pattern_market(enc, units, count_s, offers)
    worth_s = first_worths(attempt, np.array([unit.request for unit in units]))
    generator = Generator(market, worth_s, _WORK * enc.problem.policy.effort)
    master = Master(count_s)
    generator.add(master, known_patterns(rates, sorts, start))
    generator.generate(master, count_s, _ROUNDS)
    nodes = dive(generator, master, _DEPTH, by_price=True)
    return [
        load for load in (load_of(rates, sorts, count_s) for count_s in nodes) if load != NO_WAY
    ]


def _are_within_limits(
    attempt: Attempt, rates: Rates, contents: NodeContents, loads: Sequence[int]
) -> bool:
    """Whether limits allow nodes for these loads once those with the contents are gone."""
    bins = attempt.bins
    before = bins.offer[: bins.n][contents.chosen_n]
    after = [rates.offer[load] for load in loads]
    return all(
        int(row[after].sum()) <= max(left, 0) + int(row[before].sum())
        for row, left in zip(bins.limits.rows, bins.limits.left, strict=True)
    )
