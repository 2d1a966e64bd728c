"""Tests of what each error code means."""

from __future__ import annotations

import pytest

from dovetail.providers.aws.calls import CallFailedError, Failure
from dovetail.providers.aws.launching.failures import (
    UNFULFILLABLE,
    FleetError,
    is_not_found,
    is_undecided,
)

REASONS = {
    ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", ""): "SpotSLRCreationFailed",
    ("UnauthorizedOperation", "You are not authorized"): "Unauthorized",
    ("AuthFailure", "Not authorized for images: [ami-1]"): "AMIAuthorizationFailure",
    (
        "AuthFailure",
        "AWS was not able to validate the provided access credentials",
    ): "Unauthorized",
    (
        "InvalidParameter",
        "Security group sg-1 and subnet subnet-1 belong to different networks.",
    ): "SecurityGroupSubnetVPCMismatch",
    (
        "InvalidParameterValue",
        "Value (x) for parameter iamInstanceProfile.name is invalid.",
    ): "InstanceProfileNameInvalid",
    ("InvalidLaunchTemplateName.NotFoundException", ""): "LaunchTemplateNotFound",
    ("InvalidLaunchTemplateId.NotFound", ""): "LaunchTemplateNotFound",
    (
        "InvalidParameterValue",
        "User data is limited to 16384 bytes",
    ): "UserDataSizeLimitExceeded",
    ("InvalidAMIID.Malformed", ""): "InvalidAMIID",
    ("InvalidAMIID.NotFound", ""): "AMINotFound",
    ("RequestLimitExceeded", ""): "RequestLimitExceeded",
    ("InternalError", ""): "InternalError",
    (
        "InvalidParameterCombination",
        "The specified instance type is not eligible for Free Tier.",
    ): "FreeTierIneligible",
    ("MaxFleetCountExceeded", ""): "FleetQuotaExceeded",
    ("PendingVerification", ""): "AccountPendingVerification",
    ("MaxSpotInstanceCountExceeded", ""): "SpotQuotaExceeded",
    ("VcpuLimitExceeded", ""): "VCPULimitExceeded",
    ("InsufficientFreeAddressesInSubnet", ""): "InsufficientFreeAddressesInSubnet",
    ("SomethingNew", "of which nobody knows"): "LaunchFailed",
}


@pytest.mark.parametrize(
    ("code", "message", "want"),
    [pytest.param(*key, want, id=f"{key[0]} is {want}") for key, want in REASONS.items()],
)
def test_each_code_has_its_reason(code: str, message: str, want: str) -> None:
    """As conditions of claims state it."""
    assert FleetError(code, message).reason == want


ROWS = {
    "SpotSLRCreationFailed",
    "Unauthorized",
    "AMIAuthorizationFailure",
    "SecurityGroupSubnetVPCMismatch",
    "InstanceProfileNameInvalid",
    "LaunchTemplateNotFound",
    "UserDataSizeLimitExceeded",
    "InvalidAMIID",
    "AMINotFound",
    "RequestLimitExceeded",
    "InternalError",
    "FreeTierIneligible",
    "FleetQuotaExceeded",
    "AccountPendingVerification",
    "SpotQuotaExceeded",
    "VCPULimitExceeded",
    "InsufficientFreeAddressesInSubnet",
    "LaunchFailed",
}


def test_every_reason_has_a_code_above() -> None:
    """A row that disappears is missed here."""
    assert set(REASONS.values()) == ROWS


UNFULFILLABLE_CODES = (
    "InsufficientInstanceCapacity",
    "MaxSpotInstanceCountExceeded",
    "VcpuLimitExceeded",
    "UnfulfillableCapacity",
    "Unsupported",
    "InsufficientFreeAddressesInSubnet",
    "MaxFleetCountExceeded",
    "ReservationCapacityExceeded",
)


def test_no_other_code_is_unfulfillable() -> None:
    """What is not listed is no matter of capacity."""
    assert set(UNFULFILLABLE_CODES) == UNFULFILLABLE


@pytest.mark.parametrize("code", UNFULFILLABLE_CODES)
def test_an_unfulfillable_code_means_insufficient_capacity(code: str) -> None:
    """Something else has to be asked for."""
    assert FleetError(code).is_unfulfillable


def test_the_limit_of_a_spread_placement_group_is_unfulfillable() -> None:
    """It is told by its message alone."""
    message = "The spread placement group has reached its limit of 7 instances per zone"
    assert FleetError("InvalidParameterValue", message).is_unfulfillable
    assert not FleetError("InvalidParameterValue", "something else").is_unfulfillable


@pytest.mark.parametrize(
    "code",
    [
        "InvalidInstanceID.NotFound",
        "InvalidInstanceID.Malformed",
        "InvalidLaunchTemplateName.NotFoundException",
        "InvalidLaunchTemplateId.NotFound",
        "InvalidCapacityReservationId.NotFound",
        "QueueDoesNotExist",
        "NoSuchEntity",
        "ParameterNotFound",
    ],
)
def test_a_not_found_code_means_that_there_is_no_such_resource(code: str) -> None:
    """Which ends a deletion."""
    assert is_not_found(CallFailedError("ec2:X", code, "", Failure.REJECTED))


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("RequestLimitExceeded", Failure.THROTTLED),
        ("InternalError", Failure.UNAVAILABLE),
        ("ReadTimeoutError", Failure.UNAVAILABLE),
        ("ExpiredToken", Failure.CREDENTIALS),
        ("RequestExpired", Failure.CREDENTIALS),
        ("AuthFailure", Failure.CREDENTIALS),
        ("400", Failure.REJECTED),
        ("", Failure.REJECTED),
    ],
)
def test_what_is_no_answer_is_undecided(code: str, failure: Failure) -> None:
    """The same request is sent again."""
    assert is_undecided(CallFailedError("ec2:CreateFleet", code, "", failure))


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "InvalidParameterValue"])
def test_a_refusal_is_decided(code: str) -> None:
    """Nothing was launched."""
    assert not is_undecided(CallFailedError("ec2:CreateFleet", code, "", Failure.REJECTED))
