"""The generic grid, as the reference's built-in types describe it."""

from __future__ import annotations

from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.requirements import Operator
from dovetail.providers.kwok.catalogue import ZONES, instance_types

GIB = 2**30


def named(name: str) -> InstanceType:
    """The type of this name."""
    return next(one for one in instance_types() if one.name == name)


def test_the_grid_has_144_types_of_distinct_names() -> None:
    """12 sizes x 3 memory ratios x 2 architectures x 2 operating systems."""
    assert len({one.name for one in instance_types()}) == len(instance_types()) == 144


def test_a_type_holds_cpu_memory_pods_and_storage_by_formula() -> None:
    """Memory is 2, 4 or 8 GiB per cpu; pods 16 per cpu, at most 1024; 20 GiB of storage."""
    assert named("m-48x-arm64-windows").capacity == {
        "cpu": 48_000,
        "memory": 384 * GIB,
        "pods": 768,
        "ephemeral-storage": 20 * GIB,
    }
    assert named("c-96x-amd64-linux").capacity["pods"] == 1024
    assert named("s-1x-amd64-linux").capacity["memory"] == 4 * GIB


def test_allocatable_is_capacity_less_100m_and_10_mebibytes() -> None:
    """Nothing else is kept back."""
    held = named("c-1x-amd64-linux")
    assert held.allocatable == {**held.capacity, "cpu": 900, "memory": 2 * GIB - 10 * 2**20}


def test_prices_are_linear_and_spot_is_seven_tenths() -> None:
    """0.025 $ per cpu + 0.001 $ per 10^9 bytes: 0.027147483648 $ for 1 cpu and 2 GiB."""
    prices = {
        (one.zone, one.capacity_type): one.price_nanousd
        for one in named("c-1x-amd64-linux").offerings
    }
    assert prices == {
        (zone, capacity_type): price
        for zone in ZONES
        for capacity_type, price in ((labels.ON_DEMAND, 27_147_484), (labels.SPOT, 19_003_239))
    }


def test_every_well_known_label_is_stated_or_said_to_be_absent() -> None:
    """Only the pool's name is left open, since it is not the type's to say."""
    for one in instance_types():
        assert set(one.requirements) >= labels.WELL_KNOWN - {labels.NODE_POOL}
        assert one.requirements[labels.REGION].operator is Operator.DOES_NOT_EXIST
        assert one.requirements[labels.INSTANCE_TYPE].values == {one.name}


def test_the_kwok_labels_follow_from_name_and_size() -> None:
    """Size is the cpu count, family the first letter; memory in its shortest spelling."""
    held = named("m-128x-amd64-linux").requirements
    want = {"size": "128", "family": "m", "cpu": "128", "memory": "1Ti"}
    assert {key: set(held[f"karpenter.kwok.sh/instance-{key}"].values) for key in want} == {
        key: {value} for key, value in want.items()
    }
