"""Computes the progress of a rollout: revisions of a template, pods of earlier ones, conditions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import blake2b
from typing import Final

import msgspec

from dovetail import api
from dovetail.kube.seam import Json, Patch
from dovetail.sim import wire
from dovetail.sim.controller_manager.pod_control import (
    Obj,
    PodControl,
    WorkloadObject,
    listed,
    mapping,
)

REVISION: Final = "deployment.kubernetes.io/revision"
TEMPLATE: Final = "controller-revision-hash"  # on pods of daemon sets and stateful sets


def template_hash(template: Obj) -> str:
    """The same for the same template, and hardly for another."""
    text = msgspec.json.encode(template, order="sorted")
    return blake2b(text, digest_size=5).hexdigest()


def is_outdated(pod: api.Pod, digest: str) -> bool:
    """Whether a pod was made from an earlier template; one that does not say so was not."""
    return pod.metadata.labels.get(TEMPLATE, digest) != digest


def replaces_pods(workload: WorkloadObject) -> bool:
    """Whether pods of an earlier template are to be replaced, and not left to their owner."""
    return mapping(workload.spec.get("updateStrategy")).get("type") != "OnDelete"


def revision_of(workload: WorkloadObject | None) -> int:
    """Which revision of its Deployment a ReplicaSet is; 0 if it does not say."""
    stated = workload.meta.annotations.get(REVISION, "") if workload is not None else ""
    return int(stated) if stated.isdigit() else 0


def next_revision(sets: Iterable[WorkloadObject], current: WorkloadObject | None) -> int:
    """The revision of the present template: its own if it is the newest, else a new one."""
    newest = max((revision_of(workload_object) for workload_object in sets), default=0)
    own = revision_of(current)
    return own if own and own == newest else newest + 1


async def mark(control: PodControl, workload: WorkloadObject, revision: int) -> None:
    """Note the revision on a ReplicaSet or a Deployment, unless it is there."""
    if revision_of(workload) != revision:
        annotated: Json = {"annotations": {REVISION: str(revision)}}
        await control.kube.patch(workload.ref, Patch({"metadata": annotated}))


def conditions(
    workload: WorkloadObject, *, n_ready: int, is_through: bool, now: datetime
) -> list[Json]:
    """Whether enough pods are ready, and whether all are of the present template."""
    n_least = workload.number("replicas", 1) - _n_unavailable(workload)
    is_available = n_ready >= n_least
    reason = "MinimumReplicasAvailable" if is_available else "MinimumReplicasUnavailable"
    progress = "NewReplicaSetAvailable" if is_through else "ReplicaSetUpdated"
    before = [
        mapping(item) for item in listed(mapping(workload.tree.get("status")).get("conditions"))
    ]
    return [
        _since(before, wire.condition("Available", holds=is_available, now=now, reason=reason)),
        _since(before, wire.condition("Progressing", holds=True, now=now, reason=progress)),
    ]


def _since(before: list[Obj], wanted: Obj) -> Json:
    """A condition with the time of its last change, which is not now if nothing has changed."""
    held = next((item for item in before if item.get("type") == wanted["type"]), {})
    stamp = wanted["lastTransitionTime"]
    if held.get("status") == wanted["status"]:
        stamp = held.get("lastTransitionTime")
    is_same = held.get("reason") == wanted["reason"] and held.get("status") == wanted["status"]
    updated = held.get("lastUpdateTime") if is_same else wanted["lastTransitionTime"]
    return {**wanted, "lastTransitionTime": stamp, "lastUpdateTime": updated}


def _n_unavailable(workload: WorkloadObject) -> int:
    """How many pods may be missing while a rollout goes on."""
    strategy = mapping(workload.spec.get("strategy"))
    max_unavailable = mapping(strategy.get("rollingUpdate")).get("maxUnavailable", "25%")
    if isinstance(max_unavailable, int):
        return max_unavailable
    share = str(max_unavailable).removesuffix("%")
    return int(share) * workload.number("replicas", 1) // 100 if share.isdigit() else 0
