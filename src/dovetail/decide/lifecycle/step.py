"""What comes next for one claim, node or pool? A step: everything to be written, done and told.

A step is data. `then` joins two; `view_after` says what a claim looks like once the step is taken,
so that the next law of the same pass can build on it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from dovetail.decide.lifecycle.actions import Action, DeleteClaim
from dovetail.decide.lifecycle.conditions import ConditionChange, conditions_of_claim
from dovetail.decide.lifecycle.patches import (
    ClaimPatch,
    NodePatch,
    PoolPatch,
    claim_after,
    joined,
    node_after,
)
from dovetail.model.claim import ClaimObject, ClaimView


class EventType(StrEnum):
    """How Kubernetes sorts events."""

    NORMAL = "Normal"
    WARNING = "Warning"


DEDUPE_FOR: Final = timedelta(minutes=2)


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something to tell about an object; `name` has the namespace in front for kinds with one.

    Within `dedupe_for` an event is told once for each kind, name, reason and `dedupe` values.
    """

    kind: str
    name: str
    reason: str
    message: str
    type: EventType = EventType.NORMAL
    uid: str = ""
    dedupe: tuple[str, ...] = ()
    dedupe_for: timedelta = DEDUPE_FOR


class Milestone(StrEnum):
    """What a step completes, for whoever counts or times it."""

    LAUNCHED = "launched"
    TYPE_SEEN = "instance type seen"  # it can still be bought: no need to look for a while
    NODE_REGISTERED = "node registered"
    NODE_INITIALIZED = "node initialized"
    NODE_DRAINED = "node drained"
    NODE_TERMINATED = "node terminated"
    INSTANCE_TERMINATED = "instance terminated"
    CLAIM_TERMINATED = "claim terminated"


class Step(msgspec.Struct, frozen=True, gc=False):
    """What to write, do and tell, and when to look again though nothing may have changed.

    `conditions` are said of the claim, or of the pool in `pool.py`.
    """

    conditions: tuple[ConditionChange, ...] = ()
    claims: tuple[ClaimPatch, ...] = ()
    nodes: tuple[NodePatch, ...] = ()
    pools: tuple[PoolPatch, ...] = ()
    actions: tuple[Action, ...] = ()
    events: tuple[Event, ...] = ()
    milestones: tuple[Milestone, ...] = ()
    look_again_at: datetime | None = None

    def then(self, more: Step) -> Step:
        """Both steps as one."""
        return Step(
            conditions=self.conditions + more.conditions,
            claims=joined(self.claims + more.claims),
            nodes=joined(self.nodes + more.nodes),
            pools=joined(self.pools + more.pools),
            actions=self.actions + more.actions,
            events=self.events + more.events,
            milestones=self.milestones + more.milestones,
            look_again_at=soonest(self.look_again_at, more.look_again_at),
        )

    @property
    def ends_claim(self) -> bool:
        """Whether the claim is deleted, so that no other law need look at it."""
        return any(isinstance(action, DeleteClaim) for action in self.actions)


STAY: Final = Step()


def soonest(*moments: datetime | None) -> datetime | None:
    """The first of them, if there is any."""
    return min((moment for moment in moments if moment is not None), default=None)


def claim_with(claim: ClaimObject, step: Step, now: datetime) -> ClaimObject:
    """The claim once the step is taken, its conditions complete."""
    conditions = conditions_of_claim(claim, now).after(step.conditions, now)
    patched = claim_after(claim, step.claims)
    return msgspec.structs.replace(patched, conditions=conditions.held)


def view_after(view: ClaimView, step: Step, now: datetime) -> ClaimView:
    """The claim and its Nodes once the step is taken."""
    return msgspec.structs.replace(
        view,
        claim=claim_with(view.claim, step, now),
        nodes=tuple(node_after(node, step.nodes) for node in view.nodes),
    )


def claim_event(
    claim: ClaimObject, reason: str, message: str, kind: EventType = EventType.NORMAL
) -> Event:
    """Something to tell about a claim."""
    return Event("NodeClaim", claim.name, reason, message, type=kind, uid=claim.uid)
