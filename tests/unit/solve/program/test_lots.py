from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.packing.units import ANY_CELL, unit_of
from dovetail.solve.program.lots import MAX_CAP_TERMS, MAX_CLASSES, Classes, Lot, acceptance, merge
from dovetail.testing.builders import deployment, node_pool, pod
from tests.unit.solve.puzzles import SMALL, encoded, lottery, random_puzzle

ENC = encoded([pod()])
GIBI = 1 << 30


def lots_of(enc: Encoded) -> list[Lot]:
    """Every group as a lot."""
    units = [unit_of(enc, group) for group in range(len(enc.groups))]
    return [
        Lot(unit.request, unit.mask, ANY_CELL, int(enc.count_g[group]), unit.own, unit.match)
        for group, unit in enumerate(units)
    ]


def shape(cpu: int, memory: int, count: int = 1, cell: int = ANY_CELL) -> Lot:
    """Plain pods of one shape."""
    return Lot(np.array([cpu, memory, 1]), 0, cell, count)


def random_lots(n_lots: int, seed: int) -> list[Lot]:
    """Shapes of all sizes."""
    chance = lottery(seed)
    return [
        shape(chance.randint(1, 64_000), chance.randint(1, 256 * GIBI), chance.randint(1, 99))
        for _ in range(n_lots)
    ]


def assert_sums_are_kept(classes: Classes, lots: Sequence[Lot]) -> None:
    """Pods and what they ask for, in all and in every class."""
    for number in range(len(classes.count_l)):
        mine = [lot for place, lot in enumerate(lots) if classes.class_of[place] == number]
        count = sum(lot.count for lot in mine)
        asked = np.sum([lot.request * lot.count for lot in mine], axis=0)
        assert classes.count_l[number] == count
        assert classes.request_lr[number] * count == pytest.approx(asked)
        assert {lot.mask for lot in mine} == {int(classes.mask_l[number])}
        assert {lot.cell for lot in mine} == {int(classes.cell_l[number])}
        assert {lot.weight for lot in mine} == {int(classes.weight_l[number])}


@given(
    st.lists(
        st.builds(shape, st.integers(1, 3), st.integers(1, 3), st.integers(1, 9)),
        min_size=1,
        max_size=12,
    )
)
def test_few_shapes_are_classes_as_they_are(lots: list[Lot]) -> None:
    """Equal ones are one class, and no others."""
    classes = merge(ENC, lots)
    assert len(classes.count_l) == len({lot.request.tobytes() for lot in lots})
    assert_sums_are_kept(classes, lots)


@pytest.mark.parametrize("seed", range(3))
def test_many_shapes_become_a_few_hundred_classes(seed: int) -> None:
    """Two thousand of them, without losing a pod or a byte."""
    lots = random_lots(2000, seed)
    classes = merge(ENC, lots)
    assert 60 < len(classes.count_l) <= MAX_CLASSES
    assert_sums_are_kept(classes, lots)


def test_the_weightiest_shapes_are_not_merged() -> None:
    """A shape with a million pods stays exact among hundreds of others of its size."""
    heavy = shape(1234, 5 * GIBI, 10**6)
    near = [shape(1235 + n, 5 * GIBI) for n in range(400)]
    classes = merge(ENC, [heavy, *near])
    assert classes.request_lr[classes.class_of[0]].tolist() == heavy.request.tolist()
    assert len(classes.count_l) < len(near)


def test_lots_that_go_to_different_cells_stay_apart() -> None:
    """So do those of other pool weights and other wishes, also when shapes are merged."""
    lots = [shape(1 + n, 1, cell=n % 2) for n in range(300)]
    classes = merge(ENC, lots)
    assert len(classes.count_l) < len(lots)
    assert_sums_are_kept(classes, lots)


def test_classes_go_where_their_pods_could_go() -> None:
    """Lot by lot: labels, taints, and a large enough empty node."""
    for seed in range(60):
        enc = encode(random_puzzle(seed))
        if not enc.groups:
            continue
        lots = lots_of(enc)
        classes = merge(enc, lots)
        offers = np.arange(enc.n_offers)
        accept = acceptance(enc, classes, offers)
        for lot, number in zip(lots, classes.class_of.tolist(), strict=True):
            room = ((lot.request <= enc.cap_or) | (lot.request == 0)).all(axis=1)
            want = enc.masks_me[lot.mask, : enc.n_offers] & room
            assert accept[number].tolist() == want.tolist(), f"seed {seed}"


def test_a_class_keeps_to_its_cell_and_weight() -> None:
    """Offers in other zones, or of pools of another weight, do not count."""
    enc = encoded(
        deployment(2, spread=[{"topology_key": "zone"}]),
        node_pools=(node_pool("heavy", weight=5), node_pool("light")),
        instance_types={"heavy": (SMALL,), "light": (SMALL,)},
    )
    unit = unit_of(enc, 0)
    lot = Lot(unit.request, unit.mask, 1, 2, weight=5)
    offers = np.arange(enc.n_offers)
    accept = acceptance(enc, merge(enc, [lot]), offers)[0]
    assert accept.tolist() == ((enc.cell_o == 1) & (enc.weight_o == 5)).tolist()
    assert accept.sum() == 1


def test_pods_that_exclude_each_other_are_capped() -> None:
    """One of them on a node; a spread over hosts allows its skew, an affinity everything."""
    pods = [
        *deployment(3, "apart", anti_affinity=[{"topology_key": "hostname"}]),
        *deployment(3, "even", spread=[{"topology_key": "hostname", "max_skew": 2}]),
        *deployment(3, "near", affinity=[{"topology_key": "hostname"}]),
    ]
    enc = encoded(pods)
    classes = merge(enc, lots_of(enc))
    caps = {
        enc.groups[members[0]].pods[0].labels["app"]: cap for cap, members in classes.cap_groups
    }
    assert caps == {"apart": 1.0, "even": 2.0}
    assert len(classes.cap_terms) == 2


def test_a_term_caps_all_classes_that_it_is_about() -> None:
    """Pods of two sizes that exclude each other share a cap."""
    apart = [{"topology_key": "hostname", "selector": {"team": "x"}}]
    pods = [
        pod("small", cpu=1, labels={"team": "x"}, anti_affinity=apart),
        pod("large", cpu=2, labels={"team": "x"}, anti_affinity=apart),
    ]
    enc = encoded(pods)
    assert merge(enc, lots_of(enc)).cap_groups == [(1.0, [0, 1])]


def test_only_the_terms_with_the_most_pods_are_capped() -> None:
    """Twenty terms, of which the largest dozen count."""
    pods = [
        one
        for n in range(20)
        for one in deployment(n + 1, f"d{n:02}", anti_affinity=[{"topology_key": "hostname"}])
    ]
    enc = encoded(pods)
    classes = merge(enc, lots_of(enc))
    capped = sorted(int(classes.count_l[members[0]]) for _, members in classes.cap_groups)
    assert capped == list(range(21 - MAX_CAP_TERMS, 21))


def test_ranges_of_equal_lots_add_up() -> None:
    """Two spreads of three pods each are one class of six, two in every zone at least."""
    lots = [
        Lot(np.array([1, 1, 1]), 0, ANY_CELL, 3, key=0, low=np.array([1, 1]), high=np.array([2, 2]))
        for _ in range(2)
    ]
    classes = merge(ENC, lots)
    ((low, high),) = classes.range_ld.values()
    assert (low.tolist(), high.tolist(), classes.count_l.tolist()) == ([2, 2], [4, 4], [6])
