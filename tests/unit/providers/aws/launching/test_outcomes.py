"""Tests of what an answer of EC2 means."""

from __future__ import annotations

from dovetail import labels
from dovetail.cloud.errors import CreateError, InsufficientCapacityError, SoldOut
from dovetail.providers.aws.catalogue.inputs import UnavailableOffering
from dovetail.providers.aws.launching.failures import FleetError
from dovetail.providers.aws.launching.fleet_answer import FleetAnswer
from dovetail.providers.aws.launching.outcomes import (
    OrderPlace,
    launch_failure,
    sold_out,
    unavailability,
)

A = "us-west-2a"
ICE = FleetError("InsufficientInstanceCapacity", "none left", "m5.large", A, "subnet-1")
SPREAD = FleetError("InvalidParameterValue", "spread placement group is full", "m5.large", A)
SPOT = OrderPlace(labels.SPOT)


def test_an_offering_without_capacity_is_marked_for_its_capacity_type() -> None:
    """By type and zone."""
    found = unavailability(FleetAnswer(errors=(ICE,)), SPOT)
    assert found.offerings == (UnavailableOffering("m5.large", A, labels.SPOT),)
    assert (found.capacity_types, found.subnets, found.reserved) == ((), (), ())


def test_a_placement_group_without_capacity_is_marked_for_that_group_and_partition() -> None:
    """Others may have some."""
    found = unavailability(FleetAnswer(errors=(ICE,)), OrderPlace(labels.ON_DEMAND, "pg-1", "2"))
    want = UnavailableOffering("m5.large", A, labels.ON_DEMAND, "pg-1", "2")
    assert found.offerings == (want,)


def test_a_full_spread_group_marks_every_type_in_the_zone_for_that_group() -> None:
    """Seven instances in a zone are all that it takes."""
    placed = OrderPlace(labels.ON_DEMAND, "pg-1")
    found = unavailability(FleetAnswer(errors=(SPREAD,)), placed, ["c5.large", "m5.large"])
    assert found.offerings == tuple(
        UnavailableOffering(name, A, labels.ON_DEMAND, "pg-1") for name in ("c5.large", "m5.large")
    )


def test_a_subnet_without_addresses_is_marked_and_not_the_offering() -> None:
    """Another subnet of the zone may have some."""
    error = FleetError("InsufficientFreeAddressesInSubnet", "", "m5.large", A, "subnet-1")
    found = unavailability(FleetAnswer(errors=(error,)), SPOT)
    assert (found.offerings, found.subnets) == ((), ("subnet-1",))


def test_spot_is_marked_as_a_whole_if_its_service_linked_role_cannot_be_made() -> None:
    """No type of it can be launched."""
    code = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
    found = unavailability(FleetAnswer(errors=(FleetError(code, "", "m5.large", A),)), SPOT)
    assert (found.offerings, found.capacity_types) == ((), (labels.SPOT,))


def test_a_reservation_that_is_used_up_marks_no_offering() -> None:
    """Its count is set to nothing instead."""
    error = FleetError("ReservationCapacityExceeded", "", "m5.large", A)
    found = unavailability(FleetAnswer(errors=(error,)), OrderPlace(labels.RESERVED))
    assert (found.offerings, found.reserved) == ((), (("m5.large", A),))


def test_only_unfulfillable_errors_are_insufficient_capacity() -> None:
    """With what could not be had."""
    answer = FleetAnswer(errors=(ICE, FleetError("VcpuLimitExceeded", "", "c5.large", A)))
    error = launch_failure("c", answer, labels.SPOT)
    assert isinstance(error, InsufficientCapacityError)
    assert error.sold_out == (
        SoldOut("c5.large", A, labels.SPOT),
        SoldOut("m5.large", A, labels.SPOT),
    )


def test_any_other_error_is_an_error_of_the_launch_with_its_reason() -> None:
    """Capacity may be there after all."""
    answer = FleetAnswer(errors=(ICE, FleetError("InvalidAMIID.NotFound", "no ami-1", "c5.large")))
    error = launch_failure("c", answer, labels.SPOT)
    assert isinstance(error, CreateError)
    assert (error.condition_reason, error.condition_message) == ("AMINotFound", "no ami-1")


def test_too_few_instances_without_a_word_are_an_error_of_the_launch() -> None:
    """It is tried again."""
    error = launch_failure("c", FleetAnswer(), labels.SPOT)
    assert isinstance(error, CreateError)
    assert error.condition_reason == "LaunchFailed"


def test_a_launch_that_succeeded_tells_what_it_could_not_have() -> None:
    """And only that."""
    answer = FleetAnswer(errors=(ICE, FleetError("InvalidAMIID.NotFound", "", "c5.large", A)))
    assert sold_out(answer, labels.SPOT) == (SoldOut("m5.large", A, labels.SPOT),)
