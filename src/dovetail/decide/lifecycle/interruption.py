"""Deletes the claims of instances whose provider says that they will be gone.

The instance ends whatever we do, so budgets and do-not-disrupt have no say. Its node is drained as
any other: PodDisruptionBudgets hold, for as long as the claim's grace period lasts.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dovetail.decide.lifecycle.repair import without_grace_period
from dovetail.decide.lifecycle.step import (
    DeleteClaim,
    Event,
    EventType,
    Step,
    claim_patches,
)
from dovetail.model.claim import ClaimObject, ClaimView, NodeObject
from dovetail.model.ending import InstanceEnding

_TOLD_FOR: Final = timedelta(days=1)


def step(view: ClaimView, ending: InstanceEnding, now: datetime) -> Step:
    """Delete the claim, and tell why; if it is being deleted already, only tell it."""
    claim = view.claim
    patches = claim_patches(claim, without_grace_period(claim, now)) if ending.is_forced else ()
    events = (_event("NodeClaim", claim, ending), *(_event("Node", n, ending) for n in view.nodes))
    if claim.deleting_at is not None:
        return Step(claims=patches, events=events)
    action = DeleteClaim(claim.name, claim.uid, ending.metric_reason or ending.reason)
    return Step(claims=patches, events=events, actions=(action,))


def _event(kind: str, about: ClaimObject | NodeObject, ending: InstanceEnding) -> Event:
    return Event(
        kind,
        about.name,
        ending.reason,
        ending.message,
        type=EventType.WARNING,
        uid=about.uid,
        dedupe=(ending.provider_id,),
        dedupe_for=_TOLD_FOR,
    )
