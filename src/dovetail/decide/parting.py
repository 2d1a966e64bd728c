"""Who is as good as gone? Pods that end before a node that is launched now could run anything.

A rollout tells old pods to end and makes new ones in the same moment; so does kube-scheduler when
it preempts. Who waits then needs the room that becomes free within seconds, not another node. A pod
that takes longer than a node does to start holds its room, and so does one whose time is up and
that is still there: its kubelet may be gone. Whose owner waits for it to be gone before it makes
another, such as a StatefulSet, leaves its room to that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

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
