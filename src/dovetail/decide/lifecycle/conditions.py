"""Names all status conditions, and computes an object's conditions after one was set.

An object has one root condition, `Ready`, which is worked out from those it depends on, and may
carry others that only inform. Instants are kept to the second, as Kubernetes stores them, so that
reading back what was written changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, assert_never

import msgspec

from dovetail.model.claim import ClaimObject
from dovetail.model.node import Condition


class Status(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


ROOT: Final = "Ready"
AWAITING: Final = "AwaitingReconciliation"
AWAITING_MESSAGE: Final = "not evaluated yet"
UNHEALTHY: Final = "UnhealthyDependents"
RECONCILING: Final = "ReconcilingDependents"

LAUNCHED: Final = "Launched"
REGISTERED: Final = "Registered"
INITIALIZED: Final = "Initialized"
CONSOLIDATABLE: Final = "Consolidatable"
DRIFTED: Final = "Drifted"
DRAINED: Final = "Drained"
VOLUMES_DETACHED: Final = "VolumesDetached"
INSTANCE_TERMINATING: Final = "InstanceTerminating"
CONSISTENT_STATE_FOUND: Final = "ConsistentStateFound"
DISRUPTION_REASON: Final = "DisruptionReason"
VALIDATION_SUCCEEDED: Final = "ValidationSucceeded"
NODE_CLASS_READY: Final = "NodeClassReady"
NODE_REGISTRATION_HEALTHY: Final = "NodeRegistrationHealthy"

CLAIM_DEPENDENTS: Final = (LAUNCHED, REGISTERED, INITIALIZED)
POOL_DEPENDENTS: Final = (VALIDATION_SUCCEEDED, NODE_CLASS_READY)

# What the API stores; a provider's or node class's own words need not be fit for it.
_A_REASON: Final = re.compile(r"([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?")
_LONGEST_MESSAGE: Final = 32768
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SetCondition(msgspec.Struct, frozen=True, gc=False):
    """Say this of the object."""

    type: str
    status: Status
    reason: str
    message: str = ""


class ClearCondition(msgspec.Struct, frozen=True, gc=False):
    """Say nothing of this any more. Only conditions that the root does not depend on can go."""

    type: str


ConditionChange = SetCondition | ClearCondition


def hold(condition: str) -> SetCondition:
    """It is true, and needs no other reason than its name."""
    return SetCondition(condition, Status.TRUE, condition)


def fail(condition: str, reason: str, message: str = "") -> SetCondition:
    """It is false, for this reason."""
    return SetCondition(condition, Status.FALSE, reason, message)


def wait(condition: str, reason: str = AWAITING, message: str = "") -> SetCondition:
    """It is not known yet, for this reason."""
    return SetCondition(condition, Status.UNKNOWN, reason, message)


def again(condition: Condition) -> SetCondition:
    """Say the same once more, of the present generation."""
    return SetCondition(
        condition.type, Status(condition.status), condition.reason, condition.message
    )


class Conditions(msgspec.Struct, frozen=True, gc=False):
    """An object's conditions, with what of the object they depend on. Always complete: what the
    root depends on is Unknown until somebody says otherwise.
    """

    dependents: tuple[str, ...]
    generation: int
    created_at: datetime | None
    is_deleting: bool
    held: tuple[Condition, ...]

    def get(self, condition: str) -> Condition | None:
        """The condition, if anything was said of it."""
        return next((item for item in self.held if item.type == condition), None)

    def status(self, condition: str) -> Status | None:
        """Whether it holds; None if nothing was said. A strange word counts as not known."""
        current = self.get(condition)
        if current is None:
            return None
        return Status(current.status) if current.status in set(Status) else Status.UNKNOWN

    def is_true(self, condition: str) -> bool:
        """Whether it is known to hold."""
        return self.status(condition) is Status.TRUE

    def changed_at(self, condition: str) -> datetime:
        """When its status last changed; the object's creation if nobody knows."""
        current = self.get(condition)
        stated = current.changed_at if current is not None else None
        return stated or self.created_at or _BEGINNING

    def after(self, changes: Iterable[ConditionChange], now: datetime) -> Conditions:
        """The conditions once all of this was said, in this order."""
        result = self
        for change in changes:
            match change:
                case SetCondition():
                    result = _set_with_root(result, change, now)
                case ClearCondition(type=condition):
                    result = _clear_condition(result, condition)
                case _:
                    assert_never(change)
        return result

    def with_changes(self, changes: Iterable[SetCondition], now: datetime) -> Conditions:
        """The same for an object of which nobody says whether it is ready as a whole."""
        result = self
        for change in changes:
            result = _set_condition(result, change, now)
        return result


