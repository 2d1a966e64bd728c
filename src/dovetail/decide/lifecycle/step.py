"""Defines a step: everything to be written, done and told about one claim, Node or NodePool.

A step is data: patches of objects, actions for whoever carries it out, events, and when to look
again. `then` joins two steps; `view_after` says what a claim looks like once a step is taken, so
that the next law of the same pass can build on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeVar

import msgspec

from dovetail.decide.lifecycle.conditions import ConditionChange, conditions_of_claim
from dovetail.model.claim import ClaimObject, ClaimView, NodeObject
from dovetail.model.taints import Taint


class ClaimPatch(msgspec.Struct, frozen=True, gc=False):
    """Changes to a NodeClaim. Labels and annotations are added; None leaves a field as it is."""

    name: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] | None = None
    provider_id: str | None = None
    node_name: str | None = None
    image_id: str | None = None
    capacity: Mapping[str, int] | None = None
    allocatable: Mapping[str, int] | None = None
    last_pod_event_at: datetime | None = None


class NodePatch(msgspec.Struct, frozen=True, gc=False):
    """Changes to a Node. Labels and annotations are added; `owner_uids` are claims that own it, as
    owner references that block the owner's deletion. Taints are replaced as a whole, so that the
    patch must name the version that was read.
    """

    name: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] | None = None
    finalizers: tuple[str, ...] | None = None
    owner_uids: tuple[str, ...] | None = None


class PoolPatch(msgspec.Struct, frozen=True, gc=False):
    """Changes to a NodePool. Annotations are added; None leaves a field as it is."""

    name: str
    annotations: Mapping[str, str] = {}
    resources: Mapping[str, int] | None = None
    n_nodes: int | None = None
    node_class_observed_generation: int | None = None


_Patch = TypeVar("_Patch", ClaimPatch, NodePatch, PoolPatch)
_MERGED = ("labels", "annotations")


def claim_patches(before: ClaimObject, after: ClaimObject) -> tuple[ClaimPatch, ...]:
    """What it takes to get there: one patch, or none."""
    return _changes(ClaimPatch(before.name), before, after)


def node_patches(before: NodeObject, after: NodeObject) -> tuple[NodePatch, ...]:
    """What it takes to get there: one patch, or none."""
    return _changes(NodePatch(before.name), before, after)


_Changed = TypeVar("_Changed", ClaimObject, NodeObject)


def _changes(bare: _Patch, before: _Changed, after: _Changed) -> tuple[_Patch, ...]:
    """The patch with every field that differs, of labels and annotations what is new or changed."""
    changes: dict[str, object] = {}
    for name in bare.__struct_fields__:
        current, wanted = getattr(before, name), getattr(after, name)
        if name in _MERGED:
            changes[name] = {key: item for key, item in wanted.items() if current.get(key) != item}
        elif wanted != current:
            changes[name] = wanted
    patch = msgspec.structs.replace(bare, **changes)
    return () if patch == bare else (patch,)


def claim_after(claim: ClaimObject, patches: Iterable[ClaimPatch]) -> ClaimObject:
    """The claim with the patches that are its own."""
    for patch in patches:
        if patch.name == claim.name:
            claim = _apply_patch(claim, patch)
    return claim


def node_after(node: NodeObject, patches: Iterable[NodePatch]) -> NodeObject:
    """The Node with the patches that are its own."""
    for patch in patches:
        if patch.name == node.name:
            node = _apply_patch(node, patch)
    return node


def join(patches: Iterable[_Patch]) -> tuple[_Patch, ...]:
    """One patch for each object, the later word on top."""
    by_name: dict[str, _Patch] = {}
    for patch in patches:
        earlier = by_name.get(patch.name)
        by_name[patch.name] = patch if earlier is None else _apply_patch(earlier, patch)
    return tuple(by_name.values())


_Patched = TypeVar("_Patched", ClaimObject, NodeObject, ClaimPatch, NodePatch, PoolPatch)


def _apply_patch(patched: _Patched, patch: ClaimPatch | NodePatch | PoolPatch) -> _Patched:
    """What is held with everything that the patch says; labels and annotations are added."""
    changes = {
        name: value for name, value in msgspec.structs.asdict(patch).items() if value is not None
    }
    for name in _MERGED:
        if name in changes:
            changes[name] = {**getattr(patched, name), **changes[name]}
    return msgspec.structs.replace(patched, **changes)


class CreateInstance(msgspec.Struct, frozen=True, gc=False):
    """Launch an instance for this claim. Asking twice gives the same instance."""

    claim: str
    uid: str


class DeleteInstance(msgspec.Struct, frozen=True, gc=False):
    """Terminate this instance; once more says whether it is gone."""

    provider_id: str
    claim: str = ""


class DeleteClaim(msgspec.Struct, frozen=True, gc=False):
    """Delete this claim. `reason` is the disrupted metric's; empty: no disruption to count. It goes
    because its Node has this `condition`, if there is one.
    """

    claim: str
    uid: str
    reason: str = ""
    condition: str = ""


class DeleteNode(msgspec.Struct, frozen=True, gc=False):
    """Delete this Node; its finalizer keeps it until it is drained."""

    node: str
    uid: str


class EnqueueEviction(msgspec.Struct, frozen=True, gc=False):
    """See to it that this pod leaves, by `deadline` at the latest if there is one.

    A pod that is queued already keeps the earlier deadline. `reason` is said in its event. Until
    `patient_until` it is not deleted for the deadline's sake.
    """

    pod: str
    uid: str
    node: str
    deadline: datetime | None = None
    reason: str = ""
    patient_until: datetime | None = None


class EvictPod(msgspec.Struct, frozen=True, gc=False):
    """Ask the eviction API to take this very pod away."""

    pod: str
    uid: str


class DeletePod(msgspec.Struct, frozen=True, gc=False):
    """Delete this very pod, whatever protects it, with so much time to end."""

    pod: str
    uid: str
    grace_seconds: int


class ForgetEviction(msgspec.Struct, frozen=True, gc=False):
    """This pod needs no more seeing to."""

    pod: str
    uid: str


class RetryEviction(msgspec.Struct, frozen=True, gc=False):
    """Come back to this pod later; it has failed so often by now."""

    pod: str
    uid: str
    n_failures: int


class NoteRegistration(msgspec.Struct, frozen=True, gc=False):
    """Remember for the pool whether a node of it came up (`pool.py`)."""

    node_pool: str
    node_pool_uid: str
    is_success: bool
    reason: str = ""
    message: str = ""


Action = (
    CreateInstance
    | DeleteInstance
    | DeleteClaim
    | DeleteNode
    | EnqueueEviction
    | EvictPod
    | DeletePod
    | ForgetEviction
    | RetryEviction
    | NoteRegistration
)


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
            claims=join(self.claims + more.claims),
            nodes=join(self.nodes + more.nodes),
            pools=join(self.pools + more.pools),
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
