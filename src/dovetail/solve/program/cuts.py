"""Cuts for the linear program that hold because pods are whole (dual feasible functions).

A dual feasible function f maps shares of a node to weights such that whatever fits one node weighs
at most 1: f_k(x) = floor((k + 1) x) / k, or x itself where (k + 1) x is whole. With k = 1 a pod of
more than half a node weighs 1, so a node holds one of them. With k = 63 whole CPUs count on a node
of 64, some of which the system takes: seven pods of 8, and not two but one of 4 besides. Each
(resource, k) is a kind of cut; rows are added only where the program's answer breaks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.program.assignment import Assignment, Cut, Program

_FIRST: Final = tuple((resource, k) for resource in (0, 1) for k in range(1, 13))
KINDS: Final = (*_FIRST, *((0, k) for k in (15, 23, 31, 47, 63)))
# The other kinds are for so many pods: among more, small ones fill all gaps; fewer have patterns.
_FEWEST_PODS, _MOST_PODS = 200, 5_000
_TOLERANCE: Final = 1e-3
_LIKELY: Final = 3
_WORTHWHILE: Final = 5e-4
_BIG: Final = 0.07  # smaller pods fill any gap
_GAIN: Final = 0.01
_KS: Final = np.arange(1, 13)


def weigh(share: Float, k: int) -> Float:
    """The dual feasible function; whole multiples keep their share."""
    scaled = (k + 1) * share
    below = np.floor(scaled * (1 - 1e-12))
    return np.where(np.abs(scaled - np.round(scaled)) < 1e-9, share, below / k)


def weigh_exactly(request: Int, cap: Int, k: int) -> Float:
    """The same from integers: requests (rows) as shares of capacities (columns)."""
    scaled = (k + 1) * request[:, None]
    whole, rest = np.divmod(scaled, np.maximum(cap, 1)[None, :])
    share = request[:, None] / np.maximum(cap, 1)[None, :]
    return np.where(rest == 0, share, whole / k)


def cuts_of(program: Program, pairs: Sequence[tuple[int, int]]) -> list[Cut]:
    """Cuts by offer and kind, each for the classes that its offer takes."""
    if not pairs:
        return []
    offers, kinds = np.array(pairs, dtype=np.int64).T
    resources, ks = np.array(KINDS, dtype=np.int64)[kinds].T
    share = program.request_lr.T[resources] / program.cap_or[offers, resources][:, None]
    weight = np.where(program.accept_lo.T[offers], _dual_feasible(share, ks[:, None]), 0.0)
    return [Cut(offer, kind, row) for (offer, kind), row in zip(pairs, weight, strict=True)]


def _dual_feasible(share: Float, k: Int) -> Float:
    """The dual feasible function for many k at once."""
    scaled = (k + 1) * share
    below = np.floor(scaled * (1 - 1e-12)) / k
    return np.where(np.abs(scaled - np.round(scaled)) < 1e-9, share, below)


def _weights(program: Program, offer: int) -> Float:
    """kinds x classes: what every class weighs on an offer (nothing where it cannot go)."""
    weight = program.weights.get(offer)
    if weight is None:
        cuts = cuts_of(program, [(offer, kind) for kind in range(len(KINDS))])
        weight = program.weights[offer] = np.array([cut.weight_l for cut in cuts])
    return weight


def likely(program: Program, worth_l: Float) -> list[tuple[int, int]]:
    """Cuts worth having from the start: where whole pods of much worth fill a node badly.

    Without them, offers that come in late look cheap until their own cuts are found.
    """
    worth_ol = np.where(program.accept_lo.T, worth_l, 0.0)
    share_olr = program.request_lr[:, :2] / program.cap_or[:, None, :2]
    is_big = (share_olr > _BIG) & (share_olr <= 1.0)
    offers, rows = np.nonzero(is_big.any(axis=2) & (worth_ol > 0))
    if not len(offers):
        return []
    share = share_olr[offers, rows][:, :, None]
    gain = np.maximum(_dual_feasible(share, _KS) / np.maximum(share, 1e-9) - 1.0, 0.0)
    gain = np.where(is_big[offers, rows][:, :, None], gain, 0.0).reshape(-1, len(_FIRST))
    gain *= (worth_ol[offers, rows] / worth_ol.sum(axis=1)[offers])[:, None]
    starts = np.flatnonzero(np.diff(offers, prepend=-1))
    gain_ok = np.add.reduceat(gain, starts, axis=0)
    best = np.argsort(-gain_ok, axis=1, kind="stable")[:, :_LIKELY]
    return [
        (offer, kind)
        for offer, kinds, gain_k in zip(
            offers[starts].tolist(), best.tolist(), gain_ok.tolist(), strict=True
        )
        for kind in kinds
        if gain_k[kind] > _GAIN
    ]


def violated_cuts(program: Program, answer: Assignment, most: int = 60) -> list[Cut]:
    """The cuts that the answer breaks, worst first; none if they hardly matter."""
    violated: list[tuple[float, int, int]] = []
    present = {(cut.offer, cut.kind) for cut in program.cuts}
    is_every = _FEWEST_PODS <= program.count_l.sum() <= _MOST_PODS
    n_kinds = len(KINDS) if is_every else len(_FIRST)
    for offer in np.flatnonzero(answer.nodes_o > 1e-7).tolist():
        weight_kl = _weights(program, offer)[:n_kinds]
        excess = weight_kl @ answer.pods_lo[:, offer] - answer.nodes_o[offer]
        broken = np.flatnonzero(excess > _TOLERANCE * answer.nodes_o[offer]).tolist()
        violated += [
            (-float(excess[kind] * program.price_o[offer]), offer, kind)
            for kind in broken
            if (offer, kind) not in present
        ]
    if -sum(cost for cost, _, _ in violated) < _WORTHWHILE * answer.value:
        return []
    return cuts_of(program, [(offer, kind) for _, offer, kind in sorted(violated)[:most]])
