"""Keeps the pods of a StatefulSet, each with a number, a name and volume claims of its own.

One after the other comes when those before it are ready, unless they may come in parallel; they go
from the highest number down, and so are pods of an earlier template replaced, each once all others
are ready.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from dovetail import api
from dovetail.kube.errors import AlreadyExistsError
from dovetail.kube.seam import Json
from dovetail.sim.controller_manager.pod_control import (
    TEMPLATE,
    Obj,
    PodControl,
    WorkloadObject,
    as_list,
    is_active,
    is_outdated,
    is_ready,
    mapping,
    replaces_pods,
    template_hash,
)
from dovetail.sim.volumes import CLAIM

STATEFUL_SET: Final = api.KINDS["apps", "StatefulSet"]


async def keep_stateful_set(control: PodControl, workload: WorkloadObject) -> None:
    """Make the next pods that are due, delete those past the number."""
    start = mapping(workload.spec.get("ordinals")).get("start")
    first = start if isinstance(start, int) else 0
    numbers = range(first, first + workload.number("replicas", 1))
    result = {pod.metadata.name: pod for pod in await control.owned_pods(workload)}
    names = {f"{workload.meta.name}-{number}": number for number in numbers}
    is_parallel = workload.spec.get("podManagementPolicy") == "Parallel"
    for name, number in names.items():
        is_up = await _raise(control, workload, result.get(name), number)
        if not is_up and not is_parallel:
            break
    surplus = sorted((name for name in result if name not in names), key=_number, reverse=True)
    for name in surplus if is_parallel else surplus[:1]:
        if result[name].metadata.deletion_timestamp is None:
            await control.delete_pod(result[name])
    n_ready = sum(is_ready(pod) and is_active(pod) for pod in result.values())
    digest = template_hash(workload.template)
    outdated = [name for name, pod in result.items() if is_outdated(pod, digest)]
    if outdated and replaces_pods(workload) and n_ready >= len(numbers):
        await control.delete_pod(result[max(outdated, key=_number)])
    revision = f"{workload.meta.name}-{digest}"
    status: Obj = {
        "replicas": len(result),
        "currentReplicas": len(result) - len(outdated),
        "updatedReplicas": len(result) - len(outdated),
        "readyReplicas": n_ready,
        "availableReplicas": n_ready,
        "updateRevision": revision,
    }
    if not outdated:
        status["currentRevision"] = revision
    await control.report(workload, status)


async def _raise(
    control: PodControl, workload: WorkloadObject, pod: api.Pod | None, number: int
) -> bool:
    """See that the pod of that number is there; whether it is ready."""
    if pod is None:
        await _make(control, workload, f"{workload.meta.name}-{number}", number)
        return False
    if is_active(pod):
        return is_ready(pod)
    if pod.metadata.deletion_timestamp is None:
        await control.delete_pod(pod)  # it has ended, and is made anew
    return False


def _number(name: str) -> int:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else -1


async def _make(control: PodControl, workload: WorkloadObject, name: str, number: int) -> None:
    volumes: list[Json] = []
    for item in map(mapping, as_list(workload.spec.get("volumeClaimTemplates"))):
        kind = str(mapping(item.get("metadata")).get("name"))
        claim = f"{kind}-{name}"
        await _claim(control, workload, claim, item)
        volumes.append({"name": kind, "persistentVolumeClaim": {"claimName": claim}})
    template = mapping(workload.template.get("spec"))
    replaced = {str(mapping(volume)["name"]) for volume in volumes}
    kept = [
        item
        for item in as_list(template.get("volumes"))
        if str(mapping(item).get("name")) not in replaced
    ]
    meta: Obj = {
        "name": name,
        "labels": {
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(number),
            TEMPLATE: template_hash(workload.template),
        },
    }
    await control.make_pod(workload, meta, {"hostname": name, "volumes": [*kept, *volumes]})


async def _claim(control: PodControl, workload: WorkloadObject, name: str, template: Obj) -> None:
    metadata = mapping(template.get("metadata"))
    body: Obj = {
        "apiVersion": "v1",
        "kind": CLAIM.name,
        "metadata": {**metadata, "name": name},
        "spec": template.get("spec"),
    }
    with suppress(AlreadyExistsError):  # it outlives its pod, and waits for the next
        await control.kube.create(CLAIM, body, workload.ref.namespace)
