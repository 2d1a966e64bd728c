"""Which workloads are just being rolled out? Judged from their pods alone.

A Deployment of which pods of two templates run, and a StatefulSet with pods of two revisions, is on
its way from one to the other, and makes and deletes pods by itself. One that has made no pod for as
long as a Deployment gives itself by default (`progressDeadlineSeconds`) is stuck, and nobody waits
for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from dovetail import labels
from dovetail.decide.lifecycle.protection import is_active
from dovetail.decide.recall import recalled
from dovetail.model.pod import Pod

PROGRESS_WITHIN: Final = timedelta(minutes=10)


@recalled
def rollouts(pods: tuple[Pod, ...]) -> Mapping[str, datetime]:
    """Until when each workload with pods of several revisions counts as being rolled out."""
    first: dict[str, str] = {}
    mixed: set[str] = set()
    for pod in pods:
        revision = _revision(pod)
        if revision and is_active(pod) and first.setdefault(pod.workload, revision) != revision:
            mixed.add(pod.workload)
    if not mixed:
        return {}
    newest: dict[str, datetime] = {}
    for pod in pods:
        if _revision(pod) and pod.created_at is not None and is_active(pod):
            workload = pod.workload
            if workload in mixed:
                newest[workload] = max(newest.get(workload, pod.created_at), pod.created_at)
    return {workload: at + PROGRESS_WITHIN for workload, at in newest.items()}


def _revision(pod: Pod) -> str:
    """Which template of its workload it was made from; empty where that is not said."""
    held, owner = pod.labels, pod.owner
    if owner is None:
        return ""
    if owner.kind == "ReplicaSet":
        return held.get(labels.POD_TEMPLATE_HASH, "")
    return held.get(labels.CONTROLLER_REVISION_HASH, "") if owner.kind == "StatefulSet" else ""
