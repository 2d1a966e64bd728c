"""Rearranges the new nodes of a large plan, where settling all groups again would take too long.

Units keep their cells, and pods on existing nodes stay. Nodes from reservations, and nodes on which
pods need each other's company, stay as they are.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.solve.attempt import Attempt
from dovetail.solve.axes import UNLIMITED, Bool
from dovetail.solve.contents import loads
from dovetail.solve.dissolve import dissolve
from dovetail.solve.patterns.rebuild import Rebuilder
from dovetail.solve.rates import NO_WAY, Purse, Rates
from dovetail.solve.terms import Kind

_LOOKS: Final = 300  # at nodes, for each pod
_MOST_LOOKS: Final = 1_500_000


def rearrange(attempt: Attempt) -> None:
    """Give the pods of new nodes cheaper nodes, if such are found."""
    enc, bins = attempt.enc, attempt.bins
    free_n = _free_to_change(attempt)
    held = {node: pods for node, pods in sorted(loads(bins.log).items()) if free_n[node]}
    rates = Rates(enc, attempt.offers, Purse(UNLIMITED))
    number_of: dict[int, int] = {}
    before = []
    for pods in held.values():
        load: dict[int, int] = {}
        for number, count in pods.items():
            sort = rates.sort_of(attempt.units[number])
            # Units of one sort are told apart only by the groups in them.
            if number_of.setdefault(sort, number) != number:
                return
            load[sort] = load.get(sort, 0) + count
        before.append(rates.load(tuple(sorted(load.items()))))
    if not before or NO_WAY in before:
        return
    after = _better_loads(attempt, rates, before)
    if _price(rates, after) < sum(int(enc.plan_price_o[bins.offer[node]]) for node in held):
        _replace(attempt, free_n, [(rates.offer[one], rates.loads[one]) for one in after], number_of)


def _better_loads(attempt: Attempt, rates: Rates, before: list[int]) -> list[int]:
    enc, limits = attempt.enc, attempt.bins.limits
    pods: dict[int, int] = {}
    for load in before:
        for sort, count in rates.loads[load]:
            pods[sort] = pods.get(sort, 0) + count
    n_pods = sum(pods.values())
    looks = min(_LOOKS * n_pods, _MOST_LOOKS) * enc.problem.policy.effort
    rebuilder = Rebuilder(enc, rates, attempt.offers)
    after = rebuilder.rebuilt(before, limits, looks, n_pods)
    return after


def _price(rates: Rates, found: list[int]) -> int:
    return sum(rates.price[load] for load in found)


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
