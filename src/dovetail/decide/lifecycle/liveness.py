"""Has a node taken too long to come? Then its claim goes, and its pods are planned for again.

There is no time limit for initialization (spec/core.md 5.5).
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dovetail.decide.lifecycle.actions import DeleteClaim, NoteRegistration
from dovetail.decide.lifecycle.conditions import (
    LAUNCHED,
    REGISTERED,
    Conditions,
    conditions_of_claim,
)
from dovetail.decide.lifecycle.step import STAY, Step
from dovetail.decide.lifecycle.timing import LAUNCH_TIMEOUT, REGISTRATION_TIMEOUT
from dovetail.model.claim import ClaimObject, ClaimView
from dovetail.units import duration

REGISTRATION_FAILED: Final = "RegistrationFailed"


def step(view: ClaimView, now: datetime) -> Step:
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
        actions=(*_noted(claim, *reasons), DeleteClaim(claim.name, claim.uid, metric)),
    )


def _launch_reasons(conditions: Conditions) -> tuple[str, str]:
    launched = conditions.get(LAUNCHED)
    return (launched.reason, launched.message) if launched else (REGISTRATION_FAILED, "")


def _noted(claim: ClaimObject, reason: str, message: str) -> tuple[NoteRegistration, ...]:
    if not claim.node_pool:
        return ()
    noted = NoteRegistration(
        claim.node_pool, claim.node_pool_uid, is_success=False, reason=reason, message=message
    )
    return (noted,)
