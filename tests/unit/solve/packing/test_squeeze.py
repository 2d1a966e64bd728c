from __future__ import annotations

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.contents import loads
from dovetail.solve.packing.squeeze import squeeze
from dovetail.solve.packing.units import PodUnit
from dovetail.testing.builders import deployment, instance_type
from tests.unit.solve.puzzles import encoded, units_of

NODE = instance_type("node", cpu=8, memory="32Gi", price=0.4)


def half_empty(counts: list[int]) -> tuple[Bins, list[PodUnit], Int, Float]:
    """Nodes with so many pods of 2 cpu each (a node takes 4), worth an eighth of a node."""
    enc: Encoded = encoded(deployment(sum(counts), cpu=2, memory="4Gi"), NODE)
    [unit] = units_of(enc)
    bins = Bins(enc)
    for count in counts:
        [node] = range(*bins.open(0, 1).indices(bins.n))
        bins.put(0, unit, np.array([node]), np.array([count]))
    return bins, [unit], np.zeros(1, dtype=np.int64), np.array([float(enc.price_o[0]) / 8])


def test_a_node_is_spared_when_others_have_gaps_for_all_its_pods() -> None:
    """The emptiest goes; nobody is lost on the way."""
    bins, units, left, worth = half_empty([3, 3, 3, 2])
    assert squeeze(bins, units, left, worth) == 1
    held = loads(bins.log)
    assert bins.dead[: bins.n].tolist() == [False, False, False, True]
    assert sum(sum(one.values()) for one in held.values()) == 11
    assert not left.any()
    assert (bins.free[:, : bins.n] >= 0).all()


def test_where_one_pod_would_be_left_over_everything_stays_as_it_was() -> None:
    """All of a node's pods find a gap, or none moves."""
    bins, units, left, worth = half_empty([4, 4, 3, 2])
    before, free = loads(bins.log), bins.free.copy()
    assert squeeze(bins, units, left, worth) == 0
    assert loads(bins.log) == before
    assert (bins.free == free).all()
    assert not bins.dead[: bins.n].any()


def test_a_plan_that_is_worth_its_price_is_left_alone() -> None:
    """Looking takes time, and there is little to be gained."""
    bins, units, left, worth = half_empty([3, 3, 3, 2])
    assert squeeze(bins, units, left, worth * 8) == 0
