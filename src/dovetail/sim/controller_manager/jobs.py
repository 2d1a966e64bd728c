"""Runs the pods of a Job until enough have succeeded, or too many have failed."""

from __future__ import annotations

from typing import Final

from dovetail import api
from dovetail.kube.seam import Patch
from dovetail.sim import wire
from dovetail.sim.controller_manager.pod_control import (
    Obj,
    PodControl,
    WorkloadObject,
    as_list,
    is_active,
    is_ready,
    mapping,
)

JOB: Final = api.KINDS["batch", "Job"]
_ENDS: Final = ("Complete", "Failed")
_TRIES: Final = 6


async def keep_job(control: PodControl, workload: WorkloadObject) -> None:
    """Run as many pods as are still needed, and say when it is done."""
    before = mapping(workload.tree.get("status"))
    if any(mapping(item).get("type") in _ENDS for item in as_list(before.get("conditions"))):
        return
    pods = await control.owned_pods(workload)
    active = [item for item in pods if is_active(item)]
    n_succeeded = sum(item.status.phase == "Succeeded" for item in pods)
    n_failed = sum(item.status.phase == "Failed" for item in pods)
    end = _end(workload, n_succeeded, n_failed)
    wanted = 0 if end else _n_wanted(workload, n_succeeded)
    for _ in range(wanted - len(active)):
        await _make(control, workload)
    for pod in active[wanted:]:
        await control.delete_pod(pod)
    now = control.clock.now()
    status: Obj = {
        "active": wanted,
        "succeeded": n_succeeded,
        "failed": n_failed,
        "ready": sum(map(is_ready, active[:wanted])),
        "startTime": before.get("startTime") or wire.stamp(now),
    }
    if end:
        status["conditions"] = [wire.condition(end, holds=True, now=now)]
    if any(before.get(key) != value for key, value in status.items()):
        await control.kube.patch(workload.ref, Patch({"status": status}, subresource="status"))


def _completions(workload: WorkloadObject) -> int:
    return workload.number("completions", workload.number("parallelism", 1))


def _end(workload: WorkloadObject, n_succeeded: int, n_failed: int) -> str:
    if n_succeeded >= _completions(workload):
        return "Complete"
    return "Failed" if n_failed > workload.number("backoffLimit", _TRIES) else ""


def _n_wanted(workload: WorkloadObject, n_succeeded: int) -> int:
    if workload.spec.get("suspend") is True:
        return 0
    return min(workload.number("parallelism", 1), max(_completions(workload) - n_succeeded, 0))


async def _make(control: PodControl, workload: WorkloadObject) -> None:
    marks: Obj = {
        "batch.kubernetes.io/job-name": workload.meta.name,
        "batch.kubernetes.io/controller-uid": workload.meta.uid,
        "job-name": workload.meta.name,
    }
    template = mapping(workload.template.get("spec"))
    policy: Obj = {"restartPolicy": template.get("restartPolicy") or "Never"}
    await control.make_pod(
        workload, {"generateName": f"{workload.meta.name}-", "labels": marks}, policy
    )
