"""Computes what is left to do before a deleted claim may vanish: Node, instance, finalizer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    INSTANCE_TERMINATING,
    REGISTERED,
    conditions_of_claim,
    hold,
    rfc3339,
)
from dovetail.decide.lifecycle.step import (
    STAY,
    DeleteInstance,
    DeleteNode,
    Event,
    EventType,
    Milestone,
    Step,
    claim_event,
    claim_patches,
    view_after,
)
from dovetail.decide.lifecycle.timing import INSTANCE_POLL
from dovetail.model.claim import ClaimObject, ClaimView, InstanceState, Launched, Launching

GRACE_EVENT: Final = "TerminationGracePeriodExpiring"


def step(view: ClaimView, now: datetime) -> Step:
    """The next thing to do for a claim that is being deleted."""
    if view.claim.deleting_at is None or labels.TERMINATION_FINALIZER not in view.claim.finalizers:
        return STAY
    dated = _deadline_step(view.claim)
    return dated.then(_end_step(view_after(view, dated, now), now))


def _deadline_step(claim: ClaimObject) -> Step:
    """Write down by when the node must be empty, once."""
    grace, deleting_at = claim.termination_grace_period, claim.deleting_at
    if grace is None or deleting_at is None or labels.TERMINATION_TIMESTAMP in claim.annotations:
        return STAY
    stamp = rfc3339(deleting_at + grace)
    annotations = {**claim.annotations, labels.TERMINATION_TIMESTAMP: stamp}
    dated = msgspec.structs.replace(claim, annotations=annotations)
    return Step(
        claims=claim_patches(claim, dated),
        events=(claim_event(claim, GRACE_EVENT, deadline_message(stamp), EventType.WARNING),),
    )


def _end_step(view: ClaimView, now: datetime) -> Step:
    claim = view.claim
    # A Node that never registered is not ours to drain: it goes with its instance.
    if view.nodes and conditions_of_claim(claim, now).is_true(REGISTERED):
        return Step(
            actions=tuple(
                DeleteNode(node.name, node.uid) for node in view.nodes if node.deleting_at is None
            )
        )
    if isinstance(view.outcome, Launching):
        return STAY  # what comes of it must be ended too
    provider_id = _provider_id(view)
    if provider_id and view.instance is not InstanceState.GONE:
        return Step(
            conditions=(hold(INSTANCE_TERMINATING),),
            actions=(DeleteInstance(provider_id, claim.name),),
            look_again_at=now + INSTANCE_POLL,
        )
    left = tuple(item for item in claim.finalizers if item != labels.TERMINATION_FINALIZER)
    ended = (Milestone.INSTANCE_TERMINATED,) if provider_id else ()
    return Step(
        claims=claim_patches(claim, msgspec.structs.replace(claim, finalizers=left)),
        milestones=(*ended, Milestone.CLAIM_TERMINATED),
    )


def _provider_id(view: ClaimView) -> str:
    """Of the instance, though the claim was deleted before its launch was written down."""
    if view.claim.provider_id or not isinstance(view.outcome, Launched):
        return view.claim.provider_id
    return view.outcome.provider_id


def termination_deadline(claim: ClaimObject | None) -> datetime | None:
    """By when the claim's node must be empty. None: no limit, or one that nobody can read."""
    stamp = "" if claim is None else claim.annotations.get(labels.TERMINATION_TIMESTAMP, "")
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def deadline_message(stamp: str) -> str:
    """What is said of a deadline, on the claim and on its Node."""
    return f"All pods will be deleted by {stamp}"


def deadline_event(node: str, uid: str, deadline: datetime) -> Event:
    """The same, told of a Node."""
    message = deadline_message(rfc3339(deadline))
    return Event("Node", node, GRACE_EVENT, message, type=EventType.WARNING, uid=uid)
