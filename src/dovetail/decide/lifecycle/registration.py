"""Registers the Node of a claim once it has joined, and initializes it once it is ready for pods.

A registered Node has all labels, annotations and taints of its claim. An initialized one is ready,
without startup taints, and reports every resource that it was ordered for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    INITIALIZED,
    REGISTERED,
    Status,
    again,
    conditions_of_claim,
    fail,
    hold,
    wait,
)
from dovetail.decide.lifecycle.step import (
    STAY,
    Event,
    EventType,
    Milestone,
    NoteRegistration,
    Step,
    claim_event,
    claim_patches,
    node_patches,
)
from dovetail.decide.lifecycle.timing import LIFECYCLE_BACKOFF
from dovetail.model.claim import ClaimObject, ClaimView, DeviceSlice, HookAnswer, NodeObject
from dovetail.model.taints import Effect, Taint, is_ephemeral

UNREGISTERED: Final = Taint(labels.UNREGISTERED_TAINT, "", Effect.NO_EXECUTE)
NODE_NOT_FOUND: Final = "NodeNotFound"
MULTIPLE_NODES: Final = "MultipleNodesFound"
HOOK_PENDING: Final = "RegistrationHookPending"
TAINT_MISSING_EVENT: Final = "UnregisteredTaintMissing"
_TRUE: Final = "true"


NODE_NOT_READY: Final = "NodeNotReady"
STARTUP_TAINTS: Final = "StartupTaintsExist"
EPHEMERAL_TAINTS: Final = "KnownEphemeralTaintsExist"
RESOURCE_NOT_REGISTERED: Final = "ResourceNotRegistered"
DRIVERS_NOT_PUBLISHED: Final = "DRADriverPoolsNotPublished"


def registration_step(view: ClaimView, now: datetime) -> Step:
    """Look for the Node, and make it the claim's."""
    registered = conditions_of_claim(view.claim, now).get(REGISTERED)
    if registered is not None and registered.status in {Status.TRUE, Status.FALSE}:
        return Step(conditions=(again(registered),))
    match view.nodes:
        case ():
            return Step(conditions=(wait(REGISTERED, NODE_NOT_FOUND, "no Node has joined yet"),))
        case (node,):
            return _registered_step(view, node, now)
        case several:
            names = ", ".join(sorted(node.name for node in several))
            message = f"{len(several)} Nodes have this provider id: {names}"
            return Step(conditions=(fail(REGISTERED, MULTIPLE_NODES, message),))


def awaits_hooks(view: ClaimView, now: datetime) -> bool:
    """Whether the provider's hooks are to be asked before the next registration_step."""
    status = conditions_of_claim(view.claim, now).status(REGISTERED)
    return status is Status.UNKNOWN and len(view.nodes) == 1


def _registered_step(view: ClaimView, node: NodeObject, now: datetime) -> Step:
    claim = view.claim
    synced = _synced_node(claim, node)
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
        taints=tuple(taint for taint in synced.taints if not _is_same(taint, UNREGISTERED)),
    )
    return Step(
        conditions=(hold(REGISTERED),),
        claims=claim_patches(claim, msgspec.structs.replace(claim, node_name=node.name)),
        nodes=node_patches(node, done),
        actions=_success_notes(claim),
        events=told,
        milestones=(Milestone.NODE_REGISTERED,),
    )


def _synced_node(claim: ClaimObject, node: NodeObject) -> NodeObject:
    """The Node with what the claim has for it."""
    is_new = labels.TERMINATION_FINALIZER not in node.finalizers
    return msgspec.structs.replace(
        node,
        labels={**node.labels, **claim.labels},
        annotations={**node.annotations, **claim.annotations},
        taints=_taints(claim, node, is_new=is_new),
        finalizers=(*node.finalizers, labels.TERMINATION_FINALIZER) if is_new else node.finalizers,
        owner_uids=_with_uid(node.owner_uids, claim.uid),
    )


def _taints(claim: ClaimObject, node: NodeObject, *, is_new: bool) -> tuple[Taint, ...]:
    """Startup taints come with the first sync only: whoever took one off since meant it."""
    if node.labels.get(labels.DO_NOT_SYNC_TAINTS) == _TRUE:
        return node.taints
    return merge(node.taints, claim.taints + (claim.startup_taints if is_new else ()))


def merge(taints: tuple[Taint, ...], more: Iterable[Taint]) -> tuple[Taint, ...]:
    """All taints, one for each key and effect; what is held already stays as it is."""
    result = list(taints)
    for taint in more:
        if not any(_is_same(taint, item) for item in result):
            result.append(taint)
    return tuple(result)


def _is_same(taint: Taint, other: Taint) -> bool:
    return (taint.key, taint.effect) == (other.key, other.effect)


