"""Rearranges the new nodes of a large plan, where settling all groups again would take too long.

Units keep their cells, and pods on existing nodes stay. Nodes from reservations, and nodes on which
pods need each other's company, stay as they are.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from dovetail.solve.attempt import Attempt
from dovetail.solve.axes import UNLIMITED, Bool
from dovetail.solve.contents import loads
from dovetail.solve.dissolve import dissolve
from dovetail.solve.improve import Improver, Layout
from dovetail.solve.patterns.planning import NEAR, least_price, pattern_loads, with_the_rest
from dovetail.solve.patterns.rebuild import Effort, Rebuilder
from dovetail.solve.rates import NO_WAY, Purse, Rates
from dovetail.solve.terms import Kind

_MOST_SORTS: Final = 150  # of pods: with more, little is found in a long time
_LOOKS: Final = 100  # at nodes, for each pod
_MOST_LOOKS: Final = 600_000


def rearrange(attempt: Attempt) -> None:
    """Give the pods of new nodes cheaper nodes, if such are found."""
    enc, bins = attempt.enc, attempt.bins
    free_n = _free_to_change(attempt)
    held = {node: pods for node, pods in sorted(loads(bins.log).items()) if free_n[node]}
    if len({number for pods in held.values() for number in pods}) > _MOST_SORTS:
        return
    rates = Rates(enc, attempt.offers, Purse(int(UNLIMITED)))
    number_of: dict[int, int] = {}
    before = []
    for pods in held.values():
        load: dict[int, int] = {}
        for number, count in pods.items():
            sort = rates.sort_of(attempt.units[number])
            number_of[sort] = number
            load[sort] = load.get(sort, 0) + count
        before.append(rates.load(tuple(sorted(load.items()))))
    # Units of one sort are told apart only by the groups in them.
    is_clear = len(number_of) == len({number for pods in held.values() for number in pods})
    if not before or NO_WAY in before or not is_clear:
        return
    after = _better_loads(attempt, rates, before)
    price = sum(int(enc.plan_price_o[bins.offer[node]]) for node in held)
    if rates.total(after) < price or len(after) < len(held):
        nodes = [(rates.offer[one], rates.loads[one]) for one in after]
        _replace(attempt, free_n, nodes, number_of)


def _better_loads(attempt: Attempt, rates: Rates, before: list[int]) -> list[int]:
    """Loads for the same pods: those there are, rebuilt; or by patterns."""
    enc, limits = attempt.enc, attempt.bins.limits
    pods: Counter[int] = Counter()
    for load in before:
        pods.update(dict(rates.loads[load]))
    looks = min(_LOOKS * pods.total(), _MOST_LOOKS) * enc.problem.policy.effort
    effort = Effort(looks, pods.total() // 4)
    rebuilder = Rebuilder(enc, rates, attempt.offers)
    best = rebuilder.rebuilt(before, limits, effort)
    known = [*best, *rebuilder.seen]
    improver = Improver(rates, (), limits, Purse(int(UNLIMITED)))
    for found in pattern_loads(attempt, rates, pods, known, rates.total(best)):
        parts = with_the_rest(rates, improver, found, pods)
        if parts is None:
            continue
        # The last pods by themselves first: among all nodes those few would hardly be looked at.
        tail = rebuilder.rebuilt(parts[1].loads, limits, effort)
        other = rebuilder.rebuilt([*parts[0], *tail], limits, effort)
        if improver.price(Layout(other)) < rates.total(best):
            best = other
    most = int(least_price(attempt, rates, pods) * NEAR)
    return rebuilder.on_fewer_nodes(best, limits, effort, most)


def _free_to_change(attempt: Attempt) -> Bool:
    """The new nodes that are not reserved, and where nobody needs company."""
    enc, bins = attempt.enc, attempt.bins
    free_n = np.zeros(bins.n, dtype=bool)
    new = slice(bins.n_kept, bins.n)
    free_n[new] = ~bins.dead[new] & (enc.supply_o[bins.offer[new]] >= UNLIMITED)
    for number, term in enumerate(enc.ties.hosts):
        if term.kind == Kind.AFFINITY:
            free_n &= bins.own[number, : bins.n] == 0
    return free_n


def _replace(
    attempt: Attempt,
    gone_n: Bool,
    nodes: list[tuple[int, tuple[tuple[int, int], ...]]],
    number_of: dict[int, int],
) -> None:
    """Close these nodes and open others for the same pods."""
    bins = attempt.bins
    dissolve(bins, attempt.units, attempt.left_u, gone_n)
    for offer, load in nodes:
        node = np.array([bins.open(offer, 1).start])
        for sort, count in load:
            number = number_of[sort]
            bins.put(number, attempt.units[number], node, np.array([count]))
            attempt.left_u[number] -= count
