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
from dovetail.solve.axes import Bool, Float, Int

KINDS: Final = tuple((resource, k) for resource in (0, 1) for k in range(1, 13))
_TOLERANCE: Final = 1e-3
_LIKELY: Final = 3
_WORTHWHILE: Final = 5e-4


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
    resource, k = KINDS[kind]
    weight = weigh(program.request_lr[:, resource] / program.cap_or[offer, resource], k)
    return Cut(offer, kind, np.where(program.accept_lo[:, offer], weight, 0.0))


def likely(program: Program, worth_l: Float, bought_o: Bool) -> list[tuple[int, int]]:
    """Cuts worth having from the start: where whole pods of much worth fill a node badly.

    Without them, offers that come in late look cheap until their own cuts are found.
    """
    found = []
    for offer in np.flatnonzero(bought_o).tolist():
        weight = np.where(program.accept_lo[:, offer], worth_l, 0.0)
        total = float(weight.sum())
        if total <= 0:
            continue
        gains = []
        for number, (resource, k) in enumerate(KINDS):
            share = program.request_lr[:, resource] / program.cap_or[offer, resource]
            big = (share > 0.07) & (share <= 1.0)
            gain = np.where(big, weigh(share, k) / np.maximum(share, 1e-9) - 1.0, 0.0)
            gains.append((float(np.maximum(gain, 0.0) @ weight) / total, number))
        gains.sort(key=lambda one: (-one[0], one[1]))
        found += [(offer, number) for gain, number in gains[:_LIKELY] if gain > 0.01]
    return found


def violated(program: Program, answer: Assignment, most: int = 60) -> list[Cut]:
    """The cuts that the answer breaks, worst first."""
    found: list[tuple[float, Cut]] = []
    held = {(cut.offer, cut.kind) for cut in program.cuts}
    for offer in np.flatnonzero(answer.nodes_o > 1e-7).tolist():
        pods = answer.pods_lo[:, offer]
        for number in range(len(KINDS)):
            if (offer, number) in held:
                continue
            cut = cut_of(program, offer, number)
            excess = float(cut.weight_l @ pods) / float(answer.nodes_o[offer]) - 1.0
            if excess > _TOLERANCE:
                cost = excess * float(program.price_o[offer] * answer.nodes_o[offer])
                found.append((cost, cut))
    if sum(cost for cost, _ in found) < _WORTHWHILE * answer.value:
        return []
    found.sort(key=lambda one: (-one[0], one[1].offer, one[1].kind))
    return [cut for _, cut in found[:most]]
