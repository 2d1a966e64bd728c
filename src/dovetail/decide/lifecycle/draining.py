"""Says which pods leave a node next, and what still holds it.

Pods leave in tiers: ordinary pods first, critical daemons last, a tier when the one before is
gone. A pod that would not end by the node's deadline is deleted early enough to, whatever its tier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from dovetail import labels
from dovetail.decide.lifecycle.protection import is_active, protection
from dovetail.decide.lifecycle.timing import STUCK_TERMINATING_AFTER
from dovetail.model.claim import Attachment, ClaimObject
from dovetail.model.pod import Pod
from dovetail.model.taints import Effect, Taint

DISRUPTED: Final = Taint(labels.DISRUPTED_TAINT, "", Effect.NO_SCHEDULE)
CRITICAL: Final = frozenset({"system-cluster-critical", "system-node-critical"})
_MIN_GRACE: Final = timedelta(seconds=1)


def is_drainable(pod: Pod, now: datetime) -> bool:
    """Whether the pod is to leave at all: not one that tolerates the drain, is stuck, or is part
    of the node.
    """
    return not (tolerates_drain(pod) or is_stuck(pod, now) or pod.is_mirror)


def is_waiting(pod: Pod, now: datetime) -> bool:
    """Whether the node must wait for the pod to leave."""
    return not pod.is_terminal and is_drainable(pod, now)


def is_evictable(pod: Pod, now: datetime) -> bool:
    """Whether the pod may be asked to leave."""
    is_bound_here = tolerates_drain(pod) or pod.is_mirror
    return is_active(pod) and not is_bound_here and not protection(pod, now).is_active


def tolerates_drain(pod: Pod) -> bool:
    """Whether the pod means to stay on a node that is taken away."""
    return any(toleration.tolerates(DISRUPTED) for toleration in pod.spec.tolerations)


def is_stuck(pod: Pod, now: datetime) -> bool:
    """Whether the pod should have been gone for a while: nobody is left to end it."""
    return pod.deleting_at is not None and now > pod.deleting_at + STUCK_TERMINATING_AFTER


def tier(pod: Pod) -> int:
    """In which round the pod leaves, from 0 to 3."""
    return 2 * (pod.spec.priority_class in CRITICAL) + pod.is_daemon


def leaving_next(
    pods: Iterable[Pod],
    now: datetime,
    deadline: datetime | None = None,
    patient_until: datetime | None = None,
) -> tuple[Pod, ...]:
    """The pods to see to now: those that must be deleted for the deadline's sake, and the first
    tier of the others.
    """
    waiting = sorted((pod for pod in pods if is_waiting(pod, now)), key=lambda pod: pod.key)
    forced: list[Pod] = []
    graceful: list[Pod] = []
    for pod in waiting:
        is_forced = must_be_deleted(pod, now, deadline, patient_until)
        (forced if is_forced else graceful).append(pod)
    first = min(map(tier, graceful), default=0)
    return (*forced, *(pod for pod in graceful if tier(pod) == first))


def delete_at(pod: Pod, deadline: datetime, patient_until: datetime | None = None) -> datetime:
    """When the pod must be deleted at the latest, to have its whole grace period to end in, or all
    that is left of it after `patient_until`.
    """
    moment = deadline - timedelta(seconds=pod.spec.termination_grace_seconds)
    return moment if patient_until is None else max(moment, patient_until)


def patient_until(claim: ClaimObject | None, deadline: datetime | None) -> datetime | None:
    """Until when no pod of the node is deleted for the deadline's sake, None if nothing is to be
    waited for: half of the time that the machine has left, where that is why there is a deadline.
    """
    if claim is None or claim.deleting_at is None or deadline is None:
        return None
    grace, left = claim.termination_grace_period, deadline - claim.deleting_at
    is_asked_for = grace is not None and left >= grace
    return None if is_asked_for else claim.deleting_at + left / 2


def must_be_deleted(
    pod: Pod, now: datetime, deadline: datetime | None, patient_until: datetime | None = None
) -> bool:
    """Whether the pod would not end by the deadline otherwise."""
    if deadline is None:
        return False
    if pod.deleting_at is not None and pod.deleting_at > deadline:
        return True
    return now >= delete_at(pod, deadline, patient_until)


def grace_seconds(now: datetime, deadline: datetime) -> int:
    """How long a pod that is deleted for the deadline's sake has to end."""
    return max(deadline - now, _MIN_GRACE) // timedelta(seconds=1)


def blocking_attachments(
    attachments: Iterable[Attachment],
    pods: Sequence[Pod],
    volumes_by_pod: Mapping[str, Sequence[str]],
    now: datetime,
) -> tuple[Attachment, ...]:
    """The volumes that must still be detached. Those of pods that stay are not waited for."""
    staying = {
        volume
        for pod in pods
        if not is_drainable(pod, now)
        for volume in volumes_by_pod.get(pod.key, ())
    }
    return tuple(
        sorted(
            (item for item in attachments if item.volume_name and item.volume_name not in staying),
            key=lambda attachment: attachment.name,
        )
    )
