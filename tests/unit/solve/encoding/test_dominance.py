from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from dovetail.solve.axes import UNLIMITED
from dovetail.solve.encoding.dominance import undominated_offers
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.limits import Limits, binding_use
from dovetail.testing.builders import instance_type, node_pool, pod
from tests.unit.solve.puzzles import encoded, random_puzzle

SIZES = (("small", 2), ("large", 4))
RESERVED = {
    "zone": "a",
    "price": 0.001,
    "capacity_type": "reserved",
    "reservation_id": "cr-1",
    "reservation_capacity": 1,
}


def seeds() -> Iterator[tuple[int, Encoded]]:
    """Random puzzles with pods."""
    for seed in range(120):
        enc = encode(random_puzzle(seed))
        if enc.groups:
            yield seed, enc


def makes_pointless(enc: Encoded, winner: int, loser: int) -> bool:
    """Whether one offer does all that the other does, for no more money, in the same place, and
    uses no more of any limit.
    """
    masks = enc.masks_me
    return all(use[winner] <= use[loser] for use in binding_use(enc)) and bool(
        (enc.cap_or[winner] >= enc.cap_or[loser]).all()
        and (masks[:, winner] | ~masks[:, loser]).all()
        and enc.plan_price_o[winner] <= enc.plan_price_o[loser]
        and enc.cell_o[winner] == enc.cell_o[loser]
        and enc.weight_o[winner] == enc.weight_o[loser]
    )


def names(enc: Encoded) -> list[str]:
    """The types of the offers that are searched."""
    offers, _ = undominated_offers(enc)
    return [enc.market.types[enc.market.offers[one].type].name for one in offers.tolist()]


def test_whatever_is_left_out_has_a_better_one_that_stands_for_it() -> None:
    """It accepts the same pods, has the capacity, costs no more, uses no more of any limit that
    might bind, and there is any number of it.
    """
    n_lost = 0
    for seed, enc in seeds():
        offers, stands_for = undominated_offers(enc)
        for offer, winner in enumerate(stands_for.tolist()):
            if winner == offer:
                continue
            n_lost += 1
            assert winner in offers, f"seed {seed}"
            assert offer not in offers, f"seed {seed}"
            assert makes_pointless(enc, winner, offer), f"seed {seed}"
            assert enc.supply_o[winner] == UNLIMITED, f"seed {seed}"
    assert n_lost > 200


def test_offers_stay_unless_another_makes_them_pointless() -> None:
    """None that is searched is dearer or smaller than one of which there is any number and which
    does all it does; no others go. (One that costs as much and is as large may stay beside a more
    welcome one.)
    """
    for seed, enc in seeds():
        offers, stands_for = undominated_offers(enc)
        sure = [one for one in offers.tolist() if enc.supply_o[one] == UNLIMITED]
        for a, b in product(sure, offers.tolist()):
            is_better = enc.plan_price_o[a] < enc.plan_price_o[b]
            is_better |= bool((enc.cap_or[a] > enc.cap_or[b]).any())
            assert not (is_better and makes_pointless(enc, a, b)), f"seed {seed}"
        for offer in np.setdiff1d(np.flatnonzero(stands_for == np.arange(enc.n_offers)), offers):
            useless = not enc.masks_me[:, offer].any() or Limits(enc).most(int(offer)) == 0
            assert useless, f"seed {seed}"


def test_searched_offers_come_in_order() -> None:
    """Ascending, each once."""
    for seed, enc in seeds():
        offers, _ = undominated_offers(enc)
        assert offers.tolist() == sorted(set(offers.tolist())), f"seed {seed}"


def test_a_small_machine_that_costs_as_much_is_pointless() -> None:
    """The larger one of the same price stays."""
    small = instance_type("small", cpu=2, price=0.2, zones=("a",))
    large = instance_type("large", cpu=4, price=0.2, zones=("a",))
    assert names(encoded([pod()], small, large)) == ["large"]


def test_a_limit_keeps_a_small_machine_beside_a_larger_one() -> None:
    """It uses less of what the pool may still add, unless there is plenty of that."""
    small = instance_type("small", cpu=2, price=0.2, zones=("a",))
    large = instance_type("large", cpu=4, price=0.2, zones=("a",))
    for left, want in ((8_000, ["small", "large"]), (1_000_000, ["large"])):
        limits = {"default": {"cpu": left}}
        assert sorted(names(encoded([pod()], small, large, limits=limits))) == sorted(want)


def test_a_limit_on_nodes_keeps_no_small_machine() -> None:
    """A node is a node: the larger one of the same price stays."""
    kinds = [instance_type(name, cpu=cpu, price=0.2, zones=("a",)) for name, cpu in SIZES]
    limits = {"default": {"nodes": 3}}
    assert names(encoded([pod()], *kinds, limits=limits)) == ["large"]


def test_equals_are_searched_once() -> None:
    """Of two that are alike in everything, the first stands for both."""
    twins = [instance_type(name, price=0.2, zones=("a",)) for name in ("x", "y")]
    assert names(encoded([pod()], *twins)) == ["x"]


def test_zones_are_alike_unless_somebody_tells_them_apart() -> None:
    """A pod that is spread over zones needs both."""
    kind = instance_type("x", price=0.2, zones=("a", "b"))
    assert names(encoded([pod()], kind)) == ["x"]
    assert names(encoded([pod(spread=[{"topology_key": "zone"}])], kind)) == ["x", "x"]


def test_a_reservation_stands_for_nothing() -> None:
    """It is much cheaper, but there is only one of it."""
    kind = instance_type("x", price=0.2, zones=("a",), offerings=[RESERVED])
    enc = encoded([pod()], kind)
    assert names(enc) == ["x", "x"]
    assert sorted(enc.supply_o.tolist()) == [1, int(UNLIMITED)]


def test_a_reservation_that_is_used_up_is_not_searched() -> None:
    """Nothing of it is left."""
    kind = instance_type("x", price=0.2, zones=("a",), offerings=[RESERVED])
    assert names(encoded([pod()], kind, reserved_by_id={"cr-1": 1})) == ["x"]


def test_a_lighter_pool_is_no_substitute_for_a_heavier_one() -> None:
    """However cheap it is."""
    dear = instance_type("dear", price=0.9, zones=("a",))
    cheap = instance_type("cheap", price=0.1, zones=("a",))
    enc = encoded(
        [pod()],
        node_pools=(node_pool("heavy", weight=9), node_pool("light")),
        instance_types={"heavy": (dear,), "light": (cheap,)},
    )
    assert names(enc) == ["dear", "cheap"]


def test_many_offers_are_compared_with_all_that_came_before() -> None:
    """Three hundred of one size at rising prices leave one."""
    kinds = [instance_type(f"t{n}", price=0.1 + n / 1000, zones=("a",)) for n in range(300)]
    offers, stands_for = undominated_offers(encoded([pod()], *kinds))
    assert (len(offers), set(stands_for.tolist())) == (1, {int(offers[0])})


def test_there_may_be_nothing_to_search() -> None:
    """No type at all."""
    offers, stands_for = undominated_offers(encoded([pod()], instance_types={}))
    assert (len(offers), len(stands_for)) == (0, 0)
