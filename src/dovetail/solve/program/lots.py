"""The demand side of the linear program: units and spread groups, merged into classes.

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
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.packing.units import ANY_CELL, ANY_WEIGHT

MAX_CLASSES: Final = 210
_KEPT: Final = 60
_GRID: Final = 8.0
MAX_CAP_TERMS: Final = 16


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
    capped = [
        tuple([term for term in lot.own if term in caps and term in lot.match]) for lot in lots
    ]
    shapes: list[object] = [lot.request.tobytes() for lot in lots]
    numbers = _numbers(lots, capped, shapes)
    count = int(numbers.max(initial=-1)) + 1
    if count > MAX_CLASSES:
        numbers = _numbers(lots, capped, _merge_shapes(enc, lots, shapes, numbers))
        count = int(numbers.max(initial=-1)) + 1
    return _classes(lots, numbers, count, (caps, capped), enc)


def _merge_shapes(
    enc: Encoded, lots: Sequence[Lot], shapes: Sequence[object], numbers: Int
) -> list[object]:
    """The shapes that ask for most in all as they are, the others by their place on the grid."""
    mean = np.maximum(np.minimum(enc.cap_or, 10**15).mean(axis=0), 1.0)
    counts = np.array([lot.count for lot in lots])
    demand = counts * (np.array([lot.request for lot in lots]) / mean).max(axis=1)
    per_class = np.bincount(numbers, weights=demand)
    is_kept = np.zeros(len(per_class), dtype=bool)
    is_kept[np.argsort(-per_class, kind="stable")[:_KEPT]] = True
    buckets: dict[object, tuple[int, ...]] = {}
    merged: list[object] = []
    for lot, shape, kept in zip(lots, shapes, is_kept[numbers].tolist(), strict=True):
        if not kept and shape not in buckets:
            buckets[shape] = _bucket(lot.request, _GRID)
        merged.append(shape if kept else buckets[shape])
    return merged


def _cap_terms(enc: Encoded, lots: Sequence[Lot]) -> dict[int, float]:
    """The host terms with the most and largest pods, with how many of them a node takes.

    Large pods count for more, since a node of each costs more; but not in proportion, since small
    pods need as many nodes.
    """
    weight: dict[int, float] = {}
    caps: dict[int, float] = {}
    for lot in lots:
        size = float((lot.request / enc.mean_r).max()) ** 0.5 if lot.own else 0.0
        for term in set(lot.own) & set(lot.match):
            host = enc.ties.hosts[term]
            if host.kind == TermKind.AFFINITY:
                continue
            caps[term] = float(host.max_skew) if host.kind == TermKind.SPREAD else 1.0
            weight[term] = weight.get(term, 0.0) + size * lot.count / caps[term]
    best = sorted(weight, key=lambda term: (-weight[term], term))[:MAX_CAP_TERMS]
    return {term: caps[term] for term in best}


def _numbers(
    lots: Sequence[Lot], capped: Sequence[tuple[int, ...]], shapes: Sequence[object]
) -> Int:
    """Equal numbers for lots that the program need not tell apart."""
    number_of: dict[tuple[object, ...], int] = {}
    keys = [
        (shape, lot.mask, lot.cell, lot.key, lot.weight, terms)
        for lot, terms, shape in zip(lots, capped, shapes, strict=True)
    ]
    return np.array([number_of.setdefault(key, len(number_of)) for key in keys], dtype=np.int64)


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
    lots: Sequence[Lot],
    numbers: Int,
    count: int,
    capping: tuple[dict[int, float], Sequence[tuple[int, ...]]],
    enc: Encoded,
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
    caps, capped = capping
    members: dict[int, set[int]] = {term: set() for term in caps}
    for number, terms in zip(numbers.tolist(), capped, strict=True):
        for term in terms:
            members[term].add(number)
    result.cap_groups += [(cap, sorted(members[term])) for term, cap in caps.items()]
    result.cap_terms += caps
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
