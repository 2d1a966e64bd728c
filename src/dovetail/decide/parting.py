"""Counts the room of ending pods as free where they are gone before a new node could start.

A rollout tells old pods to end and makes new ones in the same moment; so does kube-scheduler when
it preempts. Pending pods then need the room that becomes free within seconds, not another node. A
pod that takes longer to end than a node does to start holds its room, and so does one whose time is
up and that is still there: its kubelet may be gone. Where an owner waits for a pod to be gone
before it makes another, as a StatefulSet does, the room is left to that one.

`runs_out_at` is the next moment at which time alone could change a decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.decide.census import census
from dovetail.decide.lifecycle.protection import protection
from dovetail.decide.nodes import leaving
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot

SOON: Final = timedelta(minutes=1)  # about what a node takes to start
SLACK: Final = timedelta(seconds=10)  # for the kubelet to say that it is done
_AT_ONCE: Final = frozenset({"ReplicaSet", "ReplicationController", "Job", "DaemonSet"})


def with_room_of_parting(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The cluster without the pods that are as good as gone; the very same if there are none."""
    told = [pod for pod in snapshot.pods if pod.deleting_at is not None]
    parting = {id(pod) for pod in told if is_parting(pod, now)}
    if not parting:
        return snapshot
    kept = tuple(pod for pod in snapshot.pods if id(pod) not in parting)
    return msgspec.structs.replace(snapshot, pods=kept)


def is_parting(pod: Pod, now: datetime) -> bool:
    """Whether its room may be given to others."""
    deadline = pod.deleting_at
    if deadline is None or pod.is_terminal or not pod.node_name:
        return False
    has_successor = pod.owner is not None and pod.owner.kind not in _AT_ONCE
    return not has_successor and deadline - SOON <= now < deadline + SLACK


def turns_at(snapshot: Snapshot) -> Iterator[datetime]:
    """When pods that are told to end are as good as gone, and when they are overdue."""
    for pod in snapshot.pods:
        if pod.deleting_at is not None and is_parting(pod, pod.deleting_at):
            yield pod.deleting_at - SOON
            yield pod.deleting_at + SLACK


def runs_out_at(snapshot: Snapshot, now: datetime) -> datetime | None:
    """The next moment at which a promise, a refusal or a pod's protection has run out, or at which
    the room of a pod that ends may be counted on, or not any more.
    """
    return min((moment for moment in _expiry_moments(snapshot, now) if moment > now), default=None)


def _expiry_moments(snapshot: Snapshot, now: datetime) -> Iterator[datetime]:
    for promise in snapshot.ledger.nominations:
        yield promise.until
    for refusal in snapshot.ledger.refusals:
        yield refusal.until
    where = census(snapshot.pods)
    if where.unbound:
        yield from turns_at(snapshot)
    by_node = where.by_node
    for node in leaving(snapshot):  # their pods are planned for once they are not protected
        for pod in by_node.get(node, ()):
            until = protection(pod, now).until
            if until is not None:
                yield until
