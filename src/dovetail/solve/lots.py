"""What does the linear program have to buy for? Units and spread groups, merged into classes.

Groups whose requests, wishes and constraints are equal are one class. Where many shapes remain,
near ones are merged on a geometric grid: the program only guides the packing, and the bound is
worked out at full resolution, so nothing exact is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, log
from typing import Final

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encode import Encoded
from dovetail.solve.terms import Kind
from dovetail.solve.units import ANY_CELL, ANY_WEIGHT

MAX_CLASSES: Final = 210
_KEPT: Final = 60
_GRID: Final = 8.0
MAX_CAP_TERMS: Final = 12


@dataclass(slots=True)
class Lot:
    """Pods to buy for. `low` and `high` bound the count in each domain of topology key `key`."""

    request: Int
    mask: int
    cell: int
    count: int
    own: tuple[int, ...] = ()
    match: tuple[int, ...] = ()
    weight: int = ANY_WEIGHT
    key: int = -1
    low: Int | None = None
    high: Int | None = None


@dataclass(slots=True)
class Classes:
    """Lots merged. `class_of` maps a lot to its class."""

    class_of: Int
    request_lr: Float
    count_l: Float
    mask_l: Int
    cell_l: Int
    key_l: Int
    weight_l: Int
    range_ld: dict[int, tuple[Float, Float]] = field(default_factory=dict)
    cap_groups: list[tuple[float, list[int]]] = field(default_factory=list)
    cap_terms: list[int] = field(default_factory=list)


def merge(enc: Encoded, lots: Sequence[Lot]) -> Classes:
    """Classes of lots: the shapes that matter most as they are, the rest merged on a grid."""
    caps = _cap_terms(enc, lots)
    numbers = _numbers(lots, caps, frozenset(), 0.0)
    count = int(numbers.max(initial=-1)) + 1
    if count > MAX_CLASSES:
        kept = _weightiest(enc, lots, numbers, count)
        numbers = _numbers(lots, caps, kept, _GRID)
        count = int(numbers.max(initial=-1)) + 1
    return _classes(lots, numbers, count, caps, enc)


def _weightiest(enc: Encoded, lots: Sequence[Lot], numbers: Int, count: int) -> frozenset[int]:
    """The lots of the shapes that ask for most in all."""
    mean = np.maximum(np.minimum(enc.cap_or, 10**15).mean(axis=0), 1.0)
    demand = np.array([lot.count * float((lot.request / mean).max()) for lot in lots])
    per_class = np.bincount(numbers, weights=demand, minlength=count)
    best = np.argsort(-per_class, kind="stable")[:_KEPT]
    return frozenset(np.flatnonzero(np.isin(numbers, best)).tolist())


def _cap_terms(enc: Encoded, lots: Sequence[Lot]) -> dict[int, float]:
    """The host terms with the most pods, with how many of them a node takes."""
    weight: dict[int, float] = {}
    caps: dict[int, float] = {}
    for lot in lots:
        for term in set(lot.own) & set(lot.match):
            host = enc.ties.hosts[term]
            if host.kind == Kind.AFFINITY:
                continue
            caps[term] = float(host.max_skew) if host.kind == Kind.SPREAD else 1.0
            weight[term] = weight.get(term, 0.0) + lot.count / caps[term]
    best = sorted(weight, key=lambda term: (-weight[term], term))[:MAX_CAP_TERMS]
    return {term: caps[term] for term in best}


def _numbers(lots: Sequence[Lot], caps: dict[int, float], kept: frozenset[int], step: float) -> Int:
    number_of: dict[tuple[object, ...], int] = {}
    numbers = np.zeros(len(lots), dtype=np.int64)
    for place, lot in enumerate(lots):
        exact = not step or place in kept
        shape = lot.request.tobytes() if exact else _bucket(lot.request, step)
        capped = tuple(t for t in lot.own if t in caps and t in lot.match)
        key = (shape, lot.mask, lot.cell, lot.key, lot.weight, capped)
        numbers[place] = number_of.setdefault(key, len(number_of))
    return numbers


def _bucket(request: Int, step: float) -> tuple[int, ...]:
    """The grid cell of a request: size of cpu, memory per cpu, and the rest as they are."""
    cpu, memory, *rest = request.tolist()
    base = log(step)
    return (
        floor(log(max(cpu, 1)) / base),
        floor(log(max(memory, 1) / max(cpu, 1)) / base),
        cpu == 0,
        memory == 0,
        *rest,
    )


def _classes(
    lots: Sequence[Lot], numbers: Int, count: int, caps: dict[int, float], enc: Encoded
) -> Classes:
    counts = np.array([lot.count for lot in lots], dtype=np.float64)
    count_l = np.bincount(numbers, weights=counts, minlength=count).astype(np.float64)
    requests = np.array([lot.request for lot in lots], dtype=np.float64)
    request_lr = np.zeros((count, len(enc.resources)))
    np.add.at(request_lr, numbers, requests * counts[:, None])
    request_lr /= np.maximum(count_l, 1.0)[:, None]
    place = np.zeros(count, dtype=np.int64)
    place[numbers[::-1]] = np.arange(len(lots))[::-1]
    first = [lots[number] for number in place.tolist()]
    result = Classes(
        class_of=numbers,
        request_lr=request_lr,
        count_l=count_l,
        mask_l=np.array([lot.mask for lot in first], dtype=np.int64),
        cell_l=np.array([lot.cell for lot in first], dtype=np.int64),
        key_l=np.array([lot.key for lot in first], dtype=np.int64),
        weight_l=np.array([lot.weight for lot in first], dtype=np.int64),
    )
    for number, lot in zip(numbers.tolist(), lots, strict=True):
        if lot.low is None or lot.high is None:
            continue
        nothing = np.zeros(len(lot.low))
        low, high = result.range_ld.get(number, (nothing, nothing))
        more = (low + lot.low.astype(np.float64), high + lot.high.astype(np.float64))
        result.range_ld[number] = more
    for term, cap in caps.items():
        members = sorted(
            {
                int(n)
                for n, lot in zip(numbers, lots, strict=True)
                if term in lot.own and term in lot.match
            }
        )
        result.cap_groups.append((cap, members))
        result.cap_terms.append(term)
    return result


def acceptance(enc: Encoded, classes: Classes, offers: Int) -> Bool:
    """classes x offers: labels, taints, cell, an empty node large enough, and the weight."""
    accept = enc.masks_me[:, offers][classes.mask_l]
    pinned = classes.cell_l != ANY_CELL
    accept[pinned] &= enc.cell_o[offers][None, :] == classes.cell_l[pinned][:, None]
    for resource in range(enc.cap_or.shape[1]):
        need = np.ceil(classes.request_lr[:, resource])
        has_room = enc.cap_or[offers, resource][None, :] >= need[:, None]
        accept &= has_room | (need[:, None] == 0)
    weighed = classes.weight_l != ANY_WEIGHT
    accept[weighed] &= enc.weight_o[offers][None, :] == classes.weight_l[weighed][:, None]
    return accept
