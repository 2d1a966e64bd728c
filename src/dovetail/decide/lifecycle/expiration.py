"""Has a node lived long enough? Then it goes, whatever budgets say (spec/core.md 5.8)."""

from __future__ import annotations

from datetime import datetime

from dovetail.decide.lifecycle.actions import DeleteClaim
from dovetail.decide.lifecycle.step import STAY, Step
from dovetail.model.claim import ClaimObject


def step(claim: ClaimObject, now: datetime) -> Step:
    """Delete the claim once its time has come."""
    if claim.expire_after is None or claim.created_at is None or claim.deleting_at is not None:
        return STAY
    due_at = claim.created_at + claim.expire_after
    if now < due_at:
        return Step(look_again_at=due_at)
    return Step(actions=(DeleteClaim(claim.name, claim.uid, "expired"),))
