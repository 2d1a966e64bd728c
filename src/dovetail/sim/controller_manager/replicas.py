"""Keeps Deployments and ReplicaSets at their number of replicas.

A changed Deployment gets a new ReplicaSet at full number; the old ones shrink as its pods become
ready, so that there are never fewer than wanted.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from dovetail import api
from dovetail.decide.disrupt.cost import deletion_cost
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.sim.controller_manager.pod_control import (
    REVISION,
    Obj,
    PodControl,
    WorkloadObject,
    conditions,
    controller_uid,
    is_active,
    is_ready,
    mapping,
    mark,
    next_revision,
    template_hash,
)

DEPLOYMENT: Final = api.KINDS["apps", "Deployment"]
REPLICA_SET: Final = api.KINDS["apps", "ReplicaSet"]
_HASH: Final = "pod-template-hash"


async def keep_replica_set(control: PodControl, workload: WorkloadObject) -> None:
    """Make missing pods, delete surplus ones."""
    wanted = workload.number("replicas", 1)
    pods = [item for item in await control.owned_pods(workload) if is_active(item)]
    for _ in range(wanted - len(pods)):
        await control.make_pod(workload, {"generateName": f"{workload.meta.name}-"}, {})
    crowds = Counter(item.spec.node_name for item in pods)
    going = sorted(pods, key=lambda pod: _worth(pod, crowds))
    for pod in going[: max(len(pods) - wanted, 0)]:
        await control.delete_pod(pod)
    n_ready = sum(map(is_ready, pods))
    status: Obj = {"replicas": len(pods), "fullyLabeledReplicas": len(pods)}
    await control.report(
        workload, {**status, "readyReplicas": n_ready, "availableReplicas": n_ready}
    )


def _worth(pod: api.Pod, crowds: Counter[str]) -> tuple[bool, bool, int, int, float, str]:
    """Which pods go first: unbound, not ready, cheap to delete, those that crowd a node, the
    youngest.
    """
    meta, node = pod.metadata, pod.spec.node_name
    since = meta.creation_timestamp.timestamp() if meta.creation_timestamp else 0.0
    cost = deletion_cost(meta.annotations)
    return (bool(node), is_ready(pod), cost, -crowds[node], -since, meta.name)


async def keep_deployment(control: PodControl, workload: WorkloadObject) -> None:
    """Keep one ReplicaSet of the present template, and let those of earlier ones shrink."""
    sets = await _sets(control, workload)
    digest = template_hash(workload.template)
    name = f"{workload.meta.name}-{digest}"
    current = next((item for item in sets if item.meta.name == name), None)
    earlier = [workload_object for workload_object in sets if workload_object.meta.name != name]
    if workload.spec.get("paused") is not True:
        await _roll_out(control, workload, current, earlier, digest)
    n_updated, n_ready = _count(current, "replicas"), _count(current, "readyReplicas")
    wanted = workload.number("replicas", 1)
    n_all = n_updated + sum(_count(workload_object, "replicas") for workload_object in earlier)
    n_all_ready = n_ready + sum(_count(item, "readyReplicas") for item in earlier)
    is_through = wanted == n_all == n_updated == n_ready
    status: Obj = {
        "replicas": n_all,
        "updatedReplicas": n_updated,
        "readyReplicas": n_all_ready,
        "availableReplicas": n_all_ready,
        "unavailableReplicas": max(wanted - n_all_ready, 0),
        "conditions": conditions(
            workload, n_ready=n_all_ready, is_through=is_through, now=control.clock.now()
        ),
    }
    await control.report(workload, status)


async def _sets(control: PodControl, workload: WorkloadObject) -> list[WorkloadObject]:
    """The ReplicaSets that belong to a Deployment."""
    objects = await control.wires(REPLICA_SET, workload.ref.namespace)
    own = [item.metadata.name for item in objects if controller_uid(item) == workload.meta.uid]
    read = [await control.read(Ref(REPLICA_SET, name, workload.ref.namespace)) for name in own]
    return [workload_object for workload_object in read if workload_object is not None]


async def _roll_out(
    control: PodControl,
    workload: WorkloadObject,
    current: WorkloadObject | None,
    earlier: list[WorkloadObject],
    digest: str,
) -> None:
    """Bring the present template to full number; earlier ones shrink as its pods get ready."""
    revision = next_revision(earlier if current is None else [*earlier, current], current)
    wanted = workload.number("replicas", 1)
    if current is None:
        await _make_set(control, workload, digest, revision)
    else:
        await mark(control, current, revision)
        await _scale(control, current, wanted)
    await mark(control, workload, revision)
    left = max(wanted - _count(current, "readyReplicas"), 0)
    for workload_object in earlier:
        n_kept = min(workload_object.number("replicas", 0), left)
        left -= n_kept
        await _scale(control, workload_object, n_kept)


def _count(item: WorkloadObject | None, field: str) -> int:
    count = mapping(item.tree.get("status")).get(field) if item is not None else 0
    return count if isinstance(count, int) else 0


async def _scale(control: PodControl, workload_object: WorkloadObject, replicas: int) -> None:
    if workload_object.number("replicas", 1) != replicas:
        await control.kube.patch(workload_object.ref, Patch({"spec": {"replicas": replicas}}))


async def _make_set(
    control: PodControl, workload: WorkloadObject, digest: str, revision: int
) -> None:
    marked: Obj = {_HASH: digest}
    template = mapping(workload.template.get("metadata"))
    meta: Obj = {**template, "labels": {**mapping(template.get("labels")), **marked}}
    selector = mapping(workload.spec.get("selector"))
    chosen: Obj = {**selector, "matchLabels": {**mapping(selector.get("matchLabels")), **marked}}
    spec: Json = {
        "replicas": workload.number("replicas", 1),
        "selector": chosen,
        "template": {**workload.template, "metadata": meta},
    }
    body: Obj = {
        "apiVersion": REPLICA_SET.api_version,
        "kind": REPLICA_SET.name,
        "metadata": {
            "name": f"{workload.meta.name}-{digest}",
            "labels": mapping(meta["labels"]),
            "annotations": {REVISION: str(revision)},
            "ownerReferences": [workload.owner()],
        },
        "spec": spec,
    }
    await control.kube.create(REPLICA_SET, body, workload.ref.namespace)
