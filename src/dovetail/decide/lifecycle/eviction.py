"""Computes the next step for one pod that must leave: evict it, wait, or delete it.

The queue is data: each entry says how often it failed, and each step when to come back to it.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, assert_never

import msgspec

from dovetail.decide.lifecycle.draining import (
    delete_at,
    grace_seconds,
    is_evictable,
    must_be_deleted,
)
from dovetail.decide.lifecycle.protection import is_active, protection
from dovetail.decide.lifecycle.step import (
    DeletePod,
    EnqueueEviction,
    Event,
    EventType,
    EvictPod,
    ForgetEviction,
    RetryEviction,
    Step,
    soonest,
)
from dovetail.decide.lifecycle.timing import EVICTION_BACKOFF
from dovetail.model.pod import Pod

EVICTED_EVENT: Final = "Evicted"
DISRUPTED_EVENT: Final = "Disrupted"
FAILED_EVENT: Final = "FailedDraining"
FORCEFUL: Final = "Forceful Termination"


class EvictionAnswer(StrEnum):
    """What the API may say to an eviction."""

    EVICTED = "evicted"
    GONE = "gone"  # 404: there is no such pod
    REPLACED = "replaced"  # 409: it is another pod by now
    BLOCKED = "blocked"  # 429: its disruption budget does not allow it
    AMBIGUOUS = "ambiguous"  # 500: several disruption budgets select it
    FAILED = "failed"  # anything else


class QueuedEviction(msgspec.Struct, frozen=True, gc=False):
    """A pod that must leave its node, by `deadline` at the latest if there is one. Until
    `patient_until` it is only asked to.
    """

    pod: str
    uid: str
    node: str
    deadline: datetime | None = None
    reason: str = FORCEFUL
    n_failures: int = 0
    patient_until: datetime | None = None


def queue_entry(entry: QueuedEviction | None, wanted: EnqueueEviction) -> QueuedEviction:
    """The entry for a pod that is to leave; one that is queued keeps its earliest deadline."""
    if entry is None:
        return QueuedEviction(
            wanted.pod,
            wanted.uid,
            wanted.node,
            wanted.deadline,
            wanted.reason or FORCEFUL,
            patient_until=wanted.patient_until,
        )
    if wanted.deadline is None or entry.deadline == wanted.deadline:
        return entry
    if entry.deadline is not None and entry.deadline < wanted.deadline:
        return entry
    return msgspec.structs.replace(
        entry, deadline=wanted.deadline, patient_until=wanted.patient_until
    )


def step(entry: QueuedEviction, pod: Pod | None, now: datetime) -> Step:
    """What to do about the pod now."""
    if pod is None or pod.uid != entry.uid:
        return _forget_step(entry)
    deadline = entry.deadline
    if deadline is not None and must_be_deleted(pod, now, deadline, entry.patient_until):
        return _deletion_step(entry, pod, now, grace_seconds(now, deadline))
    if not is_active(pod):
        return _forget_step(entry)
    kept = protection(pod, now)
    if not is_evictable(pod, now):
        return _retry_step(entry, pod, now).then(Step(events=kept.events, look_again_at=kept.until))
    return Step(actions=(EvictPod(entry.pod, entry.uid),), events=kept.events)


def after_answer(
    entry: QueuedEviction, pod: Pod, answer: EvictionAnswer, now: datetime, message: str = ""
) -> Step:
    """What follows from the API's answer to an eviction."""
    match answer:
        case EvictionAnswer.EVICTED:
            told = Event("Pod", pod.key, EVICTED_EVENT, f"Evicted pod: {entry.reason}", uid=pod.uid)
            return _forget_step(entry).then(Step(events=(told,)))
        case EvictionAnswer.GONE | EvictionAnswer.REPLACED:
            return _forget_step(entry)
        case EvictionAnswer.BLOCKED | EvictionAnswer.AMBIGUOUS:
            why = (
                message or f"a PodDisruptionBudget does not allow pod {entry.pod} to be evicted yet"
            )
            told = Event(
                "Node",
                entry.node,
                FAILED_EVENT,
                f"Evicting pod {entry.pod}: {why}",
                type=EventType.WARNING,
                dedupe=(entry.pod,),
            )
            return _retry_step(entry, pod, now).then(Step(events=(told,)))
        case EvictionAnswer.FAILED:
            return _retry_step(entry, pod, now)
        case _:
            assert_never(answer)


def _deletion_step(entry: QueuedEviction, pod: Pod, now: datetime, grace: int) -> Step:
    if pod.deleting_at is not None and (pod.deleting_at - now).total_seconds() <= grace:
        return _forget_step(entry)  # it ends no sooner for being deleted once more
    told = Event(
        "Pod",
        pod.key,
        DISRUPTED_EVENT,
        f"Deleted pod with a grace period of {grace} s: its node must terminate in time",
        type=EventType.WARNING,
        uid=pod.uid,
    )
    return Step(
        actions=(DeletePod(entry.pod, entry.uid, grace), ForgetEviction(entry.pod, entry.uid)),
        events=(told,),
    )


def _retry_step(entry: QueuedEviction, pod: Pod, now: datetime) -> Step:
    n_failures = entry.n_failures + 1
    due_at = None
    if entry.deadline is not None:
        due_at = delete_at(pod, entry.deadline, entry.patient_until)
    return Step(
        actions=(RetryEviction(entry.pod, entry.uid, n_failures),),
        look_again_at=soonest(EVICTION_BACKOFF.again_at(now, n_failures), due_at),
    )


def _forget_step(entry: QueuedEviction) -> Step:
    return Step(actions=(ForgetEviction(entry.pod, entry.uid),))
