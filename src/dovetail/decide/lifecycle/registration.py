"""Has the instance joined the cluster? Then its Node gets all that the claim has for it.

(spec/core.md 5.3)
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.actions import NoteRegistration
from dovetail.decide.lifecycle.conditions import (
    REGISTERED,
    Status,
    again,
    conditions_of_claim,
    fail,
    hold,
    wait,
)
from dovetail.decide.lifecycle.patches import claim_patches, node_patches
from dovetail.decide.lifecycle.step import Event, EventType, Milestone, Step, claim_event
from dovetail.decide.lifecycle.timing import LIFECYCLE_BACKOFF
from dovetail.model.claim import ClaimObject, ClaimView, HookAnswer, NodeObject
from dovetail.model.taints import Effect, Taint

UNREGISTERED: Final = Taint(labels.UNREGISTERED_TAINT, "", Effect.NO_EXECUTE)
NODE_NOT_FOUND: Final = "NodeNotFound"
MULTIPLE_NODES: Final = "MultipleNodesFound"
HOOK_PENDING: Final = "RegistrationHookPending"
TAINT_MISSING_EVENT: Final = "UnregisteredTaintMissing"
_TRUE: Final = "true"


def step(view: ClaimView, now: datetime) -> Step:
    """Look for the Node, and make it the claim's."""
    registered = conditions_of_claim(view.claim, now).get(REGISTERED)
    if registered is not None and registered.status in {Status.TRUE, Status.FALSE}:
        return Step(conditions=(again(registered),))
    match view.nodes:
        case ():
            return Step(conditions=(wait(REGISTERED, NODE_NOT_FOUND, "no Node has joined yet"),))
        case (node,):
            return _joined(view, node, now)
        case several:
            names = ", ".join(sorted(node.name for node in several))
            message = f"{len(several)} Nodes have this provider id: {names}"
            return Step(conditions=(fail(REGISTERED, MULTIPLE_NODES, message),))


def awaits_hooks(view: ClaimView, now: datetime) -> bool:
    """Whether the provider's hooks are to be asked before the next step."""
    status = conditions_of_claim(view.claim, now).status(REGISTERED)
    return status is Status.UNKNOWN and len(view.nodes) == 1


def _joined(view: ClaimView, node: NodeObject, now: datetime) -> Step:
    claim = view.claim
    synced = _synced(claim, node)
    told: tuple[Event, ...] = ()
    if labels.REGISTERED not in node.labels and UNREGISTERED not in _bare(node.taints):
        told = (_taint_missing(claim, node),)
    pending = [hook for hook in view.hooks if hook.is_pending]
    if pending:
        return Step(
            conditions=(wait(REGISTERED, HOOK_PENDING, _waiting_for(pending)),),
            nodes=node_patches(node, synced),
            events=told,
            look_again_at=now + min(map(_span, pending)),
        )
    done = msgspec.structs.replace(
        synced,
        labels={**synced.labels, labels.REGISTERED: _TRUE},
        taints=tuple(one for one in synced.taints if not _is_same(one, UNREGISTERED)),
    )
    return Step(
        conditions=(hold(REGISTERED),),
        claims=claim_patches(claim, msgspec.structs.replace(claim, node_name=node.name)),
        nodes=node_patches(node, done),
        actions=_noted(claim),
        events=told,
        milestones=(Milestone.NODE_REGISTERED,),
    )


def _synced(claim: ClaimObject, node: NodeObject) -> NodeObject:
    """The Node with what the claim has for it."""
    is_new = labels.TERMINATION_FINALIZER not in node.finalizers
    return msgspec.structs.replace(
        node,
        labels={**node.labels, **claim.labels},
        annotations={**node.annotations, **claim.annotations},
        taints=_taints(claim, node, is_new=is_new),
        finalizers=(*node.finalizers, labels.TERMINATION_FINALIZER) if is_new else node.finalizers,
        owner_uids=_with(node.owner_uids, claim.uid),
    )


def _taints(claim: ClaimObject, node: NodeObject, *, is_new: bool) -> tuple[Taint, ...]:
    """Startup taints come with the first sync only: whoever took one off since meant it."""
    if node.labels.get(labels.DO_NOT_SYNC_TAINTS) == _TRUE:
        return node.taints
    return merged(node.taints, claim.taints + (claim.startup_taints if is_new else ()))


def merged(held: tuple[Taint, ...], more: Iterable[Taint]) -> tuple[Taint, ...]:
    """All taints, one for each key and effect; what is held already stays as it is."""
    result = list(held)
    for taint in more:
        if not any(_is_same(taint, one) for one in result):
            result.append(taint)
    return tuple(result)


def _is_same(taint: Taint, other: Taint) -> bool:
    return (taint.key, taint.effect) == (other.key, other.effect)


def _bare(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    return tuple(Taint(one.key, "", one.effect) for one in taints)


def _with(uids: tuple[str, ...], uid: str) -> tuple[str, ...]:
    return uids if uid in uids else (*uids, uid)


def _taint_missing(claim: ClaimObject, node: NodeObject) -> Event:
    message = (
        f"Node {node.name} joined without the taint {UNREGISTERED}; pods may have been "
        "bound to it before it was ready"
    )
    return claim_event(claim, TAINT_MISSING_EVENT, message, EventType.WARNING)


def _waiting_for(pending: Iterable[HookAnswer]) -> str:
    names = sorted(f"{one.name} ({one.error})" if one.error else one.name for one in pending)
    return f"waiting for {', '.join(names)}"


def _span(hook: HookAnswer) -> timedelta:
    return LIFECYCLE_BACKOFF.first if hook.again_after is None else hook.again_after


def _noted(claim: ClaimObject) -> tuple[NoteRegistration, ...]:
    if not claim.node_pool:
        return ()
    return (NoteRegistration(claim.node_pool, claim.node_pool_uid, is_success=True),)
