"""What `catalog` shows."""

from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirements
from dovetail.present.catalogue import Wanted, family, matches, type_row

GI = 1024**3


def machine(name: str, cpu: int, *, arch: str = "amd64", gpus: int = 0) -> InstanceType:
    """A type with an on-demand and two spot offerings, one of them not to be had."""
    capacity = {"cpu": cpu * 1000, "memory": cpu * 4 * GI, "pods": 30}
    if gpus:
        capacity["nvidia.com/gpu"] = gpus
    offerings = tuple(
        Offering(zone, kind, cost, Requirements(), is_available=is_available)
        for zone, kind, cost, is_available in (
            ("a", labels.ON_DEMAND, 100, True),
            ("b", labels.SPOT, 40, True),
            ("c", labels.SPOT, 30, False),
        )
    )
    fixed = Requirements.of_labels({labels.ARCH: arch})
    return InstanceType(name, fixed, capacity, capacity, offerings)


TYPES = (
    machine("m7g.xlarge", 4, arch="arm64"),
    machine("m7g.large", 2, arch="arm64"),
    machine("g6.xlarge", 4, gpus=1),
)


def test_types_come_family_by_family_small_to_large() -> None:
    """Not in the order in which they were listed."""
    assert [one.name for one in matches(TYPES, Wanted())] == [
        "g6.xlarge",
        "m7g.large",
        "m7g.xlarge",
    ]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        pytest.param(Wanted(family="m7g"), ["m7g.large", "m7g.xlarge"], id="family"),
        pytest.param(Wanted(arch="amd64"), ["g6.xlarge"], id="architecture"),
        pytest.param(Wanted(min_cpu_millis=4000), ["g6.xlarge", "m7g.xlarge"], id="cpu"),
        pytest.param(Wanted(min_memory_bytes=9 * GI), ["g6.xlarge", "m7g.xlarge"], id="memory"),
        pytest.param(Wanted(resource="nvidia.com/gpu"), ["g6.xlarge"], id="resource"),
        pytest.param(Wanted(family="m7"), [], id="a family is matched whole"),
    ],
)
def test_each_filter_keeps_only_what_was_asked_for(wanted: Wanted, names: list[str]) -> None:
    """Filters combine; each alone is shown here."""
    assert [one.name for one in matches(TYPES, wanted)] == names


def test_a_row_shows_the_lowest_price_that_can_be_had() -> None:
    """An offering that is not available sets no price."""
    row = type_row(TYPES[2])
    assert (row.on_demand_nanousd, row.spot_nanousd) == (100, 40)
    assert row.devices == (("nvidia.com/gpu", 1),)
    assert row.zones == ("a", "b", "c")


def test_a_family_is_what_stands_before_the_size() -> None:
    """Both spellings of names are understood."""
    assert [family(name) for name in ("m7g.large", "c-4x-arm64-linux", "tiny")] == [
        "m7g",
        "c",
        "tiny",
    ]
