"""Rearranges the worst nodes of a large plan: to settle all groups again would take too long.

Numbers of nodes are rounded and pods are whole, so that some nodes are filled badly: most of all in
small markets, such as on-demand nodes for a few pods. Those nodes, and some others whose pods might
fill them, are taken apart and put together again. Units keep their cells, and pods on existing
nodes stay. Nodes from reservations, and nodes on which pods need each other's company, stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from dovetail.solve.axes import UNLIMITED, Bool, Float
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.contents import entries, loads
from dovetail.solve.packing.dissolve import dissolve, worth_of_nodes
from dovetail.solve.patterns.planning import CLOSE
from dovetail.solve.patterns.rebuild import Effort, Rebuilder
from dovetail.solve.search.rates import NO_WAY, Load, Rates, WorkBudget

_FEW_SORTS: Final = 150  # of pods, and
_FEW_NODES: Final = 30  # in a plan that is rearranged as a whole
_MARKET_TRIES: Final = 2_000  # over all markets,
_SMALL_SHARE: Final = 0.05  # of which those that waste less than this share of all waste are left
_MOST_IN_MARKET: Final = 12
_POOR: Final = 0.02  # of its price: a node that wastes more is filled badly
_OTHERS: Final = 1.5  # times what is wasted: so much other nodes may cost


class Breadth(NamedTuple):
    """How much of a plan is rearranged, and how hard that is tried."""

    most_poor: int = 40  # nodes filled badly
    most_others: int = 120
    looks: int = 500_000  # at nodes, for each unit of effort
    tries: int = 600  # ruins


_WIDE: Final = Breadth(most_poor=80, most_others=200, looks=2_000_000, tries=2_000)


def rearrange(attempt: Attempt, breadth: Breadth | None = None) -> None:
    """Give the pods of new nodes cheaper nodes, if such are found."""
    breadth = breadth or Breadth()
    chosen_n = _nodes_to_rearrange(attempt, _free_to_change(attempt), breadth)
    _rearrange_nodes(attempt, chosen_n, breadth)


def rearrange_widely(attempt: Attempt) -> None:
    """The same for very large plans: each market by itself, then more nodes of all, then each
    market once more.
    """
    if not _is_close(attempt):
        rearrange_by_market(attempt)
        rearrange(attempt, _WIDE)
        rearrange_by_market(attempt)


def _is_close(attempt: Attempt) -> bool:
    """Whether all pods are worth about what all new nodes cost."""
    price = attempt.price()
    return float(_waste(attempt).sum()) <= CLOSE * price


def rearrange_by_market(attempt: Attempt) -> None:
    """The same within each market (nodes of one cell, capacity type and zone), where the pods that
    fill a node badly find others to share with. Markets that waste most are tried most often.
    """
    bins, market = attempt.bins, attempt.enc.market
    waste_n = _waste(attempt) * _free_to_change(attempt)
    new = np.arange(bins.n_kept, bins.n)
    code_n = np.full(bins.n, -1)
    offer = bins.offer[new]
    code_n[new] = attempt.enc.cell_o[offer] * len(market.ways) + market.way_o[offer]
    waste_by_market = {
        int(code): float(np.maximum(waste_n[code_n == code], 0.0).sum())
        for code in np.unique(code_n[new])
    }
    total = sum(waste_by_market.values())
    for code, waste in sorted(waste_by_market.items(), key=lambda item: (-item[1], item[0])):
        if waste > _SMALL_SHARE * total:
            chosen_n = _worst_of(attempt, code_n == code)
            tries = int(_MARKET_TRIES * waste / total)
            _rearrange_nodes(attempt, chosen_n, Breadth(looks=_WIDE.looks, tries=tries))
            code_n = np.pad(code_n, (0, bins.n - len(code_n)), constant_values=-1)


def _worst_of(attempt: Attempt, here_n: Bool) -> Bool:
    """The nodes of a market that waste most, and those that hold least for their price."""
    bins = attempt.bins
    chosen_n = np.zeros(bins.n, dtype=bool)
    free = np.flatnonzero(_free_to_change(attempt) & here_n)
    price = np.maximum(attempt.enc.plan_price_o[bins.offer[free]], 1).astype(np.float64)
    waste = _waste(attempt)[free]
    chosen_n[free[np.argsort(-waste, kind="stable")[:_MOST_IN_MARKET]]] = True
    chosen_n[free[np.argsort(-waste / price, kind="stable")[: 2 * _MOST_IN_MARKET]]] = True
    return chosen_n


def _waste(attempt: Attempt) -> Float:
    """What each new node costs, beyond what its pods are worth; nothing for all others."""
    bins = attempt.bins
    waste_n = np.zeros(bins.n)
    new = np.arange(bins.n_existing, bins.n)
    new = new[~bins.dead[new]]
    worth_n = worth_of_nodes(bins, attempt.worths())
    waste_n[new] = attempt.enc.plan_price_o[bins.offer[new]] - worth_n[new]
    return waste_n


def _rearrange_nodes(attempt: Attempt, chosen_n: Bool, breadth: Breadth) -> None:
    """Give the pods of these nodes cheaper nodes, if such are found."""
    enc, bins = attempt.enc, attempt.bins
    held = {node: pods for node, pods in sorted(loads(bins.log).items()) if chosen_n[node]}
    rates = Rates(enc, attempt.offers, WorkBudget(int(UNLIMITED)))
    numbers: dict[int, Counter[int]] = {}  # sort -> how many pods of which unit
    before = []
    for pods in held.values():
        load: Counter[int] = Counter()
        for number, count in pods.items():
            sort = rates.sort_of(attempt.units[number])
            numbers.setdefault(sort, Counter())[number] += count
            load[sort] += count
        before.append(rates.load(tuple(sorted(load.items()))))
    if not before or NO_WAY in before:
        return
    effort = Effort(breadth.looks * enc.problem.policy.effort, breadth.tries)
    rebuilder = Rebuilder(enc, rates, attempt.offers, is_keeping=False)
    after = rebuilder.rebuild(before, bins.limits, effort)
    price = sum(int(enc.plan_price_o[bins.offer[node]]) for node in held)
    if rates.total(after) < price or len(after) < len(held):
        nodes = [(rates.offer[one], rates.loads[one]) for one in after]
        _replace(attempt, chosen_n, nodes, numbers)


def _nodes_to_rearrange(attempt: Attempt, free_n: Bool, breadth: Breadth) -> Bool:
    """The nodes to rearrange: none if all pods are worth about what all nodes cost, all of them if
    they are few, else those whose pods are worth least of what they cost, and as many others as
    those have room for.
    """
    bins, price_o = attempt.bins, attempt.enc.plan_price_o
    chosen_n = np.zeros(bins.n, dtype=bool)
    free = np.flatnonzero(free_n)
    if not len(free):
        return chosen_n
    price = price_o[bins.offer[free]].astype(np.float64)
    worth = worth_of_nodes(bins, attempt.worths())[free]
    waste = price - worth
    if waste.sum() <= CLOSE * worth.sum():
        return chosen_n
    numbers, nodes, _ = entries(bins.log)
    if len(free) <= _FEW_NODES and len(np.unique(numbers[free_n[nodes]])) <= _FEW_SORTS:
        return free_n
    order = np.argsort(-waste, kind="stable")
    worst = order[: breadth.most_poor]
    poor = worst[waste[worst] > _POOR * price[worst]]
    others = np.setdiff1d(order, poor)
    others = others[np.argsort((worth / np.maximum(price, 1.0))[others], kind="stable")]
    n_others = int(np.searchsorted(np.cumsum(price[others]), _OTHERS * waste[poor].sum())) + 1
    chosen_n[free[poor]] = True
    chosen_n[free[others[: min(n_others, breadth.most_others)]]] = True
    return chosen_n


def _free_to_change(attempt: Attempt) -> Bool:
    """The new nodes that are not reserved, and where nobody needs company."""
    enc, bins = attempt.enc, attempt.bins
    free_n = np.zeros(bins.n, dtype=bool)
    new = slice(bins.n_kept, bins.n)
    free_n[new] = ~bins.dead[new] & (enc.supply_o[bins.offer[new]] >= UNLIMITED)
    for number, term in enumerate(enc.ties.hosts):
        if term.kind == TermKind.AFFINITY:
            free_n &= bins.own[number, : bins.n] == 0
    return free_n


def _replace(
    attempt: Attempt,
    gone_n: Bool,
    nodes: Sequence[tuple[int, Load]],
    numbers: Mapping[int, Counter[int]],
) -> None:
    """Close these nodes and open others for the same pods."""
    bins = attempt.bins
    dissolve(bins, attempt.units, attempt.left_u, gone_n)
    placed: dict[int, list[tuple[int, int]]] = {}
    for offer, load in nodes:
        node = bins.open(offer, 1).start
        for sort, count in load:
            for number, taken in _take_pods(numbers[sort], count):
                placed.setdefault(number, []).append((node, taken))
    for number, places in placed.items():
        where, counts = np.array(places, dtype=np.int64).T
        bins.put(number, attempt.units[number], where, counts)
        attempt.left_u[number] -= int(counts.sum())


def _take_pods(left: Counter[int], count: int) -> Iterator[tuple[int, int]]:
    """So many pods of a sort, from whichever units have some left."""
    for number in sorted(left):
        taken = min(left[number], count)
        if taken:
            left[number] -= taken
            count -= taken
            yield number, taken
