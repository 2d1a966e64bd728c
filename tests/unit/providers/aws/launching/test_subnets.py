"""Tests of the choice of subnets."""

from __future__ import annotations

from dovetail.providers.aws.launching.subnets import zonal_subnets
from dovetail.providers.aws.node_class.types import Subnet


def test_each_zone_has_the_subnet_with_most_free_addresses() -> None:
    """Of equals the first by id."""
    subnets = [
        Subnet(id="subnet-3", zone="b"),
        Subnet(id="subnet-2", zone="a"),
        Subnet(id="subnet-1", zone="a"),
        Subnet(id="subnet-4", zone="b"),
    ]
    free = {"subnet-1": 5, "subnet-2": 5, "subnet-3": 1, "subnet-4": 2}
    assert zonal_subnets(subnets, free) == {"a": "subnet-1", "b": "subnet-4"}
    assert zonal_subnets([], {}) == {}
