"""Defines a step of a status pass: it evaluates one condition and its part of the status."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

import msgspec

from dovetail import api
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.node_class.types import EC2NodeClass, EC2NodeClassStatus
from dovetail.providers.aws.status.conditions import (
    TRUE,
    ClassCondition,
    ConditionUpdate,
    condition_of,
    unknown,
)


class StepResult(msgspec.Struct, frozen=True):
    """What a step found out. `status` is the status with its part replaced; `again_after` None
    means that nothing but a change calls for it. `fault` is a failed call.
    """

    update: ConditionUpdate
    status: EC2NodeClassStatus
    again_after: timedelta | None = None
    fault: CallFailedError | None = None


class StatusStep(Protocol):
    """Evaluates one condition of a node class."""

    @property
    def condition(self) -> ClassCondition:
        """The condition that it evaluates."""
        ...

    async def evaluate(self, node_class: EC2NodeClass) -> StepResult:
        """The result for the class, whose status has what earlier steps found. May raise
        CallFailedError.
        """
        ...


def failed_step(
    node_class: EC2NodeClass, condition: ClassCondition, error: CallFailedError
) -> StepResult:
    """The result of a step that could not make its calls: a condition that holds for this
    generation stays, since launches still work; otherwise nothing is known.
    """
    current = condition_of(node_class.status.conditions, condition)
    if current is not None and _is_true_for(current, node_class.metadata.generation):
        update = ConditionUpdate(condition, current.status, current.reason, current.message)
    else:
        update = unknown(condition, str(error.failure), str(error))
    return StepResult(update, node_class.status, fault=error)


def _is_true_for(condition: api.Condition, generation: int) -> bool:
    return condition.status == TRUE and condition.observed_generation == generation