def _set_with_root(conditions: Conditions, change: SetCondition, now: datetime) -> Conditions:
    changed = _set_condition(conditions, change, now)
    return changed if change.type == ROOT else _set_condition(changed, _root(changed), now)


def _clear_condition(conditions: Conditions, condition: str) -> Conditions:
    if condition == ROOT or condition in conditions.dependents:
        msg = f"{condition} cannot be cleared: {ROOT} depends on it"
        raise ValueError(msg)
    return _with_conditions(
        conditions, (item for item in conditions.held if item.type != condition)
    )


def _set_condition(conditions: Conditions, change: SetCondition, now: datetime) -> Conditions:
    before = conditions.get(change.type)
    changed_at = before.changed_at if before and before.status == change.status else None
    stated = Condition(
        type=change.type,
        status=change.status,
        reason=change.reason if _A_REASON.fullmatch(change.reason) else change.type,
        message=change.message[:_LONGEST_MESSAGE],
        changed_at=changed_at or whole_second(now),
        observed_generation=conditions.generation,
    )
    others = [condition for condition in conditions.held if condition.type != change.type]
    if conditions.is_deleting:
        others = [
            msgspec.structs.replace(condition, observed_generation=conditions.generation)
            for condition in others
        ]
    return _with_conditions(conditions, (*others, stated))


def _root(conditions: Conditions) -> SetCondition:
    """What follows for the root from what it depends on."""
    wanting = [
        item
        for item in map(conditions.get, conditions.dependents)
        if item and not _is_well(item, conditions)
    ]
    if not wanting:
        return hold(ROOT)
    has_failed = any(
        condition.status == Status.FALSE and condition.observed_generation == conditions.generation
        for condition in wanting
    )
    # Newest first; of equal age, as declared (`sort` keeps the order of equals).
    wanting.sort(key=lambda condition: condition.changed_at or _BEGINNING, reverse=True)
    return SetCondition(
        ROOT,
        Status.FALSE if has_failed else Status.UNKNOWN,
        UNHEALTHY if has_failed else RECONCILING,
        ", ".join(f"{condition.type}={condition.status}" for condition in wanting),
    )


def _is_well(condition: Condition, conditions: Conditions) -> bool:
    return (
        condition.status == Status.TRUE and condition.observed_generation == conditions.generation
    )


def _with_conditions(all_conditions: Conditions, conditions: Iterable[Condition]) -> Conditions:
    return msgspec.structs.replace(all_conditions, held=_in_order(conditions))


def whole_second(moment: datetime) -> datetime:
    """The moment as Kubernetes stores it."""
    return moment.replace(microsecond=0)


def rfc3339(moment: datetime) -> str:
    """The moment as Kubernetes writes it, in whole seconds."""
    return whole_second(moment).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def conditions_of_claim(claim: ClaimObject, now: datetime) -> Conditions:
    """What is said of a claim, with what nobody has said yet."""
    bare = Conditions(
        CLAIM_DEPENDENTS,
        claim.generation,
        claim.created_at,
        claim.deleting_at is not None,
        claim.conditions,
    )
    return complete(bare, now)


def complete(bare: Conditions, now: datetime) -> Conditions:
    """With everything that the root depends on, and the root itself, Unknown where unsaid."""
    created_at = bare.created_at or now
    missing = [
        Condition(
            type=condition,
            status=Status.UNKNOWN,
            reason=AWAITING,
            message=AWAITING_MESSAGE,
            changed_at=whole_second(changed_at),
            observed_generation=bare.generation,
        )
        for condition, changed_at in (
            *((dependent, created_at) for dependent in bare.dependents),
            (ROOT, now),
        )
        if bare.get(condition) is None
    ]
    conditions = _in_order((*bare.held, *missing)) if missing else bare.held
    return msgspec.structs.replace(bare, held=conditions)


def _in_order(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """By when they changed, then by name; the root last."""
    return tuple(
        sorted(
            conditions,
            key=lambda item: (item.type == ROOT, item.changed_at or _BEGINNING, item.type),
        )
    )
