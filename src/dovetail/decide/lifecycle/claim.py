"""Computes the next step of a NodeClaim, from its launch to its end.

`claim_step` runs every law of a claim in order. Each law sees what the ones before it concluded, so
that a claim may take several steps in one pass. The controllers and the simulation call it; both
only observe, call it, and carry out what it returns.

Claims and Nodes carry the label of their node class, which is how a Node is known to be ours when
it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle import (
    finalization,
    interruption,
    launch,
    registration,
    repair,
    running,
)
from dovetail.decide.lifecycle.repair import UnhealthyNode
from dovetail.decide.lifecycle.running import DriftView, PodChange
from dovetail.decide.lifecycle.step import (
    STAY,
    CreateInstance,
    Step,
    claim_after,
    claim_patches,
    claim_with,
    node_patches,
    soonest,
    view_after,
)
from dovetail.model.claim import ClaimObject, ClaimView, NodeObject
from dovetail.model.ending import KnownEnding
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodeClassRef, NodePool

# While a launch takes no longer than this, the claim does not say what it waits for.
_SLOW_LAUNCH: Final = timedelta(seconds=2)
# Claims that are deleted for one of these reasons never had a node for their pods.
NEVER_STARTED: Final = frozenset(
    {"insufficient_capacity", "nodeclass_not_ready", "launch_timeout", "registration_timeout"}
)
_STARTUP_LAWS: Final = (
    launch.launch_step,
    registration.registration_step,
    registration.initialization_step,
    launch.liveness_step,
)
_LONGEST_VALUE: Final = 63


class PoolContext(msgspec.Struct, frozen=True):
    """The NodePool of a claim, as far as the claim depends on it, and what the cloud and earlier
    passes say about the claim's drift. `ask_again_at` is when the cloud has more to say, after an
    edit of the pool or its node class.
    """

    pool: NodePool
    annotations: Mapping[str, str]
    instance_types: tuple[InstanceType, ...]
    type_seen_at: datetime | None
    provider_reason: str
    ask_again_at: datetime | None = None


class ClaimContext(msgspec.Struct, frozen=True):
    """What the step of a claim depends on besides the claim and its Nodes."""

    pool: PoolContext | None = None  # None: it has no pool, or its pool is invalid
    pod_change: PodChange | None = None
    unhealthy_node: UnhealthyNode | None = None  # None: its Node is healthy
    ending: KnownEnding | None = None  # None: nobody says that its instance ends


def claim_step(view: ClaimView, context: ClaimContext, now: datetime) -> Step:
    """Everything that is to happen to a claim now."""
    claim = view.claim
    step = hydration_step(view, now).then(_forced_end(view, context, now))
    if claim.deleting_at is not None:
        return step.then(advance(view_after(view, step, now), now))
    if step.ends_claim:
        return step
    step = step.then(running.expiration_step(claim, now))
    if step.ends_claim:
        return step
    if context.pod_change is not None:
        step = step.then(running.pod_event_step(claim, context.pod_change, now))
    step = step.then(advance(view_after(view, step, now), now))
    if step.ends_claim or labels.TERMINATION_FINALIZER not in claim.finalizers:
        return step
    after = view_after(view, step, now)
    step = step.then(running.consistency_step(after, now))
    if context.pool is None:
        return step
    return step.then(_disruption_conditions(after.claim, context.pool, now))


def _forced_end(view: ClaimView, context: ClaimContext, now: datetime) -> Step:
    """What happens to a claim whose instance ends or is broken, whatever protects its node."""
    step = STAY
    if context.ending is not None:
        step = interruption.step(view, context.ending, now)
    if context.unhealthy_node is not None and not step.ends_claim:
        step = step.then(repair.step(view.claim, context.unhealthy_node, now))
    return step


def advance(view: ClaimView, now: datetime) -> Step:
    """The next step from the launch of a claim to its initialization, or to its end."""
    claim = view.claim
    if claim.deleting_at is not None:
        return finalization.step(view, now)
    if labels.TERMINATION_FINALIZER not in claim.finalizers:
        # Written before anything is launched: a claim must not vanish while it has an instance.
        finalizers = (*claim.finalizers, labels.TERMINATION_FINALIZER)
        with_finalizer = msgspec.structs.replace(claim, finalizers=finalizers)
        return Step(claims=claim_patches(claim, with_finalizer), look_again_at=now)
    step = STAY
    for law in _STARTUP_LAWS:
        part = law(view, now)
        step = step.then(part)
        if part.ends_claim:
            return _without_launch(step)
        view = view_after(view, part, now)
    return step


def claim_to_write(claim: ClaimObject, step: Step, now: datetime) -> ClaimObject:
    """The claim as it is to be stored once the step is taken."""
    if step.conditions and not _launches(step):
        return claim_with(claim, step, now)
    return claim_after(claim, step.claims)


def look_again_at(step: Step, retry_at: datetime | None, now: datetime) -> datetime | None:
    """When the claim needs its next pass, if nothing happens before. `retry_at` is when a launch
    that failed may be tried again.
    """
    slow_at = now + _SLOW_LAUNCH if _launches(step) else None
    return soonest(step.look_again_at, retry_at, slow_at)


def _launches(step: Step) -> bool:
    return any(isinstance(action, CreateInstance) for action in step.actions)


def _without_launch(step: Step) -> Step:
    """A claim that is deleted because it has no instance needs none any more."""
    left = tuple(action for action in step.actions if not isinstance(action, CreateInstance))
    return msgspec.structs.replace(step, actions=left)


def _disruption_conditions(claim: ClaimObject, context: PoolContext, now: datetime) -> Step:
    """Whether the claim has drifted from its pool, and whether it may be consolidated."""
    view = DriftView(
        claim,
        context.pool,
        context.annotations,
        context.instance_types,
        context.type_seen_at,
        context.provider_reason,
    )
    step = running.drift_step(view, now).then(Step(look_again_at=context.ask_again_at))
    return step.then(running.consolidatable_step(claim, context.pool, now))


def node_class_label(node_class: NodeClassRef) -> str:
    """The key under which claims and Nodes name their node class."""
    return f"{node_class.group}/{node_class.kind.lower()}"


def is_managed(node_class: NodeClassRef, supported: Iterable[NodeClassRef]) -> bool:
    """Whether the provider launches with this kind of node class; names do not count."""
    kinds = {(item.group, item.kind) for item in supported}
    return (node_class.group, node_class.kind) in kinds


def is_managed_node(node: NodeObject, supported: Iterable[NodeClassRef]) -> bool:
    """Whether the Node was launched with a kind of node class that the provider understands."""
    return any(node_class_label(node_class) in node.labels for node_class in supported)


def nodes_of(claim: ClaimObject, nodes: Iterable[NodeObject]) -> tuple[NodeObject, ...]:
    """The Nodes with the claim's provider id: one, if all is well. An empty id matches none."""
    wanted = claim.provider_id
    return tuple(node for node in nodes if wanted and node.provider_id == wanted)


def hydration_step(view: ClaimView, now: datetime) -> Step:
    """Label the claim and its Nodes."""
    del now  # the same at all times
    claim = view.claim
    if not (claim.node_class.group and claim.node_class.kind):
        return STAY
    # Names may be longer than labels.
    value = claim.node_class.name[:_LONGEST_VALUE].rstrip("-.")
    mark = {node_class_label(claim.node_class): value}
    labelled = msgspec.structs.replace(claim, labels={**claim.labels, **mark})
    return Step(
        claims=claim_patches(claim, labelled),
        nodes=tuple(
            patch
            for node in view.nodes
            for patch in node_patches(
                node, msgspec.structs.replace(node, labels={**node.labels, **mark})
            )
        ),
    )
