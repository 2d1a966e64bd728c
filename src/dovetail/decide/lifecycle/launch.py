"""Launches the instance of a claim, and deletes a claim whose node takes too long to come.

There is no time limit for initialization.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, assert_never

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    LAUNCHED,
    REGISTERED,
    Conditions,
    Status,
    again,
    conditions_of_claim,
    hold,
    wait,
)
from dovetail.decide.lifecycle.step import (
    STAY,
    CreateInstance,
    DeleteClaim,
    EventType,
    Milestone,
    NoteRegistration,
    Step,
    claim_event,
    claim_patches,
)
from dovetail.decide.lifecycle.timing import (
    LAUNCH_TIMEOUT,
    LIFECYCLE_BACKOFF,
    REGISTRATION_TIMEOUT,
    shorten,
)
from dovetail.model.backoff import Backoff
from dovetail.model.claim import (
    ClaimObject,
    ClaimView,
    Launched,
    LaunchFailed,
    LaunchFailure,
    Launching,
)
from dovetail.model.requirements import Requirement, Requirements
from dovetail.units import duration

LAUNCH_FAILED: Final = "LaunchFailed"
INSUFFICIENT_CAPACITY_EVENT: Final = "InsufficientCapacityError"


_PAUSE: Final = Backoff(5.0, 180.0)
_PAUSE_FORGOTTEN_AFTER: Final = timedelta(minutes=10)
REGISTRATION_FAILED: Final = "RegistrationFailed"


class LaunchPause(msgspec.Struct, frozen=True, gc=False):
    """Until when a pool does not ask again for offerings that failed without a stated cause, and
    how many such pauses there were in a row.
    """

    n_pauses: int
    until: datetime


def next_launch_pause(last: LaunchPause | None, now: datetime) -> LaunchPause:
    """The pause after a launch that failed for a reason that names no offering. The claim is gone,
    and without a pause the same claim would be made again at once. A launch that fails during a
    pause began before it, and does not prolong it.
    """
    if last is None or now >= last.until + _PAUSE_FORGOTTEN_AFTER:
        return LaunchPause(1, _PAUSE.again_at(now, 1))
    if now < last.until <= now + _PAUSE.longest:  # the clock may have been set back
        return last
    return LaunchPause(last.n_pauses + 1, _PAUSE.again_at(now, last.n_pauses + 1))


def retry_launch_at(failed: LaunchFailed, now: datetime) -> datetime | None:
    """When a launch that failed is tried again for the same claim; None: its claim is deleted."""
    match failed.failure:
        case LaunchFailure.INSUFFICIENT_CAPACITY | LaunchFailure.NODE_CLASS_NOT_READY:
            return None
        case LaunchFailure.CREATE_ERROR | LaunchFailure.OTHER:
            return LIFECYCLE_BACKOFF.again_at(now, failed.n_failures)
        case _:
            assert_never(failed.failure)


def launch_step(view: ClaimView, now: datetime) -> Step:
    """Launch an instance, or take down what became of the launch."""
    claim = view.claim
    launched = conditions_of_claim(claim, now).get(LAUNCHED)
    if launched is not None and launched.status in {Status.TRUE, Status.FALSE}:
        return Step(conditions=(again(launched),))
    match view.outcome:
        case None:
            return Step(actions=(CreateInstance(claim.name, claim.uid),))
        case Launching():
            return STAY
        case Launched() as instance:
            return _success_step(claim, instance)
        case LaunchFailed() as failed:
            return _failure_step(claim, failed, now)
        case _:
            assert_never(view.outcome)


def _success_step(claim: ClaimObject, instance: Launched) -> Step:
    known = msgspec.structs.replace(
        claim,
        labels={**instance.labels, **_settled_labels(claim.requirements), **claim.labels},
        annotations={**claim.annotations, **instance.annotations},
        provider_id=instance.provider_id,
        image_id=instance.image_id,
        capacity=instance.capacity,
        allocatable=instance.allocatable,
    )
    return Step(
        conditions=(hold(LAUNCHED),),
        claims=claim_patches(claim, known),
        milestones=(Milestone.LAUNCHED,),
    )


def _settled_labels(requirements: Iterable[Requirement]) -> Mapping[str, str]:
    """Labels for which the claim left no choice: pods were planned against them."""
    settled = Requirements(requirements).single_values()
    return {key: value for key, value in settled.items() if not labels.is_restricted(key)}


def _failure_step(claim: ClaimObject, failed: LaunchFailed, now: datetime) -> Step:
    message = shorten(failed.message)
    match failed.failure:
        case LaunchFailure.INSUFFICIENT_CAPACITY:
            told = claim_event(
                claim,
                INSUFFICIENT_CAPACITY_EVENT,
                shorten(f"NodeClaim {claim.name} could not be launched: {failed.message}"),
                EventType.WARNING,
            )
            gone = DeleteClaim(claim.name, claim.uid, "insufficient_capacity")
            return Step(events=(told,), actions=(gone,))
        case LaunchFailure.NODE_CLASS_NOT_READY:
            return Step(actions=(DeleteClaim(claim.name, claim.uid, "nodeclass_not_ready"),))
        case LaunchFailure.CREATE_ERROR | LaunchFailure.OTHER:
            return Step(
                conditions=(wait(LAUNCHED, failed.reason or LAUNCH_FAILED, message),),
                look_again_at=retry_launch_at(failed, now),
            )
        case _:
            assert_never(failed.failure)


def liveness_step(view: ClaimView, now: datetime) -> Step:
    """Wait for the instance, then for its Node, each no longer than its time."""
    conditions = conditions_of_claim(view.claim, now)
    if conditions.is_true(REGISTERED):
        return STAY
    if conditions.is_true(LAUNCHED):
        due_at = conditions.changed_at(REGISTERED) + REGISTRATION_TIMEOUT
        message = f"no Node joined within {duration.render(REGISTRATION_TIMEOUT)}"
        reasons = (REGISTRATION_FAILED, message)
        metric = "registration_timeout"
    else:
        due_at = conditions.changed_at(LAUNCHED) + LAUNCH_TIMEOUT
        reasons = _launch_reasons(conditions)
        metric = "launch_timeout"
    if now < due_at:
        return Step(look_again_at=due_at)
    claim = view.claim
    return Step(
        actions=(*_failed_registration(claim, *reasons), DeleteClaim(claim.name, claim.uid, metric))
    )


def _launch_reasons(conditions: Conditions) -> tuple[str, str]:
    launched = conditions.get(LAUNCHED)
    return (launched.reason, launched.message) if launched else (REGISTRATION_FAILED, "")


def _failed_registration(
    claim: ClaimObject, reason: str, message: str
) -> tuple[NoteRegistration, ...]:
    if not claim.node_pool:
        return ()
    noted = NoteRegistration(
        claim.node_pool, claim.node_pool_uid, is_success=False, reason=reason, message=message
    )
    return (noted,)
