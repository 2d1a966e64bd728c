"""Computes the conditions of an EC2NodeClass after a pass, with `Ready` over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from dovetail import api

TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"
READY: Final = "Ready"
AWAITING: Final = "AwaitingReconciliation"
UNHEALTHY: Final = "UnhealthyDependents"
RECONCILING: Final = "ReconcilingDependents"


class ClassCondition(StrEnum):
    """The conditions that `Ready` depends on, in the order in which they are evaluated."""

    AMIS = "AMIsReady"
    CAPACITY_RESERVATIONS = "CapacityReservationsReady"
    PLACEMENT_GROUP = "PlacementGroupReady"
    SUBNETS = "SubnetsReady"
    SECURITY_GROUPS = "SecurityGroupsReady"
    INSTANCE_PROFILE = "InstanceProfileReady"
    VALIDATION = "ValidationSucceeded"


class ConditionUpdate(msgspec.Struct, frozen=True, gc=False):
    """What a step found out about its condition."""

    type: ClassCondition
    status: str
    reason: str
    message: str = ""


def holds(condition: ClassCondition, message: str = "") -> ConditionUpdate:
    """It is true; the message may name what is worth knowing all the same."""
    return ConditionUpdate(condition, TRUE, condition.value, message)


def fails(condition: ClassCondition, reason: str, message: str) -> ConditionUpdate:
    """It is false, for this reason."""
    return ConditionUpdate(condition, FALSE, reason, message)


def unknown(condition: ClassCondition, reason: str, message: str) -> ConditionUpdate:
    """It cannot be told now."""
    return ConditionUpdate(condition, UNKNOWN, reason, message)


def condition_of(conditions: Iterable[api.Condition], name: str) -> api.Condition | None:
    """The condition of this name."""
    return next((item for item in conditions if item.type == name), None)


class Observation(msgspec.Struct, frozen=True, gc=False):
    """When a class was looked at, in which generation, and which conditions it must have."""

    generation: int
    at: datetime
    dependents: tuple[ClassCondition, ...] = tuple(ClassCondition)


def next_conditions(
    before: Sequence[api.Condition], updates: Iterable[ConditionUpdate], observed: Observation
) -> tuple[api.Condition, ...]:
    """All conditions after the pass. One that no step updated stays as it was."""
    by_type = {update.type: update for update in updates}
    dependents = [
        _next(condition_of(before, name), by_type[name], observed)
        if name in by_type
        else _keep(before, name, observed)
        for name in observed.dependents
    ]
    root = _next(condition_of(before, READY), _root(dependents), observed)
    return (*dependents, root)


def _keep(
    before: Sequence[api.Condition], name: ClassCondition, observed: Observation
) -> api.Condition:
    """What was said of another generation is not said of this one."""
    current = condition_of(before, name)
    return current or _next(None, unknown(name, AWAITING, "not evaluated yet"), observed)


class _Root(msgspec.Struct, frozen=True, gc=False):
    status: str
    reason: str
    message: str = ""
    type: str = READY


def _root(dependents: Sequence[api.Condition]) -> _Root:
    unmet = [condition for condition in dependents if condition.status != TRUE]
    if not unmet:
        return _Root(TRUE, READY)
    message = ", ".join(f"{condition.type}={condition.status}" for condition in unmet)
    if any(condition.status == FALSE for condition in unmet):
        return _Root(FALSE, UNHEALTHY, message)
    return _Root(UNKNOWN, RECONCILING, message)


def _next(
    before: api.Condition | None, update: ConditionUpdate | _Root, observed: Observation
) -> api.Condition:
    is_same = before is not None and before.status == update.status
    changed_at = before.last_transition_time if before is not None and is_same else None
    return api.Condition(
        type=str(update.type),
        status=update.status,
        reason=update.reason,
        message=update.message,
        last_transition_time=changed_at or observed.at.replace(microsecond=0),
        observed_generation=observed.generation,
    )
