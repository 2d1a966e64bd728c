"""How does a Job come to its end? It runs pods until enough have succeeded, or too many failed."""

from __future__ import annotations

from typing import Final

from dovetail import api
from dovetail.kube.seam import Patch
from dovetail.sim import wire
from dovetail.sim.shop import Obj, Shop, Whole, is_active, is_ready, listed, mapping

JOB: Final = api.KINDS["batch", "Job"]
_ENDS: Final = ("Complete", "Failed")
_TRIES: Final = 6


async def keep_job(shop: Shop, whole: Whole) -> None:
    """Run as many pods as are still needed, and say when it is done."""
    before = mapping(whole.tree.get("status"))
    if any(mapping(one).get("type") in _ENDS for one in listed(before.get("conditions"))):
        return
    pods = await shop.owned(whole)
    active = [one for one in pods if is_active(one)]
    n_succeeded = sum(one.status.phase == "Succeeded" for one in pods)
    n_failed = sum(one.status.phase == "Failed" for one in pods)
    end = _end(whole, n_succeeded, n_failed)
    wanted = 0 if end else _n_wanted(whole, n_succeeded)
    for _ in range(wanted - len(active)):
        await _make(shop, whole)
    for pod in active[wanted:]:
        await shop.delete_pod(pod)
    now = shop.clock.now()
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
        await shop.kube.patch(whole.ref, Patch({"status": status}, subresource="status"))


def _completions(whole: Whole) -> int:
    return whole.number("completions", whole.number("parallelism", 1))


def _end(whole: Whole, n_succeeded: int, n_failed: int) -> str:
    if n_succeeded >= _completions(whole):
        return "Complete"
    return "Failed" if n_failed > whole.number("backoffLimit", _TRIES) else ""


def _n_wanted(whole: Whole, n_succeeded: int) -> int:
    if whole.spec.get("suspend") is True:
        return 0
    return min(whole.number("parallelism", 1), max(_completions(whole) - n_succeeded, 0))


async def _make(shop: Shop, whole: Whole) -> None:
    marks: Obj = {
        "batch.kubernetes.io/job-name": whole.meta.name,
        "batch.kubernetes.io/controller-uid": whole.meta.uid,
        "job-name": whole.meta.name,
    }
    template = mapping(whole.template.get("spec"))
    policy: Obj = {"restartPolicy": template.get("restartPolicy") or "Never"}
    await shop.make_pod(whole, {"generateName": f"{whole.meta.name}-", "labels": marks}, policy)
