from __future__ import annotations

import numpy as np

from dovetail.solve.axes import Bool
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.dissolve import dissolve, dissolve_poor, worth_of_nodes
from dovetail.solve.packing.filling import snug_fill
from dovetail.solve.packing.units import PodUnit
from dovetail.testing.builders import deployment, node
from tests.unit.solve.puzzles import SMALL, arrays_of, encoded, random_puzzle, units_of


def filled(enc: Encoded, units: list[PodUnit]) -> tuple[Bins, list[int]]:
    """A new node of every offer, with all pods that fit; and how many are left of each unit."""
    bins = Bins(enc)
    for offer in range(enc.n_offers):
        bins.open(offer, 1)
    left = [
        unit.count - snug_fill(bins, number, unit, unit.count, slice(0, bins.n))
        for number, unit in enumerate(units)
    ]
    return bins, left


def new_nodes(bins: Bins) -> Bool:
    """All nodes that are not there yet."""
    return np.arange(bins.n) >= bins.n_existing


def test_a_dissolved_node_is_as_if_nobody_had_come() -> None:
    """Its pods wait again, its terms and volumes forget them, and it takes no others."""
    n_waiting = 0
    for seed in range(60):
        enc = encode(random_puzzle(seed))
        units = units_of(enc)
        bins, left = filled(enc, units)
        fresh, _ = filled(enc, [])
        now = np.array(left, dtype=np.int64)
        dissolve(bins, units, now, new_nodes(bins))
        stay = sum(int(counts.sum()) for _, _, counts in bins.log)
        assert int(now.sum()) + stay == sum(unit.count for unit in units), f"seed {seed}"
        n_waiting += int(now.sum()) - sum(left)
        for number, nodes, counts in bins.log:
            assert (nodes < bins.n_existing).all(), f"seed {seed}"
            bins.shift(units[number], nodes, -counts)
        assert not bins.accept[:, : bins.n][:, new_nodes(bins)].any(), f"seed {seed}"
        assert bins.dead[: bins.n].tolist() == new_nodes(bins).tolist(), f"seed {seed}"
        bins.accept = fresh.accept
        assert arrays_of(bins) == arrays_of(fresh), f"seed {seed}"
    assert n_waiting > 100


def test_limits_get_back_what_dissolved_nodes_took() -> None:
    """Nobody has opened anything, as far as limits and reservations are concerned."""
    for seed in range(60):
        enc = encode(random_puzzle(seed))
        units = units_of(enc)
        bins, left = filled(enc, units)
        dissolve(bins, units, np.array(left, dtype=np.int64), new_nodes(bins))
        want = Bins(enc).limits
        assert bins.limits.left == want.left, f"seed {seed}"
        assert bins.limits.supply.tolist() == want.supply.tolist(), f"seed {seed}"


def test_only_the_pods_of_dissolved_nodes_leave() -> None:
    """A unit on three nodes, of which one goes."""
    enc = encoded(deployment(6, cpu=1), SMALL)
    units = units_of(enc)
    bins = Bins(enc)
    bins.open(0, 3)
    bins.put(0, units[0], np.array([0, 1, 2]), np.array([2, 1, 2]))
    left = np.array([1])
    dissolve(bins, units, left, np.array([False, False, True]))
    ((_, nodes, counts),) = bins.log
    assert (nodes.tolist(), counts.tolist(), left.tolist()) == ([0, 1], [2, 1], [3])


def poor_and_rich() -> tuple[Bins, list[PodUnit]]:
    """A node that is there, with one pod; and two new ones, with two pods and with one."""
    enc = encoded(deployment(6, cpu=1), SMALL, nodes=(node("n1"),))
    units = units_of(enc)
    bins = Bins(enc)
    bins.open(0, 2)
    bins.put(0, units[0], np.array([0, 1, 2]), np.array([1, 2, 1]))
    return bins, units


def test_a_node_is_worth_what_its_pods_are_worth() -> None:
    """Each pod counts, wherever the log mentions it."""
    bins, units = poor_and_rich()
    bins.put(0, units[0], np.array([2]), np.array([1]))
    assert worth_of_nodes(bins, np.array([7.0])).tolist() == [7.0, 14.0, 14.0]


def test_only_new_nodes_that_are_worth_too_little_are_dissolved() -> None:
    """A pod is worth half a node: the full one stays, and so does what was there before."""
    bins, units = poor_and_rich()
    left = np.array([2])
    worth = np.array([0.05e9])
    assert dissolve_poor(bins, units, left, worth, 0.8) == 1
    assert bins.dead[:3].tolist() == [False, False, True]
    assert left.tolist() == [3]
    assert dissolve_poor(bins, units, left, worth, 0.8) == 0


def test_nodes_that_are_kept_are_not_dissolved() -> None:
    """However poor they are."""
    bins, units = poor_and_rich()
    bins.n_kept = bins.n
    assert dissolve_poor(bins, units, np.array([2]), np.array([0.0]), 0.8) == 0
