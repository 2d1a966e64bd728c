from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.solve.axes import Float, Int
from dovetail.solve.encoding.encode import encode
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.filling import (
    _highest,
    _weight,
    snug_fill,
    water_fill,
)
from dovetail.solve.packing.units import PodUnit
from dovetail.testing.builders import deployment, node, pod
from tests.unit.solve.puzzles import encoded, random_puzzle, units_of

Fill = Callable[[Bins, int, PodUnit, int, slice], int]
FILLS = pytest.mark.parametrize("fill", [water_fill, snug_fill])
SHELVES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), min_size=1, max_size=8)


def bins_of(cpus: list[int], *, cpu: int = 1, memory: str = "1Gi") -> tuple[Bins, PodUnit]:
    """Nodes that have so much cpu free, and a unit of pods."""
    nodes = tuple(node(f"n{place:02}", cpu=free) for place, free in enumerate(cpus))
    enc = encoded(deployment(9, cpu=cpu, memory=memory), nodes=nodes)
    bins = Bins(enc)
    bins.mean = np.maximum(enc.free_nr.mean(axis=0), 1.0)
    return bins, units_of(enc)[0]


def slow_highest(height: Float, step: float, most: Int, want: int) -> list[float]:
    """The keys of the places that are taken, one after another."""
    keys = [
        float(high - turn * step)
        for high, held in zip(height, most, strict=True)
        for turn in range(held)
    ]
    return sorted(keys, reverse=True)[:want]


def taken(height: Float, step: float, counts: Int) -> list[float]:
    """The same keys, from how many places each shelf gives."""
    return slow_highest(height, step, counts, int(counts.sum()))


@FILLS
@given(
    cpus=st.lists(st.integers(0, 9), min_size=1, max_size=7),
    want=st.integers(1, 40),
    bounds=st.tuples(st.integers(0, 7), st.integers(0, 7)),
)
def test_filling_places_what_is_wanted_as_far_as_there_is_room(
    fill: Fill, cpus: list[int], want: int, bounds: tuple[int, int]
) -> None:
    """No node takes more than it has room for, and nodes outside the span take nothing."""
    bins, unit = bins_of(cpus)
    low, high = sorted(min(bound, len(cpus)) for bound in bounds)
    room = bins.room(unit, slice(0, bins.n))
    inside = np.zeros(bins.n, dtype=bool)
    inside[low:high] = True
    before = bins.free.copy()
    placed = fill(bins, 0, unit, want, slice(low, high))
    assert placed == min(want, int(room[inside].sum()))
    counts = (before - bins.free)[0, : bins.n] // unit.request[0]
    assert (counts <= np.where(inside, room, 0)).all()
    assert int(counts.sum()) == placed
    assert sum(int(held.sum()) for _, _, held in bins.log) == placed


@FILLS
def test_filling_keeps_every_law_of_a_node(fill: Fill) -> None:
    """Random puzzles: at most the room that there is, and all that is wanted if it fits."""
    for seed in range(40):
        enc = encode(random_puzzle(seed))
        bins = Bins(enc)
        for offer in range(enc.n_offers):
            bins.open(offer, 2)
        for number, unit in enumerate(units_of(enc)):
            room = bins.room(unit, slice(0, bins.n))
            placed = fill(bins, number, unit, unit.count, slice(0, bins.n))
            assert placed == min(unit.count, int(room.sum())), f"seed {seed}"
            held = np.zeros(bins.n, dtype=np.int64)
            for one, nodes, counts in bins.log:
                if one == number:
                    held[nodes] += counts
            assert (held <= room).all(), f"seed {seed}"


@given(SHELVES, st.integers(1, 12), st.data())
def test_the_highest_places_are_taken(
    shelves: list[tuple[int, int]], step: int, data: st.DataObject
) -> None:
    """Whichever of equals are chosen, their heights are those that sorting gives."""
    height = np.array([high for high, _ in shelves], dtype=np.float64)
    most = np.array([held for _, held in shelves], dtype=np.int64)
    want = data.draw(st.integers(1, int(most.sum())))
    counts = _highest(height, float(step), most, want)
    assert (counts <= most).all()
    assert taken(height, step, counts) == slow_highest(height, step, most, want)


def test_many_places_are_filled_by_level() -> None:
    """Thirty shelves of a thousand: the upper ones fill down to the level of the lower."""
    height = np.repeat([100.0, 50.0, 0.0], 10)
    most = np.full(30, 1000)
    counts = _highest(height, 1.0, most, 10 * 50 + 20 * 10)
    assert counts.tolist() == [60] * 10 + [10] * 10 + [0] * 10


@given(st.integers(0, 9), st.integers(0, 9))
def test_a_pod_never_raises_the_level(cpu: int, memory: int) -> None:
    """Whatever its shape, so that the next one may prefer another node."""
    bins, _ = bins_of([4, 8])
    enc = encoded([pod(cpu=cpu, memory=f"{memory}Gi")])
    unit = units_of(enc)[0]
    weight = _weight(unit, bins.mean)
    step = weight[0] * unit.request[0] + weight[1] * unit.request[1]
    assert step > 0 or cpu == memory == 0


def test_water_goes_where_the_right_resource_is_plentiful() -> None:
    """A pod that needs much cpu goes to the node with more cpu than memory."""
    nodes = (node("cpu", cpu=8, memory="8Gi"), node("memory", cpu=4, memory="32Gi"))
    enc = encoded([pod("c", cpu=2, memory="1Gi"), pod("m", cpu=1, memory="6Gi")], nodes=nodes)
    bins = Bins(enc)
    bins.mean = enc.free_nr.mean(axis=0)
    placed = {}
    for number, unit in enumerate(units_of(enc)):
        assert water_fill(bins, number, unit, 1, slice(0, 2)) == 1
        placed[enc.groups[number].pods[0].name] = int(bins.log[-1][1][0])
    assert placed == {"c": 0, "m": 1}


def test_snug_pods_go_where_the_least_remains() -> None:
    """The smallest node that holds them is filled first, then the next."""
    bins, unit = bins_of([8, 2, 4, 0])
    assert snug_fill(bins, 0, unit, 5, slice(0, 4)) == 5
    ((_, nodes, counts),) = bins.log
    assert dict(zip(nodes.tolist(), counts.tolist(), strict=True)) | {0: 0} == {0: 0, 1: 2, 2: 3}


@FILLS
def test_without_room_nothing_is_placed_and_nothing_logged(fill: Fill) -> None:
    """No node has a whole cpu."""
    bins, unit = bins_of([0, 0])
    assert fill(bins, 0, unit, 3, slice(0, 2)) == 0
    assert bins.log == []
