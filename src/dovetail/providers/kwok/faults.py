"""What goes wrong, and when? Faults as data, so that a test or a demo can order them.

    [{"type": "NoCapacity", "instanceType": "c-1x-amd64-linux", "zone": "test-zone-a"},
     {"type": "FailedLaunch", "error": "CreateError", "nodePool": "default", "times": 2},
     {"type": "SlowLaunch", "seconds": 20}, {"type": "LostInstance", "afterSeconds": 300},
     {"type": "Throttling", "calls": ["list"], "times": 3}]

Nothing here is left to chance: a fault strikes whenever it applies, from `startsAt` until
`endsAt`, at most `times` times.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TypeVar, assert_never

import msgspec

from dovetail.cloud.errors import (
    CloudError,
    CreateError,
    InsufficientCapacityError,
    NodeClaimNotFoundError,
    NodeClassNotReadyError,
    SoldOut,
    UnevaluatedNodePoolError,
)
from dovetail.errors import InputError
from dovetail.model.claim import ClaimObject


class ErrorClass(StrEnum):
    """The errors that a launch may end in."""

    NODE_CLAIM_NOT_FOUND = "NodeClaimNotFoundError"
    INSUFFICIENT_CAPACITY = "InsufficientCapacityError"
    NODE_CLASS_NOT_READY = "NodeClassNotReadyError"
    CREATE = "CreateError"
    UNEVALUATED_NODE_POOL = "UnevaluatedNodePoolError"


class Call(StrEnum):
    """What a provider is asked."""

    CREATE = "create"
    DELETE = "delete"
    GET = "get"
    LIST = "list"
    INSTANCE_TYPES = "instance_types"


class Fault(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="type",
    forbid_unknown_fields=True,
):
    """When something goes wrong. `times` None: as long as it applies."""

    starts_at: datetime | None = None
    ends_at: datetime | None = None
    times: int | None = None


class LaunchFault(Fault, frozen=True):
    """Something that goes wrong with the claims of one pool; an empty `node_pool` is any."""

    node_pool: str = ""


class NoCapacity(Fault, frozen=True, tag="NoCapacity"):
    """These offerings cannot be had; what is empty is any."""

    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""


class SlowLaunch(LaunchFault, frozen=True, kw_only=True, tag="SlowLaunch"):
    """A launch takes so much longer."""

    seconds: float


class FailedLaunch(LaunchFault, frozen=True, kw_only=True, tag="FailedLaunch"):
    """A launch ends in an error."""

    error: ErrorClass
    reason: str = "LaunchFailed"
    message: str = "an injected fault"


class LostInstance(LaunchFault, frozen=True, tag="LostInstance"):
    """A machine is lost so long after it has appeared, and its Node with it."""

    after_seconds: float = 0


class Throttling(Fault, frozen=True, tag="Throttling"):
    """The cloud will not be asked so often; no `calls` means any."""

    calls: tuple[Call, ...] = ()


AnyFault = NoCapacity | SlowLaunch | FailedLaunch | LostInstance | Throttling
_FaultT = TypeVar("_FaultT", NoCapacity, SlowLaunch, FailedLaunch, LostInstance, Throttling)


def read(path: str) -> tuple[AnyFault, ...]:
    """The faults that a JSON file lists. Raises InputError."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=tuple[AnyFault, ...])
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise InputError(msg) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"{path}: expected a JSON list of faults: {error}"
        raise InputError(msg) from None


class Faults:
    """The faults that are ordered, and how often each has struck."""

    def __init__(self, ordered: Iterable[AnyFault] = ()) -> None:
        self._ordered = list(ordered)
        self._n_struck = [0] * len(self._ordered)

    @property
    def all_faults(self) -> tuple[AnyFault, ...]:
        """All of them, also those that have struck for the last time."""
        return tuple(self._ordered)

    def order(self, fault: AnyFault) -> None:
        """One more."""
        self._ordered.append(fault)
        self._n_struck.append(0)

    def is_throttled(self, call: Call, now: datetime) -> bool:
        """Whether this call is one too many."""
        return any(
            self._strikes(at, now)
            for at, throttling in self._of_kind(Throttling)
            if not throttling.calls or call in throttling.calls
        )

    def slowness(self, claim: ClaimObject, now: datetime) -> timedelta:
        """How much longer the launch takes."""
        return timedelta(
            seconds=sum(
                slow.seconds
                for at, slow in self._of_kind(SlowLaunch)
                if _concerns(slow, claim) and self._strikes(at, now)
            )
        )

    def failure(self, claim: ClaimObject, now: datetime) -> CloudError | None:
        """The error that the launch ends in, if it does."""
        for at, failed in self._of_kind(FailedLaunch):
            if _concerns(failed, claim) and self._strikes(at, now):
                return _error(failed, claim)
        return None

    def is_sold_out(self, offering: SoldOut, now: datetime) -> bool:
        """Whether the offering cannot be had."""
        return any(
            self._strikes(at, now)
            for at, missing in self._of_kind(NoCapacity)
            if missing.instance_type in {"", offering.instance_type}
            and missing.zone in {"", offering.zone}
            and missing.capacity_type in {"", offering.capacity_type}
        )

    def lost_after(self, claim: ClaimObject, now: datetime) -> timedelta | None:
        """How long after it appears the machine of a claim that is launched now is lost."""
        for at, lost in self._of_kind(LostInstance):
            if _concerns(lost, claim) and self._strikes(at, now):
                return timedelta(seconds=lost.after_seconds)
        return None

    def _of_kind(self, kind: type[_FaultT]) -> list[tuple[int, _FaultT]]:
        return [(at, fault) for at, fault in enumerate(self._ordered) if isinstance(fault, kind)]

    def _strikes(self, at: int, now: datetime) -> bool:
        fault = self._ordered[at]
        if fault.starts_at is not None and now < fault.starts_at:
            return False
        if fault.ends_at is not None and now >= fault.ends_at:
            return False
        if fault.times is not None and self._n_struck[at] >= fault.times:
            return False
        self._n_struck[at] += 1
        return True


def _concerns(fault: LaunchFault, claim: ClaimObject) -> bool:
    return fault.node_pool in {"", claim.node_pool}


def _error(fault: FailedLaunch, claim: ClaimObject) -> CloudError:
    message = f"launching node claim {claim.name}: {fault.message}"
    match fault.error:
        case ErrorClass.NODE_CLAIM_NOT_FOUND:
            return NodeClaimNotFoundError(message)
        case ErrorClass.INSUFFICIENT_CAPACITY:
            return InsufficientCapacityError(message)
        case ErrorClass.NODE_CLASS_NOT_READY:
            return NodeClassNotReadyError(message)
        case ErrorClass.CREATE:
            return CreateError(message, condition_reason=fault.reason)
        case ErrorClass.UNEVALUATED_NODE_POOL:
            return UnevaluatedNodePoolError(claim.node_pool)
        case _:
            assert_never(fault.error)
