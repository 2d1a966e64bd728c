"""Says what each error code of EC2 means for a launch."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail.providers.aws.calls import CallFailedError, Failure

UNFULFILLABLE: Final = frozenset(
    {
        "InsufficientInstanceCapacity",
        "MaxSpotInstanceCountExceeded",
        "VcpuLimitExceeded",
        "UnfulfillableCapacity",
        "Unsupported",
        "InsufficientFreeAddressesInSubnet",
        "MaxFleetCountExceeded",
        "ReservationCapacityExceeded",
    }
)
NOT_FOUND: Final = frozenset(
    {
        "InvalidInstanceID.NotFound",
        "InvalidLaunchTemplateName.NotFoundException",
        "InvalidLaunchTemplateId.NotFound",
        "InvalidCapacityReservationId.NotFound",
        "QueueDoesNotExist",
        "NoSuchEntity",
        "ParameterNotFound",
    }
)
TEMPLATE_NOT_FOUND: Final = frozenset(
    {"InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound"}
)
NO_FREE_ADDRESSES: Final = "InsufficientFreeAddressesInSubnet"
NO_RESERVED_CAPACITY: Final = "ReservationCapacityExceeded"
NO_SPOT_ROLE: Final = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
MISMATCH: Final = "IdempotentParameterMismatch"
NAME_TAKEN: Final = "InvalidLaunchTemplateName.AlreadyExistsException"
MALFORMED_ID: Final = "InvalidInstanceID.Malformed"
LAUNCH_FAILED: Final = "LaunchFailed"
# A spread placement group takes seven instances in each zone.
_SPREAD_LIMIT: Final = "spread placement group"
_NO_DECISION: Final = "Unknown"  # an error that says nothing at all
_UNDECIDED: Final = (Failure.THROTTLED, Failure.UNAVAILABLE, Failure.CREDENTIALS)

# The first that fits: by code, or by words of the message.
_REASON_BY_CODE: Final = {
    NO_SPOT_ROLE: "SpotSLRCreationFailed",
    "UnauthorizedOperation": "Unauthorized",
    "AccessDenied": "Unauthorized",
    "AuthFailure": "AMIAuthorizationFailure",
    "InvalidLaunchTemplateName.NotFoundException": "LaunchTemplateNotFound",
    "InvalidLaunchTemplateId.NotFound": "LaunchTemplateNotFound",
    "InvalidAMIID.Malformed": "InvalidAMIID",
    "InvalidAMIID.NotFound": "AMINotFound",
    "RequestLimitExceeded": "RequestLimitExceeded",
    "InternalError": "InternalError",
    "MaxFleetCountExceeded": "FleetQuotaExceeded",
    "PendingVerification": "AccountPendingVerification",
    "MaxSpotInstanceCountExceeded": "SpotQuotaExceeded",
    "VcpuLimitExceeded": "VCPULimitExceeded",
    NO_FREE_ADDRESSES: "InsufficientFreeAddressesInSubnet",
}
_REASON_BY_WORDS: Final = (
    ("iamInstanceProfile.name is invalid", "InstanceProfileNameInvalid"),
    ("belong to different networks", "SecurityGroupSubnetVPCMismatch"),
    ("User data is limited to", "UserDataSizeLimitExceeded"),
    ("Free Tier", "FreeTierIneligible"),
    ("validate the provided access credentials", "Unauthorized"),
)


def is_undecided(error: CallFailedError) -> bool:
    """Whether a call may have been carried out, or should just be made again as it was."""
    is_answered = error.code and not error.code.isdigit() and error.code != _NO_DECISION
    return not is_answered or error.failure in _UNDECIDED


def is_not_found(error: CallFailedError) -> bool:
    """Whether AWS knows of no such resource."""
    return error.code in NOT_FOUND or error.code == MALFORMED_ID


class FleetError(msgspec.Struct, frozen=True, gc=False):
    """Why one override of a fleet request, or all of it, launched nothing."""

    code: str
    message: str = ""
    instance_type: str = ""
    zone: str = ""
    subnet_id: str = ""
    template: str = ""

    @property
    def is_unfulfillable(self) -> bool:
        """Whether there is no capacity, so that something else has to be asked for."""
        return self.code in UNFULFILLABLE or self.hits_spread_limit

    @property
    def hits_spread_limit(self) -> bool:
        """Whether a spread placement group has no more room in the zone."""
        return _SPREAD_LIMIT in self.message.lower()

    @property
    def reason(self) -> str:
        """The reason for the condition of the claim."""
        for words, reason in _REASON_BY_WORDS:
            if words in self.message:
                return reason
        return _REASON_BY_CODE.get(self.code, LAUNCH_FAILED)
