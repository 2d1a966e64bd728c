"""Computes what is left to do before a deleted Node may vanish.

Only for Nodes that are ours (`claim.is_managed_node`). NodePool budgets are not asked any more: a
drain that has begun goes on. PodDisruptionBudgets hold back each eviction (`eviction.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    DISRUPTION_REASON,
    DRAINED,
    INSTANCE_TERMINATING,
    VOLUMES_DETACHED,
    Status,
    conditions_of_claim,
    fail,
    hold,
    wait,
)
from dovetail.decide.lifecycle.draining import (
    DISRUPTED,
    blocking_attachments,
    is_waiting,
    leaving_next,
    patient_until,
)
from dovetail.decide.lifecycle.eviction import FAILED_EVENT, FORCEFUL
from dovetail.decide.lifecycle.finalization import deadline_event, termination_deadline
from dovetail.decide.lifecycle.step import (
    STAY,
    DeleteClaim,
    DeleteInstance,
    EnqueueEviction,
    Event,
    EventType,
    Milestone,
    Step,
    node_patches,
)
from dovetail.decide.lifecycle.timing import DRAIN_POLL, INSTANCE_POLL, MIN_DRAIN
from dovetail.model.claim import Attachment, ClaimObject, InstanceState, NodeObject
from dovetail.model.pod import Pod

DRAINING: Final = "Draining"
AWAITING_DETACHMENT: Final = "AwaitingVolumeDetachment"
GRACE_ELAPSED: Final = "TerminationGracePeriodElapsed"
_NAMES_SHOWN: Final = 5


class TerminationView(msgspec.Struct, frozen=True, gc=False):
    """Everything that the end of one Node depends on, but for the time.

    `claims` are those with its provider id, `pods` those bound to it, `volumes_by_pod` the
    PersistentVolumes of each. `instance` is what the cloud last said, which it must be asked while
    the Node is not ready (`asks_cloud`).
    """

    node: NodeObject
    claims: tuple[ClaimObject, ...] = ()
    pods: tuple[Pod, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    volumes_by_pod: Mapping[str, tuple[str, ...]] = {}
    instance: InstanceState = InstanceState.UNKNOWN

    @property
    def claim(self) -> ClaimObject | None:
        """The claim, if it is clear which."""
        return self.claims[0] if len(self.claims) == 1 else None


def asks_cloud(node: NodeObject) -> bool:
    """Whether the instance may be gone already, so that there is nothing left to drain."""
    return not node.is_ready


def step(view: TerminationView, now: datetime) -> Step:
    """The next thing to do for a Node that is being deleted."""
    node, claim = view.node, view.claim
    if node.deleting_at is None or labels.TERMINATION_FINALIZER not in node.finalizers:
        return STAY
    begun = _deletion_step(claim)
    if asks_cloud(node) and view.instance is InstanceState.GONE:
        return begun.then(_release_step(node))
    deadline = termination_deadline(claim)
    if deadline is not None:
        begun = begun.then(Step(events=(deadline_event(node.name, node.uid, deadline),)))
    begun = begun.then(_taint_step(node))
    for phase in (_drain_phase, _detach_phase, _instance_phase):
        part, is_done = phase(view, now)
        begun = begun.then(part)
        if not is_done:
            return begun
    return begun.then(_release_step(node))


def _deletion_step(claim: ClaimObject | None) -> Step:
    if claim is None or claim.deleting_at is not None:
        return STAY
    return Step(actions=(DeleteClaim(claim.name, claim.uid),))


def _taint_step(node: NodeObject) -> Step:
    """Let no pod come and no load balancer send."""
    others = tuple(taint for taint in node.taints if taint.key != DISRUPTED.key)
    is_tainted = DISRUPTED in node.taints and len(others) == len(node.taints) - 1
    fenced = msgspec.structs.replace(
        node,
        labels={**node.labels, labels.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"},
        taints=node.taints if is_tainted else (*others, DISRUPTED),
    )
    return Step(nodes=node_patches(node, fenced))


def _drain_phase(view: TerminationView, now: datetime) -> tuple[Step, bool]:
    """Every pod that must leave has left, and that for a moment."""
    n_waiting = sum(is_waiting(pod, now) for pod in view.pods)
    if n_waiting:
        return _drain_step(view, now, n_waiting), False
    if view.claim is None:
        return STAY, True
    conditions = conditions_of_claim(view.claim, now)
    status = conditions.status(DRAINED)
    if status is Status.TRUE:
        return STAY, True
    if status is not Status.UNKNOWN:
        return Step(conditions=(wait(DRAINED, DRAINING),), look_again_at=now + MIN_DRAIN), False
    changed_at = conditions.changed_at(DRAINED)
    if abs(now - changed_at) < MIN_DRAIN:  # long before it, the clock was set back since
        return Step(look_again_at=changed_at + MIN_DRAIN), False
    return Step(conditions=(hold(DRAINED),), milestones=(Milestone.NODE_DRAINED,)), True


def _drain_step(view: TerminationView, now: datetime, n_waiting: int) -> Step:
    node, claim = view.node, view.claim
    deadline, reason = termination_deadline(claim), _reason(claim, now)
    until = patient_until(claim, deadline)
    message = f"Draining node: {_count_text(n_waiting, 'pod')} left to evict"
    return Step(
        # Without a count: it would be written anew for every pod that leaves.
        conditions=(wait(DRAINED, DRAINING),) if claim is not None else (),
        actions=tuple(
            EnqueueEviction(pod.key, pod.uid, node.name, deadline, reason, until)
            for pod in leaving_next(view.pods, now, deadline, until)
        ),
        events=(_warning(node, FAILED_EVENT, message),),
        look_again_at=now + DRAIN_POLL,
    )


def _reason(claim: ClaimObject | None, now: datetime) -> str:
    """Why pods are told to leave: what the disruption was for, if it was one."""
    if claim is None:
        return FORCEFUL
    stated = conditions_of_claim(claim, now).get(DISRUPTION_REASON)
    return stated.reason if stated is not None and stated.status == Status.TRUE else FORCEFUL


def _detach_phase(view: TerminationView, now: datetime) -> tuple[Step, bool]:
    """No volume is attached any more, or there is no more time to wait for it."""
    attachments = blocking_attachments(view.attachments, view.pods, view.volumes_by_pod, now)
    says = view.claim is not None
    if not attachments:
        return Step(conditions=(hold(VOLUMES_DETACHED),) if says else ()), True
    deadline = termination_deadline(view.claim)
    names = ", ".join(attachment.name for attachment in attachments[:_NAMES_SHOWN])
    message = f"{_count_text(len(attachments), 'volume')} still attached: {names}"
    if deadline is not None and now > deadline:
        return Step(conditions=(fail(VOLUMES_DETACHED, GRACE_ELAPSED, message),)), True
    waiting = Step(
        conditions=(wait(VOLUMES_DETACHED, AWAITING_DETACHMENT, message),) if says else (),
        events=(_warning(view.node, AWAITING_DETACHMENT, message),),
        look_again_at=now + DRAIN_POLL,
    )
    return waiting, False


def _instance_phase(view: TerminationView, now: datetime) -> tuple[Step, bool]:
    """The instance is gone. Without a claim nobody knows whose it was."""
    claim = view.claim
    if claim is None or not claim.provider_id:
        return STAY, True
    if view.instance is InstanceState.GONE:
        return STAY, True
    waiting = Step(
        conditions=(hold(INSTANCE_TERMINATING),),
        actions=(DeleteInstance(claim.provider_id, claim.name),),
        look_again_at=now + INSTANCE_POLL,
    )
    return waiting, False


def _release_step(node: NodeObject) -> Step:
    left = tuple(item for item in node.finalizers if item != labels.TERMINATION_FINALIZER)
    return Step(
        nodes=node_patches(node, msgspec.structs.replace(node, finalizers=left)),
        milestones=(Milestone.NODE_TERMINATED,),
    )


def _warning(node: NodeObject, reason: str, message: str) -> Event:
    return Event("Node", node.name, reason, message, type=EventType.WARNING, uid=node.uid)


def _count_text(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
