"""Plans again with a small fee for each node, where larger nodes cost hardly more.

The cheapest plan may consist of hundreds of small nodes, though a tenth as many large ones would
cost half a percent more. A node is not free: it has an address, daemon pods, a kubelet. So a plan
that is near its lower bound may spend what is left to `NEAR` times the bound on having fewer nodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.packing.dissolve import worth_of_nodes
from dovetail.solve.patterns.planning import NEAR
from dovetail.solve.patterns.rearrange import rearrange
from dovetail.solve.program.multipliers import Values

_SHARE: Final = 3.0  # of what may be spent, for each node: most nodes will go
_TIES: Final = 12  # offers that are considered besides those that were bought
_FEWEST: Final = 8  # nodes: below, there is little to save
_MOST_UNITS: Final = 150  # with more, planning again takes too long


def with_fewer_nodes(attempt: Attempt) -> Attempt:
    """A plan with fewer nodes that is near the lower bound, if there is one; else the same plan."""
    enc, nodes = attempt.enc, _new_nodes(attempt)
    if len(nodes) < _FEWEST or len(attempt.units) > _MOST_UNITS or _is_incomplete(attempt):
        return attempt
    most = int(_least_price(attempt, nodes) * NEAR)
    fee = int(_SHARE * (most - _price(attempt, nodes)) / len(nodes))
    if fee <= 0:
        return attempt
    dearer = replace(enc, plan_price_o=enc.plan_price_o + fee)
    other = run_attempt(dearer, attempt.offers, _with_ties(attempt.values, enc.plan_price_o, fee))
    other.enc = other.bins.enc = enc
    rearrange(other)
    fewer = _new_nodes(other)
    is_better = len(fewer) < len(nodes) and _price(other, fewer) <= most
    return attempt if _is_incomplete(other) or not is_better else other


def _is_incomplete(attempt: Attempt) -> bool:
    return bool(attempt.left_u.any()) or bool(attempt.unsettled)


def _new_nodes(attempt: Attempt) -> Int:
    bins = attempt.bins
    new = np.arange(bins.n_existing, bins.n)
    return new[~bins.dead[new]]


def _price(attempt: Attempt, nodes: Int) -> int:
    return int(attempt.enc.plan_price_o[attempt.bins.offer[nodes]].sum())


def _least_price(attempt: Attempt, nodes: Int) -> float:
    """What the pods on these nodes are worth by the assignment program."""
    return float(worth_of_nodes(attempt.bins, attempt.worths())[nodes].sum())


def _with_ties(values: Values, price_o: Int, fee: int) -> Values:
    """The same values, with offers to buy that are as good as those bought once a fee is paid."""
    price_p = np.maximum(price_o[values.offers], 1).astype(np.float64)
    ratio_p: Float = values.scale_p * (1.0 + fee / price_p)
    best = values.offers[np.argsort(ratio_p, kind="stable")[:_TIES]]
    more = np.setdiff1d(best, values.favourites)
    favourites = np.concatenate([values.favourites, more])
    order = np.argsort(favourites, kind="stable")
    bought = np.concatenate([values.bought, np.zeros(len(more))])
    return replace(values, favourites=favourites[order], bought=bought[order])
