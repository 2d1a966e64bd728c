"""Where and how an instance type can be launched, and for how much."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.requirements import Operator
from dovetail.providers.aws.catalogue.inputs import PlacementGroupFacts, UnavailableOffering
from dovetail.providers.aws.node_class.types import CapacityReservation, ConnectionTracking
from tests.unit.providers.aws.catalogue.setting import (
    PRICE,
    ZONE_IDS,
    A,
    B,
    C,
    machine,
    node_class,
    resolved,
)

OD, SPOT = labels.ON_DEMAND, labels.SPOT
EVERYWHERE = {(zone, kind) for zone in (A, B, C) for kind in (OD, SPOT)}
GROUPS = {"default": PlacementGroupFacts("pg-1", "partition", 2)}


def available(kind: InstanceType) -> set[tuple[str, str]]:
    """Zone and capacity type of what can be launched."""
    return {(one.zone, one.capacity_type) for one in kind.offerings if one.is_available}


def reservation(**fields: Any) -> CapacityReservation:
    """A reservation of m5.large in the first zone."""
    usual = {"id": "cr-1", "instance_type": "m5.large", "availability_zone": A}
    return CapacityReservation(**(usual | fields))


def test_a_type_is_offered_on_demand_and_as_spot_in_every_zone() -> None:
    """Each offering states zone, zone id and capacity type."""
    got = resolved(machine(), node_class())
    assert available(got) == EVERYWHERE
    for one in got.offerings:
        assert one.requirements[labels.ZONE].values == {one.zone}
        assert one.requirements["topology.k8s.aws/zone-id"].values == {ZONE_IDS[one.zone]}
        assert one.requirements[labels.CAPACITY_TYPE].values == {one.capacity_type}
        assert one.price_nanousd == (PRICE if one.capacity_type == OD else 30_000_000)


@pytest.mark.parametrize(
    ("known", "lost"),
    [
        pytest.param({"zones": {"m5.large": (A, C)}}, {(B, OD), (B, SPOT)}, id="not in a zone"),
        pytest.param({"zones": {"x": (A,)}}, EVERYWHERE, id="in no zone"),
        pytest.param({"zones": {}}, set(), id="zones are not known yet"),
        pytest.param({"on_demand_nanousd": {}}, {(z, OD) for z in (A, B, C)}, id="no price"),
        pytest.param(
            {"on_demand_nanousd": {}, "overlaid_types": frozenset({"m5.large"})},
            set(),
            id="no price but that of an overlay",
        ),
        pytest.param(
            {"spot_nanousd": {("m5.large", A): 1, ("m5.large", B): 1}},
            {(C, SPOT)},
            id="a zone without a spot price has no spot",
        ),
        pytest.param(
            {"unavailable": frozenset({UnavailableOffering("m5.large", A, SPOT)})},
            {(A, SPOT)},
            id="insufficient capacity",
        ),
        pytest.param(
            {"unavailable": frozenset({UnavailableOffering("c5.large", A, SPOT)})},
            set(),
            id="insufficient capacity of another type",
        ),
        pytest.param(
            {"unavailable": frozenset({UnavailableOffering("m5.large", A, SPOT, "pg-1")})},
            set(),
            id="insufficient capacity of a placement group",
        ),
        pytest.param(
            {"unavailable_capacity_types": frozenset({SPOT})},
            {(zone, SPOT) for zone in (A, B, C)},
            id="no spot at all",
        ),
        pytest.param(
            {"unavailable_subnets": frozenset({"subnet-b"})},
            {(B, OD), (B, SPOT)},
            id="the only subnet of a zone has no addresses",
        ),
        pytest.param(
            {"shifted_zones": frozenset({"usw2-az3"})},
            {(C, OD), (C, SPOT)},
            id="traffic is shifted away",
        ),
    ],
)
def test_an_offering_is_available_only_if_everything_speaks_for_it(
    known: dict[str, Any], lost: set[tuple[str, str]]
) -> None:
    """Zone, price, capacity, subnet, traffic."""
    assert available(resolved(machine(), node_class(), **known)) == EVERYWHERE - lost


def test_a_zone_without_a_subnet_keeps_its_price() -> None:
    """Nodes may still be there, and cost what they cost."""
    got = resolved(machine(), node_class(zones=(A,)))
    assert available(got) == {(A, OD), (A, SPOT)}
    assert {one.zone for one in got.offerings} == {A, B, C}


def test_before_spot_prices_are_known_spot_costs_what_on_demand_costs() -> None:
    """So that nothing is preferred without reason."""
    got = resolved(machine(), node_class(), knows_spot=False, spot_nanousd={})
    assert {one.price_nanousd for one in got.offerings} == {PRICE}
    assert available(got) == EVERYWHERE


def test_a_type_that_is_never_sold_as_spot_has_no_spot_offering() -> None:
    """Whatever the price history says."""
    got = resolved(machine(usage_classes=("on-demand",)), node_class())
    assert {one.capacity_type for one in got.offerings} == {OD}


def test_a_type_that_the_class_cannot_use_is_listed_as_unavailable() -> None:
    """Here: connection tracking needs Nitro."""
    given = node_class(connection_tracking=ConnectionTracking(udp_timeout=30))
    got = resolved(machine("t2.large", hypervisor="xen"), given)
    assert got.offerings
    assert available(got) == set()


def test_a_reservation_is_an_offering_that_costs_next_to_nothing() -> None:
    """A ten-millionth of on-demand, so that dearer types are used for what needs them."""
    got = resolved(
        machine(), node_class(reservations=(reservation(),)), reservation_counts={"cr-1": 3}
    )
    (reserved,) = [one for one in got.offerings if one.capacity_type == labels.RESERVED]
    assert (reserved.zone, reserved.price_nanousd, reserved.is_available) == (A, 9, True)
    assert (reserved.reservation_id, reserved.reservation_capacity) == ("cr-1", 3)
    assert reserved.requirements["karpenter.k8s.aws/capacity-reservation-type"].values == {
        "default"
    }


@pytest.mark.parametrize(
    ("fields", "known"),
    [
        pytest.param({}, {}, id="nobody knows how many are left"),
        pytest.param({}, {"reservation_counts": {"cr-1": 0}}, id="none is left"),
        pytest.param(
            {"state": "expiring", "reservation_type": "capacity-block"},
            {"reservation_counts": {"cr-1": 3}},
            id="a capacity block about to end",
        ),
        pytest.param(
            {"availability_zone": "us-west-2d"},
            {"reservation_counts": {"cr-1": 3}},
            id="no subnet in its zone",
        ),
    ],
)
def test_a_reservation_that_cannot_be_used_is_unavailable(
    fields: dict[str, Any], known: dict[str, Any]
) -> None:
    """It stays listed: nodes may run on it."""
    got = resolved(machine(), node_class(reservations=(reservation(**fields),)), **known)
    (reserved,) = [one for one in got.offerings if one.capacity_type == labels.RESERVED]
    assert not reserved.is_available
    assert available(got) == EVERYWHERE


def test_a_reservation_without_an_on_demand_price_can_be_used() -> None:
    """Some types are sold as capacity blocks only."""
    given = node_class(reservations=(reservation(),))
    got = resolved(machine(), given, reservation_counts={"cr-1": 1}, on_demand_nanousd={})
    assert (A, labels.RESERVED) in available(got)


def test_partitions_multiply_offerings() -> None:
    """Each carries the label of its partition."""
    got = resolved(machine(), node_class(), placement_groups=GROUPS)
    key = "karpenter.k8s.aws/placement-group-partition"
    listed = [(one.zone, one.capacity_type, *one.requirements[key].values) for one in got.offerings]
    assert sorted(listed) == sorted((z, kind, p) for z, kind in EVERYWHERE for p in ("1", "2"))


@pytest.mark.parametrize(
    ("mark", "n_lost"),
    [
        pytest.param(UnavailableOffering("m5.large", A, OD), 2, id="in any group"),
        pytest.param(UnavailableOffering("m5.large", A, OD, "pg-1"), 2, id="in the group"),
        pytest.param(UnavailableOffering("m5.large", A, OD, "pg-1", "2"), 1, id="in a partition"),
        pytest.param(UnavailableOffering("m5.large", A, OD, "pg-2"), 0, id="in another group"),
    ],
)
def test_insufficient_capacity_may_be_that_of_a_group_or_partition(
    mark: UnavailableOffering, n_lost: int
) -> None:
    """A mark without a group holds for all."""
    got = resolved(machine(), node_class(), placement_groups=GROUPS, unavailable=frozenset({mark}))
    assert sum(not one.is_available for one in got.offerings) == n_lost


@pytest.mark.parametrize(
    "known",
    [
        pytest.param({}, id="plain"),
        pytest.param({"placement_groups": GROUPS}, id="partitions"),
        pytest.param({"reservation_counts": {"cr-1": 3}}, id="a reservation"),
        pytest.param({"spot_nanousd": {("m5.large", A): 1}}, id="spot in one zone"),
    ],
)
def test_labels_of_every_offering_are_compatible_with_those_of_the_type(
    known: dict[str, Any],
) -> None:
    """And each settles its zone and capacity type within what the type allows."""
    given = node_class(reservations=(reservation(),) if "reservation_counts" in known else ())
    got = resolved(machine(), given, **known)
    for one in got.offerings:
        assert got.requirements.conflict(one.requirements) is None
        assert got.requirements[labels.ZONE].has(one.zone)
        assert got.requirements[labels.CAPACITY_TYPE].has(one.capacity_type)


def test_ordinary_offerings_beside_a_reservation_say_that_they_belong_to_none() -> None:
    """A pool that asks for the reservation gets no other instance."""
    given = node_class(reservations=(reservation(),))
    got = resolved(machine(), given, reservation_counts={"cr-1": 1})
    for one in got.offerings:
        held = one.requirements[labels.RESERVATION_ID]
        is_reserved = one.capacity_type == labels.RESERVED
        assert held.operator is (Operator.IN if is_reserved else Operator.DOES_NOT_EXIST)
