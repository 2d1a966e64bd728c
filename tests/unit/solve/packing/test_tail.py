from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.model.pod import DaemonSet
from dovetail.solve.axes import Int
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.tail import pack_tail
from dovetail.testing.builders import deployment, instance_type, pod
from tests.unit.solve.puzzles import LARGE, SMALL, encoded, random_puzzle, units_of

SIZES = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 36), st.integers(1, 4)), min_size=1, max_size=5
)


def packed(enc: Encoded, worth: float = 1.0) -> tuple[Bins, Int]:
    """Everything packed by the tail alone, and how many of each unit are left."""
    units = units_of(enc)
    bins = Bins(enc)
    left = np.array([unit.count for unit in units], dtype=np.int64)
    pack_tail(bins, units, left, np.arange(enc.n_offers), np.full(len(units), worth))
    return bins, left


def held_by_new_nodes(bins: Bins) -> list[int]:
    """How many pods every new node holds."""
    held = np.zeros(bins.n, dtype=np.int64)
    for _, nodes, counts in bins.log:
        held[nodes] += counts
    return [int(count) for count in held[bins.n_existing :]]


@settings(max_examples=60)
@given(SIZES)
def test_all_that_some_machine_takes_is_placed_and_no_node_is_empty(
    sizes: list[tuple[int, int, int]],
) -> None:
    """Whatever is left fits no empty node, and no node holds more than it has."""
    pods = [
        one
        for number, (cpu, memory, count) in enumerate(sizes)
        for one in deployment(count, f"d{number}", cpu=cpu, memory=f"{memory}Gi")
    ]
    enc = encoded(pods)
    bins, left = packed(enc)
    for number, unit in enumerate(units_of(enc)):
        assert left[number] == (0 if bins.fits_new(unit).any() else unit.count)
    assert 0 not in held_by_new_nodes(bins)
    assert (bins.free[:, : bins.n] >= 0).all()
    placed = sum(int(counts.sum()) for _, _, counts in bins.log)
    assert placed + int(left.sum()) == len(pods)


def test_every_law_of_a_node_is_kept_in_random_puzzles() -> None:
    """No node is empty, none is overfull, limits hold, and who is left could not have a new one."""
    n_nodes = 0
    for seed in range(80):
        enc = encode(random_puzzle(seed))
        bins, left = packed(enc)
        assert 0 not in held_by_new_nodes(bins), f"seed {seed}"
        new = slice(bins.n_existing, bins.n)
        assert (bins.free[:, new] >= 0).all(), f"seed {seed}"
        assert all(one >= 0 for one in bins.limits.left) or bins.n == bins.n_existing, (
            f"seed {seed}"
        )
        n_nodes += bins.n - bins.n_existing
        for number, unit in enumerate(units_of(enc)):
            if left[number] and not unit.own and not unit.match and not unit.claims:
                fits = bins.fits_new(unit) & bins.limits.open_offers()
                assert not fits.any(), f"seed {seed}"
    assert n_nodes > 100


def test_the_node_with_the_most_value_for_its_price_is_opened() -> None:
    """Eight small pods fill one large node, which is cheaper than four small ones."""
    bins, _ = packed(encoded(deployment(8, cpu=1)))
    names = [bins.enc.market.types[bins.enc.type_o[one]].name for one in bins.offer[: bins.n]]
    assert names == ["large"]


def test_the_same_fill_is_repeated_as_often_as_pods_allow() -> None:
    """Twenty pods on nodes of two: ten alike, in two entries of the log."""
    bins, left = packed(encoded(deployment(21, cpu=1), SMALL))
    assert (bins.n, left.sum(), len(bins.log)) == (11, 0, 3)
    assert held_by_new_nodes(bins) == [2] * 10 + [1]


def test_limits_stop_the_tail() -> None:
    """Three nodes may be opened, so six of nine pods are placed."""
    bins, left = packed(encoded(deployment(9, cpu=1), SMALL, limits={"default": {"nodes": 3}}))
    assert (bins.n, left.tolist()) == (3, [3])


def test_pods_that_exclude_each_other_get_a_node_each() -> None:
    """However large the node."""
    apart = deployment(3, anti_affinity=[{"topology_key": "hostname"}])
    bins, left = packed(encoded(apart, LARGE))
    assert (held_by_new_nodes(bins), left.tolist()) == ([1, 1, 1], [0])


def test_a_node_whose_own_daemons_keep_the_pod_away_is_closed_again() -> None:
    """The port is taken on every machine, so nothing is opened and the limits are untouched."""
    agent = pod("agent", host_ports=[80])
    daemon = DaemonSet("agent", "default", agent.spec, agent.labels)
    enc = encoded(
        [pod("web", host_ports=[80])],
        daemon_sets=(daemon,),
        limits={"default": {"nodes": 3}},
    )
    bins, left = packed(enc)
    assert (bins.n, left.tolist(), bins.limits.left) == (0, [1], [3])


def test_pods_without_company_keep_no_others_from_a_node() -> None:
    """A small node looks best for the pod that would be alone there; the large pod has its own."""
    friend = pod("friend", cpu=7, labels={"app": "friend"})
    affinity = [{"topology_key": "hostname", "selector": {"app": "friend"}}]
    enc = encoded([friend, pod("lonely", cpu=2, affinity=affinity)])
    bins, left = packed(enc)
    assert held_by_new_nodes(bins) == [1]
    names = [group.pods[0].name for group in enc.groups]
    assert dict(zip(names, left.tolist(), strict=True)) == {"friend": 0, "lonely": 1}


def test_worthless_pods_are_not_bought_for() -> None:
    """The value of a node is what its pods are worth."""
    bins, left = packed(encoded([pod()]), worth=0.0)
    assert (bins.n, left.tolist()) == (0, [1])


def test_units_beyond_the_first_look_still_join() -> None:
    """A hundred shapes, all of which fit one node."""
    pods = [pod(f"p{n:03}", cpu=f"{n + 1}m") for n in range(100)]
    bins, left = packed(encoded(pods, LARGE))
    assert (bins.n, left.sum()) == (1, 0)


@pytest.mark.parametrize("seed", range(2))
def test_a_shortlist_of_many_offers_still_holds_what_pods_need(seed: int) -> None:
    """Thousands of machines, of which one each has the gpu or the memory that a pod wants."""
    kinds = [instance_type(f"t{n:04}", price=0.5 + n / 1e5, zones=("a",)) for n in range(2100)]
    kinds[700 + seed] = instance_type("gpu", price=9, zones=("a",), resources={"gpu": 1})
    kinds[1400 + seed] = instance_type("big", price=7, zones=("a",), memory="512Gi")
    pods = [
        pod("gpu", requests={"gpu": 1}),
        pod("big", memory="400Gi"),
        *deployment(3, cpu=1),
    ]
    bins, left = packed(encoded(pods, *kinds))
    names = {bins.enc.market.types[bins.enc.type_o[one]].name for one in bins.offer[: bins.n]}
    assert left.sum() == 0
    assert {"gpu", "big"} <= names


def test_without_offers_or_pods_nothing_happens() -> None:
    """There is nothing to buy, or nobody to buy for."""
    bins, left = packed(encoded([pod()], instance_types={}))
    assert (bins.n, left.tolist()) == (0, [1])
    enc = encoded([pod()])
    bins = Bins(enc)
    pack_tail(bins, units_of(enc), np.array([0]), np.arange(enc.n_offers), np.ones(1))
    assert bins.n == 0
