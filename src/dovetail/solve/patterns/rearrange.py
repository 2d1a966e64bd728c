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
_MOST_ROUNDS: Final = 12  # over a plan that wastes much,
_GAIN: Final = 5e-4  # of the price: where a round gains less, it was the last
_OTHERS: Final = 1.5  # times what is wasted: so much other nodes may cost


class Breadth(NamedTuple):
    """How much of a plan is rearranged, and how hard that is tried."""

    most_poor: int = 40  # nodes filled badly
    most_others: int = 120
    looks: int = 500_000  # at nodes, for each unit of effort
    tries: int = 600  # ruins


class NodeContents(NamedTuple):
    """What chosen nodes hold: a load for each, how many pods of which unit make up a sort, and what
    the nodes cost.
    """

    chosen_n: Bool
    loads: list[int]
    units_of_sort: Mapping[int, Counter[int]]
    price: int


_WIDE: Final = Breadth(most_poor=80, most_others=200, looks=2_000_000, tries=2_000)


def rearrange(attempt: Attempt, breadth: Breadth | None = None) -> None:
    """Give the pods of new nodes cheaper nodes, if such are found."""
    breadth = breadth or Breadth()
    chosen_n = _nodes_to_rearrange(attempt, free_to_change(attempt), breadth)
    _rearrange_nodes(attempt, chosen_n, breadth)


def rearrange_widely(attempt: Attempt) -> None:
    """The same for very large plans: each market by itself, then more nodes of all, then each
    market once more.
    """
    if not _is_close(attempt):
        rearrange_by_market(attempt)
        rearrange(attempt, _WIDE)
        rearrange_by_market(attempt)


def rearrange_again_and_again(attempt: Attempt) -> None:
    """The same for plans that waste much: many nodes, then each market, until little is gained."""
    for _ in range(_MOST_ROUNDS):
        before = attempt.price()
        rearrange(attempt, _WIDE)
        rearrange_by_market(attempt)
        if attempt.price() > before * (1 - _GAIN):
            return


def _is_close(attempt: Attempt) -> bool:
    """Whether all pods are worth about what all new nodes cost."""
    price = attempt.price()
    return float(waste_of(attempt).sum()) <= CLOSE * price


def rearrange_by_market(attempt: Attempt) -> None:
    """The same within each market (nodes of one cell, capacity type and zone), where the pods that
    fill a node badly find others to share with. Markets that waste most are tried most often.
    """
    bins, market = attempt.bins, attempt.enc.market
    waste_n = waste_of(attempt) * free_to_change(attempt)
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
    free = np.flatnonzero(free_to_change(attempt) & here_n)
    price = np.maximum(attempt.enc.plan_price_o[bins.offer[free]], 1).astype(np.float64)
    waste = waste_of(attempt)[free]
    chosen_n[free[np.argsort(-waste, kind="stable")[:_MOST_IN_MARKET]]] = True
    chosen_n[free[np.argsort(-waste / price, kind="stable")[: 2 * _MOST_IN_MARKET]]] = True
    return chosen_n


def waste_of(attempt: Attempt) -> Float:
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
    rates = Rates(enc, attempt.offers, WorkBudget(int(UNLIMITED)))
    contents = contents_of(attempt, rates, chosen_n)
    if contents is None:
        return
    effort = Effort(breadth.looks * enc.problem.policy.effort, breadth.tries)
    rebuilder = Rebuilder(enc, rates, attempt.offers, is_keeping=False)
    after = rebuilder.rebuild(contents.loads, bins.limits, effort)
    if rates.total(after) < contents.price or len(after) < len(contents.loads):
        replace_nodes(attempt, contents, rates.nodes(after))


def contents_of(attempt: Attempt, rates: Rates, chosen_n: Bool) -> NodeContents | None:
    """What these nodes hold; None if there are none, or if one would be too small for its pods."""
    bins = attempt.bins
    by_node = {node: pods for node, pods in sorted(loads(bins.log).items()) if chosen_n[node]}
    units_of_sort: dict[int, Counter[int]] = {}
    numbers = []
    for pods in by_node.values():
        load: Counter[int] = Counter()
        for unit, count in pods.items():
            sort = rates.sort_of(attempt.units[unit])
            units_of_sort.setdefault(sort, Counter())[unit] += count
            load[sort] += count
        numbers.append(rates.load(tuple(sorted(load.items()))))
    if not numbers or NO_WAY in numbers:
        return None
    price = sum(int(attempt.enc.plan_price_o[bins.offer[node]]) for node in by_node)
    return NodeContents(chosen_n, numbers, units_of_sort, price)


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


def free_to_change(attempt: Attempt) -> Bool:
    """The new nodes that are not reserved, and where nobody needs company."""
    enc, bins = attempt.enc, attempt.bins
    free_n = np.zeros(bins.n, dtype=bool)
    new = slice(bins.n_kept, bins.n)
    free_n[new] = ~bins.dead[new] & (enc.supply_o[bins.offer[new]] >= UNLIMITED)
    for number, term in enumerate(enc.ties.hosts):
        if term.kind == TermKind.AFFINITY:
            free_n &= bins.own[number, : bins.n] == 0
    return free_n


def replace_nodes(
    attempt: Attempt, contents: NodeContents, nodes: Sequence[tuple[int, Load]]
) -> None:
    """Close the nodes that held these contents, and open others for the same pods."""
    bins = attempt.bins
    dissolve(bins, attempt.units, attempt.left_u, contents.chosen_n)
    placed: dict[int, list[tuple[int, int]]] = {}
    for offer, load in nodes:
        node = bins.open(offer, 1).start
        for sort, count in load:
            for unit, taken in _take_pods(contents.units_of_sort[sort], count):
                placed.setdefault(unit, []).append((node, taken))
    for unit, places in placed.items():
        where, counts = np.array(places, dtype=np.int64).T
        bins.put(unit, attempt.units[unit], where, counts)
        attempt.left_u[unit] -= int(counts.sum())


def _take_pods(left: Counter[int], count: int) -> Iterator[tuple[int, int]]:
    """So many pods of a sort, from whichever units have some left."""
    for number in sorted(left):
        taken = min(left[number], count)
        if taken:
            left[number] -= taken
            count -= taken
            yield number, taken
