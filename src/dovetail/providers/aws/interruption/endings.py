"""Makes of what is said about instances what the controller acts upon, and keeps what is far away.

An end that is far away is written on its NodeClaim as well: its message is deleted once it is read,
and whoever leads next must know of it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.ending import DRAINS_FOR, InstanceEnding
from dovetail.providers.aws.interruption.claims import InstanceClaim
from dovetail.providers.aws.interruption.messages import NOTICE, Interruption, InterruptionKind

# A retirement is announced days before: its pods need not be hurried.
_SCHEDULED_DRAINS_FOR: Final = timedelta(hours=1)
_UNHEALTHY: Final = "InstanceUnhealthy"
REASONS: Final = {
    InterruptionKind.SPOT: "SpotInterrupted",
    InterruptionKind.REBALANCE: "SpotRebalanceRecommendation",
    InterruptionKind.SCHEDULED_CHANGE: _UNHEALTHY,
    InterruptionKind.STOPPED: "InstanceStopping",
    InterruptionKind.TERMINATED: "InstanceTerminating",
    InterruptionKind.RESERVATION: "CapacityReservationInstanceInterrupted",
    InterruptionKind.INSTANCE_STATUS: _UNHEALTHY,
    InterruptionKind.SYSTEM_STATUS: _UNHEALTHY,
    InterruptionKind.SCHEDULED_EVENT: _UNHEALTHY,
}
_MESSAGES: Final = {
    InterruptionKind.SPOT: "EC2 takes the spot instance back",
    InterruptionKind.REBALANCE: "EC2 recommends to replace the spot instance",
    InterruptionKind.SCHEDULED_CHANGE: "AWS has scheduled a change of the instance",
    InterruptionKind.STOPPED: "the instance is being stopped",
    InterruptionKind.TERMINATED: "the instance is being terminated",
    InterruptionKind.RESERVATION: "the owner of the capacity reservation takes the instance back",
    InterruptionKind.INSTANCE_STATUS: "the instance fails its status check",
    InterruptionKind.SYSTEM_STATUS: "the host of the instance fails its status check",
    InterruptionKind.SCHEDULED_EVENT: "EC2 has scheduled an event for the instance",
}
_FORCED: Final = frozenset({InterruptionKind.INSTANCE_STATUS, InterruptionKind.SYSTEM_STATUS})
_WITH_NOTICE: Final = frozenset({InterruptionKind.SPOT, InterruptionKind.RESERVATION})
_SCHEDULED: Final = frozenset({InterruptionKind.SCHEDULED_CHANGE, InterruptionKind.SCHEDULED_EVENT})
# Also said of instances that we terminate.
ENDED: Final = frozenset({InterruptionKind.STOPPED, InterruptionKind.TERMINATED})


class _Kept(msgspec.Struct, omit_defaults=True):
    """A far-away end as its NodeClaim keeps it."""

    kind: InterruptionKind
    at: datetime
    detail: str = ""


def ending_of(interruption: Interruption, claim: InstanceClaim, now: datetime) -> InstanceEnding:
    """The end of the claim's instance."""
    kind, at = interruption.kind, interruption.at
    if kind in _WITH_NOTICE:
        at = at or now + NOTICE
    elif kind in _SCHEDULED and at is not None and at <= now:
        at = None  # it is under way: for how long is not known
    is_spot = claim.labels.get(labels.CAPACITY_TYPE) == labels.SPOT
    return InstanceEnding(
        provider_id=claim.provider_id,
        reason=REASONS[kind],
        message=_message(kind, at, interruption.detail),
        at=at,
        metric_reason=kind.value,
        is_forced=kind in _FORCED,
        drains_for=_SCHEDULED_DRAINS_FOR if kind in _SCHEDULED else DRAINS_FOR,
        reclaimed=claim.offering if kind is InterruptionKind.SPOT and is_spot else None,
    )


def is_far_away(ending: InstanceEnding, now: datetime) -> bool:
    """Whether its node is not drained yet: what was said must be kept until then."""
    return ending.at is not None and ending.at - ending.drains_for > now


def to_text(interruption: Interruption) -> str:
    """What is written on a NodeClaim of an end that is far away."""
    at = interruption.at
    if at is None:
        return ""
    return msgspec.json.encode(_Kept(interruption.kind, at, interruption.detail)).decode()


def from_text(text: str) -> Interruption | None:
    """What was written on a NodeClaim; None if that is nothing that we wrote."""
    try:
        kept = msgspec.json.decode(text, type=_Kept)
    except msgspec.DecodeError:
        return None
    if kept.at.tzinfo is None:
        return None
    return Interruption(kept.kind, at=kept.at, detail=kept.detail)


def _message(kind: InterruptionKind, at: datetime | None, detail: str) -> str:
    when = "" if at is None else f" at {at.isoformat(timespec='seconds')}"
    note = f" ({detail})" if detail else ""
    return f"{_MESSAGES[kind]}{when}{note}"
