"""Distributes pods of a unit over nodes, evenly or tightly.

Balanced water-filling keeps what is left on every node in the proportion that the rest of the pods
will need: it puts cpu-heavy pods where cpu is plentiful. Snug filling concentrates instead: it is
for existing nodes and for bins that hold only a few pods.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.kernel.loops import SNUG, WATER
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.units import PodUnit

_BETA: Final = 10.0  # how strongly the unit's own proportion counts; as in kernel.c


def water_fill(bins: Bins, number: int, unit: PodUnit, want: int, span: slice) -> int:
    """Place up to `want` pods on the span's nodes, keeping what is left in balance."""
    placed = bins.fill(number, unit, want, span, WATER)
    if placed is not None:
        return placed
    room = bins.room(unit, span)
    total = int(room.sum())
    if total <= 0:
        return 0
    if total <= want:
        return _take(bins, number, unit, span, room)
    places = np.flatnonzero(room)
    most = np.minimum(room[places], want)
    weight = _weight(unit, bins.mean)
    height = weight[0] * bins.free[0, span][places] + weight[1] * bins.free[1, span][places]
    step = float(weight[0] * unit.request[0] + weight[1] * unit.request[1])
    counts = _highest(height, step, most, want)
    room[:] = 0
    room[places] = counts
    return _take(bins, number, unit, span, room)


def _weight(unit: PodUnit, mean: Float) -> tuple[float, float]:
    cpu, memory = unit.request[0] / mean[0], unit.request[1] / mean[1]
    middle = (cpu + memory) / 2
    return (
        float((middle + _BETA * (cpu - middle)) / mean[0]),
        float((middle + _BETA * (memory - middle)) / mean[1]),
    )


def _highest(height: Float, step: float, most: Int, want: int) -> Int:
    """Take the `want` highest of height_i - j * step, j < most_i."""
    if want == 1:
        counts = np.zeros(len(height), dtype=np.int64)
        counts[int(np.argmax(height))] = 1
        return counts
    node = np.repeat(np.arange(len(height)), most)
    turn = np.arange(len(node)) - np.repeat(np.cumsum(most) - most, most)
    key = height[node] - turn * step
    if want >= len(key):
        return most
    last = np.partition(key, len(key) - want)[len(key) - want]
    counts = np.bincount(node[key > last], minlength=len(height)).astype(np.int64)
    level = node[key == last][: want - int(counts.sum())]  # ties go to the first
    counts += np.bincount(level, minlength=len(height))
    return counts


def snug_fill(bins: Bins, number: int, unit: PodUnit, want: int, span: slice) -> int:
    """Place up to `want` pods where the least would remain."""
    placed = bins.fill(number, unit, want, span, SNUG)
    if placed is not None:
        return placed
    room = bins.room(unit, span)
    places = np.flatnonzero(room)
    if not len(places):
        return 0
    left = (bins.free[0, span][places] - unit.request[0]) / bins.mean[0]
    rest = (bins.free[1, span][places] - unit.request[1]) / bins.mean[1]
    waste = left * left + rest * rest
    ranked = places[np.argsort(waste, kind="stable")]
    filled = np.minimum(np.cumsum(room[ranked]), want)
    counts = np.diff(filled, prepend=0)
    room[:] = 0
    room[ranked] = counts
    return _take(bins, number, unit, span, room)


def _take(bins: Bins, number: int, unit: PodUnit, span: slice, room: Int) -> int:
    places = np.flatnonzero(room)
    counts = room[places]
    bins.put(number, unit, places + span.start, counts)
    return int(counts.sum())
