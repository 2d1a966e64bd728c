"""Rounds a mix of patterns to whole nodes: fixes the whole part, then one node after another.

The next node is the one with the largest fraction, or the one of which the least is missing, in
dollars; neither rule is always the better one. After each step the program is solved again for the
pods that are left, with a few more rounds of generation. A pattern with more pods than are left is
clipped. The last pods are left to others: with so few the program knows little of whole nodes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.patterns.generation import Generator
from dovetail.solve.patterns.master import Master

_MOST_STEPS: Final = 60
_FEW: Final = 1e-6
_REST: Final = 0.1  # of the price


class DiveDepth(NamedTuple):
    """How far to go: rounds of generation after each step, steps, and the share of the price at
    which the pods that are left are left to others.
    """

    rounds: int
    steps: int = _MOST_STEPS
    rest: float = _REST


def dive(generator: Generator, master: Master, depth: DiveDepth, *, by_price: bool) -> list[Int]:
    """Whole nodes, as counts of each sort, for all pods but the last few."""
    left_s, nodes = generator.market.count_s.copy(), list[Int]()
    whole = 0.0
    for _ in range(depth.steps):
        if not left_s.any():
            break
        # A part of a node with more pods than are left would cost less than any whole node.
        open_j: Bool = np.all(np.array(generator.count_js) <= left_s, axis=1)
        master.ask(left_s, open_j)
        generator.bound = 0.0  # of other pods than before
        mix = generator.generate(master, left_s, depth.rounds)
        whole = whole or mix.price
        if mix.price < depth.rest * whole:
            break
        first_j = np.array(generator.price_j) if by_price else np.ones(len(mix.nodes_j))
        nodes += _fix_counts(generator.count_js, mix.nodes_j, first_j, left_s)
    return nodes


def _fix_counts(count_js: list[Int], nodes_j: Float, weight_j: Float, left_s: Int) -> list[Int]:
    """The whole part of every number of nodes, or else the node of which the least is missing by
    these weights; counts `left_s` down.
    """
    whole_j = np.floor(nodes_j + _FEW).astype(np.int64)
    if not whole_j.any():
        missing_j = np.where(nodes_j > _FEW, (1.0 - nodes_j) * weight_j, np.inf)
        whole_j[int(np.argmin(missing_j))] = 1
    nodes = []
    for column in np.flatnonzero(whole_j).tolist():
        for _ in range(int(whole_j[column])):
            taken = np.minimum(count_js[column], left_s)
            if not taken.any():
                break
            left_s -= taken
            nodes.append(taken)
    return nodes
