"""Evaluates all conditions of a node class in one pass, whatever fails on the way."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from dovetail.clock import Clock
from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.node_class.types import EC2NodeClass, EC2NodeClassStatus
from dovetail.providers.aws.status.conditions import (
    FALSE,
    ConditionUpdate,
    Observation,
    next_conditions,
)
from dovetail.providers.aws.status.step import StatusStep, StepResult, failed_step


class StatusProblem(msgspec.Struct, frozen=True, gc=False):
    """What users are told about by an event: a condition that fails, or a call that does."""

    reason: str
    message: str


class StatusPass(msgspec.Struct, frozen=True):
    """What a pass found out: the whole status, when to look again, and what went wrong."""

    status: EC2NodeClassStatus
    again_after: timedelta | None
    problems: tuple[StatusProblem, ...] = ()
    faults: tuple[CallFailedError, ...] = ()


async def status_pass(
    node_class: EC2NodeClass, steps: Sequence[StatusStep], clock: Clock
) -> StatusPass:
    """Run every step in order; later ones see what earlier ones found, conditions included."""
    observed = Observation(
        node_class.metadata.generation, clock.now(), tuple(step.condition for step in steps)
    )
    before = node_class.status.conditions
    updates: list[ConditionUpdate] = []
    results: list[StepResult] = []
    for step in steps:
        result = await _evaluate(step, node_class)
        results.append(result)
        updates.append(result.update)
        conditions = next_conditions(before, updates, observed)
        status = msgspec.structs.replace(result.status, conditions=conditions)
        node_class = msgspec.structs.replace(node_class, status=status)
    spans = [result.again_after for result in results if result.again_after is not None]
    return StatusPass(
        status=node_class.status,
        again_after=min(spans, default=None),
        problems=tuple(problem for result in results for problem in _problems(result)),
        faults=tuple(result.fault for result in results if result.fault is not None),
    )


async def _evaluate(step: StatusStep, node_class: EC2NodeClass) -> StepResult:
    try:
        return await step.evaluate(node_class)
    except CallFailedError as error:
        return failed_step(node_class, step.condition, error)


def _problems(result: StepResult) -> tuple[StatusProblem, ...]:
    if result.update.status == FALSE:
        return (StatusProblem(result.update.reason, result.update.message),)
    if result.fault is not None:
        return (StatusProblem(str(result.fault.failure), str(result.fault)),)
    return ()
