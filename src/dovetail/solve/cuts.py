"""Why do two pods of 0.6 nodes need two nodes? Whole pods, told to a program that cuts them up.

A dual feasible function f maps shares of a node to weights such that whatever fits one node weighs
at most 1: f_k(x) = floor((k + 1) x) / k, or x itself where (k + 1) x is whole. With k = 1 a pod of
more than half a node weighs 1, so a node holds one of them. Each (resource, k) is a kind of cut;
rows are added only where the program's answer breaks them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.solve.assignment import Assignment, Cut, Program
from dovetail.solve.axes import Float, Int

KINDS: Final = tuple((resource, k) for resource in (0, 1) for k in range(1, 13))
_TOLERANCE: Final = 1e-3
_LIKELY: Final = 3
_WORTHWHILE: Final = 5e-4
_BIG: Final = 0.07  # smaller pods fill any gap
_GAIN: Final = 0.01
_KS: Final = np.arange(2, 14, dtype=np.float64)  # k + 1


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


def cut_of(program: Program, offer: int, kind: int) -> Cut:
    """One cut, for the classes that the offer takes."""
    return Cut(offer, kind, _weights(program, offer)[kind])


def _weights(program: Program, offer: int) -> Float:
    """kinds x classes: what every class weighs on an offer (nothing where it cannot go)."""
    held = program.weights.get(offer)
    if held is None:
        weight = _weighed((program.request_lr[:, :2] / program.cap_or[offer, :2]).T)
        held = np.where(program.accept_lo[:, offer], weight, 0.0).reshape(len(KINDS), -1)
        program.weights[offer] = held
    return held


def _weighed(share: Float) -> Float:
    """resources x k x classes: the weights of all kinds."""
    scaled = _KS[None, :, None] * share[:, None, :]
    below = np.floor(scaled * (1 - 1e-12)) / (_KS - 1)[None, :, None]
    whole = np.abs(scaled - np.round(scaled)) < 1e-9
    return np.where(whole, share[:, None, :], below)


def likely(program: Program, worth_l: Float) -> list[tuple[int, int]]:
    """Cuts worth having from the start: where whole pods of much worth fill a node badly.

    Without them, offers that come in late look cheap until their own cuts are found.
    """
    found = []
    for offer in range(len(program.price_o)):
        worth = np.where(program.accept_lo[:, offer], worth_l, 0.0)
        total = float(worth.sum())
        share = (program.request_lr[:, :2] / program.cap_or[offer, :2]).T
        is_big = (share > _BIG) & (share <= 1.0)
        some = np.flatnonzero(is_big.any(axis=0) & (worth > 0))
        if not len(some):
            continue
        share, is_big = share[:, some], is_big[:, some]
        gain = _weighed(share) / np.maximum(share, 1e-9)[:, None, :] - 1.0
        gain = np.where(is_big[:, None, :], np.maximum(gain, 0.0), 0.0)
        gain_k = gain.reshape(len(KINDS), -1) @ worth[some] / total
        best = np.argsort(-gain_k, kind="stable")[:_LIKELY]
        found += [(offer, int(kind)) for kind in best if gain_k[kind] > _GAIN]
    return found


def violated(program: Program, answer: Assignment, most: int = 60) -> list[Cut]:
    """The cuts that the answer breaks, worst first; none if they hardly matter."""
    found: list[tuple[float, int, int]] = []
    held = {(cut.offer, cut.kind) for cut in program.cuts}
    for offer in np.flatnonzero(answer.nodes_o > 1e-7).tolist():
        excess = _weights(program, offer) @ answer.pods_lo[:, offer] - answer.nodes_o[offer]
        broken = np.flatnonzero(excess > _TOLERANCE * answer.nodes_o[offer]).tolist()
        found += [
            (-float(excess[kind] * program.price_o[offer]), offer, kind)
            for kind in broken
            if (offer, kind) not in held
        ]
    if -sum(cost for cost, _, _ in found) < _WORTHWHILE * answer.value:
        return []
    return [cut_of(program, offer, kind) for _, offer, kind in sorted(found)[:most]]
