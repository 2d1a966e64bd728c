"""Deletes the claims of instances whose provider says that they will be gone.

The instance ends whatever we do, so budgets and do-not-disrupt have no say. The claim stands until
its node has to be drained (`decide/endings.py`). Then the node is drained as any other:
PodDisruptionBudgets hold for as long as there is time. Pods that are left when only their grace
period is left are deleted, so that they end before their machine does.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.endings import drained_at
from dovetail.decide.lifecycle.conditions import rfc3339
from dovetail.decide.lifecycle.finalization import termination_deadline
from dovetail.decide.lifecycle.repair import without_grace_period
from dovetail.decide.lifecycle.step import DeleteClaim, Event, EventType, Step, claim_patches
from dovetail.model.claim import ClaimObject, ClaimView
from dovetail.model.ending import InstanceEnding, KnownEnding

TERMINATING_EVENT: Final = "TerminatingOnInterruption"
_TOLD_FOR: Final = timedelta(days=1)


def step(view: ClaimView, known: KnownEnding, now: datetime) -> Step:
    """Delete the claim once its node is to be drained, and tell why; if it is being deleted
    already, only say by when its node must be empty.
    """
    claim, ending = view.claim, known.ending
    told = Step(events=_events(view, ending))
    moment = drained_at(known)
    if now < moment and claim.deleting_at is None:
        return told.then(Step(look_again_at=moment))
    dated = Step(claims=claim_patches(claim, _with_deadline(claim, ending, now)))
    if claim.deleting_at is not None:
        return told.then(dated)
    message = f"Its node is drained and replaced: {ending.message}"
    parting = tuple(
        msgspec.structs.replace(event, reason=TERMINATING_EVENT, message=message)
        for event in told.events
    )
    action = DeleteClaim(claim.name, claim.uid, ending.metric_reason or ending.reason)
    return told.then(dated).then(Step(events=parting, actions=(action,)))


def _with_deadline(claim: ClaimObject, ending: InstanceEnding, now: datetime) -> ClaimObject:
    """The claim with the instant by which its node must be empty, if that is known."""
    if ending.is_forced:
        return without_grace_period(claim, now)
    if ending.at is None:
        return claim
    deadline = ending.at.replace(microsecond=0)
    if claim.termination_grace_period is not None:
        deadline = min(deadline, (claim.deleting_at or now) + claim.termination_grace_period)
    stated = termination_deadline(claim)
    if stated is not None and stated <= deadline:
        return claim
    annotations = {**claim.annotations, labels.TERMINATION_TIMESTAMP: rfc3339(deadline)}
    return msgspec.structs.replace(claim, annotations=annotations)


def _events(view: ClaimView, ending: InstanceEnding) -> tuple[Event, ...]:
    claim = view.claim
    nodes = tuple(ending_event("Node", node.name, node.uid, ending) for node in view.nodes)
    return (ending_event("NodeClaim", claim.name, claim.uid, ending), *nodes)


def ending_event(kind: str, name: str, uid: str, ending: InstanceEnding) -> Event:
    """What is told of an ending on a claim or its Node, once a day."""
    return Event(
        kind,
        name,
        ending.reason,
        ending.message,
        type=EventType.WARNING,
        uid=uid,
        dedupe=(ending.provider_id,),
        dedupe_for=_TOLD_FOR,
    )
