"""NodeOverlays: what they change, who wins, what conflicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import pytest

from dovetail import labels
from dovetail.cloud.declare import Make, all_labels, placement
from dovetail.cloud.overlays import (
    FixedPrice,
    Overlay,
    OverlayConflict,
    PooledTypes,
    PriceScale,
    PriceShift,
    apply_to_pools,
)
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, requirement

POOL = NodePool("default", labels={"team": "blue"})
MIB = 2**20


def instance_type(name: str, *, price: int = 100) -> InstanceType:
    """A type in two zones, on demand."""
    capacity = {"cpu": 4000, "memory": 1024 * MIB}
    offerings = tuple(
        Offering(zone, labels.ON_DEMAND, price, placement(zone, labels.ON_DEMAND))
        for zone in ("a", "b")
    )
    make = Make(name, ("amd64",), ("linux",), capacity, offerings)
    return InstanceType(name, all_labels(make), capacity, capacity, offerings)


TYPES = (instance_type("small"), instance_type("large", price=200))


def applied(
    overlays: Sequence[Overlay],
) -> tuple[tuple[InstanceType, ...], tuple[OverlayConflict, ...]]:
    """The types of the pool as the overlays change them, and the overlays that were left out."""
    by_pool, conflicts = apply_to_pools([PooledTypes(POOL, TYPES)], overlays)
    return by_pool[POOL.name], conflicts


def named(*names: str) -> Requirement:
    """Only these types."""
    return requirement(labels.INSTANCE_TYPE, "In", names)


def prices(types: tuple[InstanceType, ...]) -> dict[str, list[int]]:
    """The prices in zones a and b, by type."""
    return {one.name: [held.price_nanousd for held in one.offerings] for one in types}


def test_an_overlay_without_requirements_changes_every_price() -> None:
    """And marks what it changed."""
    types, conflicts = applied([Overlay("all", price=FixedPrice(7))])
    assert prices(types) == {"small": [7, 7], "large": [7, 7]}
    assert all(held.is_overlaid for one in types for held in one.offerings)
    assert conflicts == ()


@pytest.mark.parametrize(
    ("wanted", "changed"),
    [
        pytest.param(named("small"), {"small": [7, 7], "large": [200, 200]}, id="one type"),
        pytest.param(
            requirement(labels.ZONE, "In", ["b"]), {"small": [100, 7], "large": [200, 7]}, id="zone"
        ),
        pytest.param(
            requirement(labels.NODE_POOL, "In", ["default"]),
            {"small": [7, 7], "large": [7, 7]},
            id="this pool",
        ),
        pytest.param(
            requirement(labels.NODE_POOL, "In", ["other"]),
            {"small": [100, 100], "large": [200, 200]},
            id="another pool",
        ),
        pytest.param(
            requirement("team", "In", ["blue"]), {"small": [7, 7], "large": [7, 7]}, id="pool label"
        ),
        pytest.param(
            requirement("unheard-of", "Exists"),
            {"small": [100, 100], "large": [200, 200]},
            id="a label that no node has",
        ),
        pytest.param(
            requirement("unheard-of", "DoesNotExist"),
            {"small": [7, 7], "large": [7, 7]},
            id="the absence of a label",
        ),
    ],
)
def test_an_overlay_touches_what_its_requirements_describe(
    wanted: Requirement, changed: Mapping[str, list[int]]
) -> None:
    """By labels of the pool, of the type and of the single offering."""
    overlay = Overlay("one", requirements=(wanted,), price=FixedPrice(7))
    types, _ = applied([overlay])
    assert prices(types) == changed


def test_the_heavier_overlay_wins_and_the_lighter_fills_the_gaps() -> None:
    """Offering by offering, and resource by resource."""
    heavy = Overlay(
        "heavy", 10, (named("small"),), price=FixedPrice(7), capacity={"x.io/a": 1, "x.io/b": 1}
    )
    light = Overlay("light", 5, (), price=PriceShift(1), capacity={"x.io/b": 2, "x.io/c": 2})
    types, conflicts = applied([light, heavy])
    assert prices(types) == {"small": [7, 7], "large": [201, 201]}
    extra = [{k: v for k, v in one.capacity.items() if "/" in k} for one in types]
    assert extra == [{"x.io/a": 1, "x.io/b": 1, "x.io/c": 2}, {"x.io/b": 2, "x.io/c": 2}]
    assert conflicts == ()


def test_overlays_of_one_weight_that_touch_one_price_conflict() -> None:
    """The later name stays, even if both say the same; the other is left out altogether."""
    first = Overlay("a", 5, price=FixedPrice(7), capacity={"x.io/a": 1})
    second = Overlay("b", 5, (named("small"),), price=FixedPrice(7))
    types, conflicts = applied([first, second])
    assert prices(types) == {"small": [7, 7], "large": [200, 200]}
    assert all("x.io/a" not in one.capacity for one in types)
    message = (
        "the price of instance type small in node pool default is set by overlay b, "
        "which has the same weight 5"
    )
    assert conflicts == (OverlayConflict("a", "b", message),)


def test_overlays_of_one_weight_that_set_one_resource_conflict() -> None:
    """Different resources, or a price and a resource, do not."""
    overlays = [
        Overlay("a", capacity={"x.io/a": 1}),
        Overlay("b", capacity={"x.io/b": 1}),
        Overlay("c", price=PriceShift(1)),
        Overlay("d", capacity={"x.io/a": 2}),
    ]
    types, conflicts = applied(overlays)
    assert [(one.overlay, one.other) for one in conflicts] == [("a", "d")]
    assert (types[0].capacity["x.io/a"], types[0].capacity["x.io/b"]) == (2, 1)
    assert prices(types)["small"] == [101, 101]


def test_a_rejected_overlay_settles_nothing() -> None:
    """So a lighter one takes what the rejected one would have taken."""
    overlays = [
        Overlay("z", 5, (named("small"),), price=FixedPrice(1)),
        Overlay("y", 5, (), price=FixedPrice(2)),
        Overlay("x", 1, (), price=FixedPrice(3)),
    ]
    types, conflicts = applied(overlays)
    assert prices(types) == {"small": [1, 1], "large": [3, 3]}
    assert [one.overlay for one in conflicts] == ["y"]


def test_a_conflict_in_one_pool_leaves_the_overlay_out_of_all() -> None:
    """An overlay is applied everywhere or nowhere."""
    other = NodePool("other")
    overlays = [
        Overlay("b", 5, (requirement(labels.NODE_POOL, "In", ["default"]),), price=FixedPrice(1)),
        Overlay("a", 5, (), price=FixedPrice(2)),
    ]
    pooled = [PooledTypes(POOL, TYPES), PooledTypes(other, TYPES)]
    by_pool, conflicts = apply_to_pools(pooled, overlays)
    assert prices(by_pool["default"]) == {"small": [1, 1], "large": [1, 1]}
    assert by_pool["other"] == TYPES
    assert [one.overlay for one in conflicts] == ["a"]


def test_capacity_is_added_to_what_pods_may_use() -> None:
    """And huge pages are taken out of memory."""
    overlay = Overlay("huge", capacity={"hugepages-2Mi": 512 * MIB, "x.io/fpga": 2})
    (small, _), _ = applied([overlay])
    assert small.capacity == {
        "cpu": 4000,
        "memory": 1024 * MIB,
        "hugepages-2Mi": 512 * MIB,
        "x.io/fpga": 2,
    }
    assert small.allocatable == {**small.capacity, "memory": 512 * MIB}
    assert small.is_overlaid
    assert not any(held.is_overlaid for held in small.offerings)


def test_what_no_overlay_touches_stays_the_same_object() -> None:
    """So that what was worked out for it before still holds."""
    overlay = Overlay("one", requirements=(named("small"),), price=PriceScale(1, 2))
    types, _ = applied([overlay])
    assert types[1] is TYPES[1]


def test_the_order_in_which_overlays_are_listed_does_not_matter() -> None:
    """Only weight and name do."""
    overlays = [
        Overlay("a", 5, (named("small"),), price=FixedPrice(1)),
        Overlay("b", 5, (), price=FixedPrice(2)),
        Overlay("c", 7, (named("large"),), price=FixedPrice(3)),
    ]
    results = [applied(listed) for listed in permutations(overlays)]
    assert all(one == results[0] for one in results)