def _bare(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    return tuple(Taint(taint.key, "", taint.effect) for taint in taints)


def _with_uid(uids: tuple[str, ...], uid: str) -> tuple[str, ...]:
    return uids if uid in uids else (*uids, uid)


def _taint_missing(claim: ClaimObject, node: NodeObject) -> Event:
    message = (
        f"Node {node.name} joined without the taint {UNREGISTERED}; pods may have been "
        "bound to it before it was ready"
    )
    return claim_event(claim, TAINT_MISSING_EVENT, message, EventType.WARNING)


def _waiting_for(pending: Iterable[HookAnswer]) -> str:
    names = sorted(f"{item.name} ({item.error})" if item.error else item.name for item in pending)
    return f"waiting for {', '.join(names)}"


def _span(hook: HookAnswer) -> timedelta:
    return LIFECYCLE_BACKOFF.first if hook.again_after is None else hook.again_after


def _success_notes(claim: ClaimObject) -> tuple[NoteRegistration, ...]:
    if not claim.node_pool:
        return ()
    return (NoteRegistration(claim.node_pool, claim.node_pool_uid, is_success=True),)


def initialization_step(view: ClaimView, now: datetime) -> Step:
    """See whether anything is wanting; if nothing is, say so on the Node and the claim."""
    conditions = conditions_of_claim(view.claim, now)
    initialized = conditions.get(INITIALIZED)
    if initialized is not None and initialized.status in {Status.TRUE, Status.FALSE}:
        return Step(conditions=(again(initialized),))
    if not conditions.is_true(REGISTERED):
        return STAY
    if len(view.nodes) != 1:
        return Step(conditions=(wait(INITIALIZED, NODE_NOT_FOUND, "its Node does not exist"),))
    node = view.nodes[0]
    for reason, wanting in _CHECKS:
        message = wanting(view, node)
        if message:
            return Step(conditions=(wait(INITIALIZED, reason, message),))
    done = msgspec.structs.replace(node, labels={**node.labels, labels.INITIALIZED: "true"})
    return Step(
        conditions=(hold(INITIALIZED),),
        nodes=node_patches(node, done),
        milestones=(Milestone.NODE_INITIALIZED,),
    )


def _unready(_: ClaimView, node: NodeObject) -> str:
    if node.is_ready:
        return ""
    status = next((item.status for item in node.conditions if item.type == "Ready"), "Unknown")
    return f"Node {node.name} is Ready={status}"


def _startup_taints(view: ClaimView, node: NodeObject) -> str:
    starting = {(taint.key, taint.effect) for taint in view.claim.startup_taints}
    left = [taint for taint in node.taints if (taint.key, taint.effect) in starting]
    return f"startup taints remain: {_name_list(left)}" if left else ""


def _ephemeral_taints(_: ClaimView, node: NodeObject) -> str:
    left = [taint for taint in node.taints if is_ephemeral(taint)]
    return f"taints of a starting node remain: {_name_list(left)}" if left else ""


def _resources(view: ClaimView, node: NodeObject) -> str:
    absent = [
        name
        for name, amount in sorted(view.claim.requests.items())
        if amount and not node.allocatable.get(name)
    ]
    return f"the Node does not report {', '.join(absent)} yet" if absent else ""


def _drivers(view: ClaimView, _: NodeObject) -> str:
    asked = view.claim.annotations.get(labels.REQUESTED_DRA_DRIVERS, "")
    wanted = {name.strip() for name in asked.split(",") if name.strip()}
    absent = sorted(wanted - publishing_drivers(view.slices))
    return f"no complete device pool yet from {', '.join(absent)}" if absent else ""


def publishing_drivers(slices: Iterable[DeviceSlice]) -> frozenset[str]:
    """Drivers of which at least one pool is complete at its highest generation."""
    by_pool: dict[tuple[str, str], list[DeviceSlice]] = {}
    for slice_ in slices:
        by_pool.setdefault((slice_.driver, slice_.pool), []).append(slice_)
    return frozenset(driver for (driver, _), slice_s in by_pool.items() if _is_complete(slice_s))


def _is_complete(slices: list[DeviceSlice]) -> bool:
    newest = max(slice_.generation for slice_ in slices)
    current = [slice_ for slice_ in slices if slice_.generation == newest]
    return all(slice_.n_slices == len(current) for slice_ in current)


def _name_list(names: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, names)))


# In this order; the first that is wanting is named.
_CHECKS: Final[tuple[tuple[str, Callable[[ClaimView, NodeObject], str]], ...]] = (
    (NODE_NOT_READY, _unready),
    (STARTUP_TAINTS, _startup_taints),
    (EPHEMERAL_TAINTS, _ephemeral_taints),
    (RESOURCE_NOT_REGISTERED, _resources),
    (DRIVERS_NOT_PUBLISHED, _drivers),
)
