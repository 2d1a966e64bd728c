from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.solve.axes import Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.packing import pack as packing
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.pack import lot_of, mean_capacity, pack
from dovetail.solve.packing.units import unit_of
from dovetail.testing.builders import deployment, instance_type, pod
from tests.unit.solve.puzzles import LARGE, SMALL, encoded, units_of

MIXES = st.lists(
    st.tuples(st.integers(1, 80), st.integers(1, 20), st.integers(1, 60)), min_size=1, max_size=4
)


def packed(enc: Encoded, n_kept: int = 0) -> tuple[Bins, Int]:
    """All pods on new nodes, each worth what its share of a node costs."""
    units = units_of(enc)
    bins = Bins(enc)
    bins.n_kept = max(bins.n_kept, n_kept)
    left = np.array([unit.count for unit in units], dtype=np.int64)
    every = np.arange(enc.n_offers)
    mean = mean_capacity(enc, every)
    price = float(enc.price_o.mean())
    worth = np.array([price * float((unit.request / mean).max()) for unit in units])
    pack(bins, units, left, every, (every, worth))
    return bins, left


def live_nodes(pods: Iterable[Pod], *types: InstanceType) -> list[str]:
    """The types of the nodes that are opened and kept, all pods being placed."""
    bins, left = packed(encoded(pods, *types))
    assert left.sum() == 0
    live = bins.offer[: bins.n][~bins.dead[: bins.n]]
    return sorted(bins.enc.market.types[bins.enc.type_o[one]].name for one in live.tolist())


@settings(max_examples=40)
@given(MIXES)
def test_everything_is_placed_and_no_node_is_overfull(mix: list[tuple[int, int, int]]) -> None:
    """Nodes that were given up hold nobody, all others hold somebody."""
    pods = [
        one
        for number, (cpu, memory, count) in enumerate(mix)
        for one in deployment(count, f"d{number}", cpu=cpu / 10, memory=f"{memory}Gi")
    ]
    bins, left = packed(encoded(pods))
    held = np.zeros(bins.n, dtype=np.int64)
    for _, nodes, counts in bins.log:
        held[nodes] += counts
    assert left.sum() == 0
    assert int(held.sum()) == len(pods)
    assert (bins.free[:, : bins.n] >= 0).all()
    assert not held[bins.dead[: bins.n]].any()


def test_large_and_small_pods_share_nodes_as_the_program_says() -> None:
    """Three of 3 GiB and three of 1 GiB, one cpu each, fill three nodes of 2 cpu and 4 GiB."""
    pods = [*deployment(3, "l", cpu=1, memory="3Gi"), *deployment(3, "s", cpu=1, memory="1Gi")]
    assert live_nodes(pods, instance_type("n", cpu=2, memory="4Gi", price=0.1)) == ["n"] * 3


def test_cpu_and_memory_are_kept_in_balance_on_many_nodes() -> None:
    """A thousand pods of two complementary shapes fill their nodes to the last byte."""
    pods = [
        *deployment(500, "cpu", cpu=1, memory="1Gi"),
        *deployment(500, "memory", cpu="500m", memory="5Gi"),
    ]
    kind = instance_type("n", cpu=12, memory="48Gi", price=0.1)
    assert len(live_nodes(pods, kind)) <= 65  # 62.5 would do if pods could be cut


def test_the_cheapest_mix_of_machines_is_opened() -> None:
    """Seventeen pods of one cpu: two large machines and a small one."""
    assert live_nodes(deployment(17, cpu=1)) == ["large", "large", "small"]


def test_pods_that_exclude_each_other_are_placed_before_others_fill_their_nodes() -> None:
    """Four on nodes of their own, beside which all others fit."""
    apart = deployment(4, "apart", cpu=1, anti_affinity=[{"topology_key": "hostname"}])
    assert live_nodes([*apart, *deployment(4, cpu=1)], SMALL) == ["small"] * 4


def test_limits_are_kept() -> None:
    """Sixteen cpu may be bought, so sixteen of thirty pods are placed."""
    bins, left = packed(encoded(deployment(30, cpu=1), limits={"default": {"cpu": 16_000}}))
    assert left.tolist() == [14]
    assert bins.limits.left == [0]


def test_rounding_up_does_not_go_over_a_limit() -> None:
    """Twelve cpu are one and a half machines of eight, so one may be had."""
    limits = {"default": {"cpu": 12_000}}
    bins, left = packed(encoded(deployment(12, cpu=1), LARGE, limits=limits))
    assert (bins.limits.left, left.tolist()) == ([4000], [4])


def test_without_offers_everybody_waits() -> None:
    """Nothing can be had."""
    enc = encoded(deployment(3), instance_types={})
    bins, units = Bins(enc), units_of(enc)
    left, nothing = np.array([3]), np.zeros(0, dtype=np.int64)
    pack(bins, units, left, nothing, (nothing, np.ones(1)))
    assert (bins.n, left.tolist()) == (0, [3])


def test_whoever_fits_no_machine_waits_and_others_do_not() -> None:
    """Nine cpu are more than any machine has."""
    bins, left = packed(encoded([pod("big", cpu=9), pod("small", cpu=1)]))
    assert dict(zip([one.pods[0].name for one in bins.enc.groups], left.tolist(), strict=True)) == {
        "big": 1,
        "small": 0,
    }


def test_a_lot_asks_for_what_its_unit_asks_for() -> None:
    """With as many pods as are left of it."""
    enc = encoded(deployment(5, anti_affinity=[{"topology_key": "hostname"}]))
    unit = unit_of(enc, 0, cell=0, weight=7)
    lot = lot_of(unit, 3)
    assert (lot.count, lot.cell, lot.weight, lot.mask) == (3, 0, 7, unit.mask)
    assert (lot.own, lot.match) == (unit.own, unit.match)
    assert lot.request.tolist() == unit.request.tolist()


def test_the_mean_capacity_is_never_nothing() -> None:
    """It divides."""
    enc = encoded([pod(requests={"gpu": 1})], SMALL, LARGE)
    assert mean_capacity(enc, np.arange(enc.n_offers)).tolist() == pytest.approx(
        [5000.0, 20 * 2**30, 110.0, 1.0]
    )
    assert mean_capacity(enc, np.zeros(0, dtype=np.int64)).tolist() == [1.0] * 4


def test_many_pods_are_packed_in_several_ways_of_which_the_cheapest_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No way by itself is cheaper, and all pods are on nodes in the end."""
    pods = [
        one
        for number in range(12)
        for one in deployment(
            1000, f"d{number:02}", cpu=f"{150 + 430 * number}m", memory=f"{1 + 5 * number % 9}Gi"
        )
    ]
    enc, prices = encoded(pods), []
    for rounding in packing.ROUNDINGS:
        monkeypatch.setattr(packing, "ROUNDINGS", (rounding,))
        prices.append(price_of(packed(enc)[0]))
    monkeypatch.undo()
    bins, left = packed(enc)
    assert not left.any()
    assert price_of(bins) == min(prices)


def price_of(bins: Bins) -> int:
    """What the nodes cost that are kept."""
    live = ~bins.dead[: bins.n]
    return int(bins.enc.price_o[bins.offer[: bins.n][live]].sum())
