"""How does a StatefulSet keep its pods? Each has a number, a name and claims of its own.

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
from dovetail.sim.rollouts import TEMPLATE, is_outdated, replaces_pods, template_hash
from dovetail.sim.shop import Obj, Shop, Whole, is_active, is_ready, listed, mapping
from dovetail.sim.volumes import CLAIM

STATEFUL_SET: Final = api.KINDS["apps", "StatefulSet"]


async def keep_stateful_set(shop: Shop, whole: Whole) -> None:
    """Make the next pods that are due, delete those past the number."""
    start = mapping(whole.spec.get("ordinals")).get("start")
    first = start if isinstance(start, int) else 0
    numbers = range(first, first + whole.number("replicas", 1))
    held = {one.metadata.name: one for one in await shop.owned(whole)}
    names = {f"{whole.meta.name}-{number}": number for number in numbers}
    is_parallel = whole.spec.get("podManagementPolicy") == "Parallel"
    for name, number in names.items():
        is_up = await _raise(shop, whole, held.get(name), number)
        if not is_up and not is_parallel:
            break
    surplus = sorted((name for name in held if name not in names), key=_number, reverse=True)
    for name in surplus if is_parallel else surplus[:1]:
        if held[name].metadata.deletion_timestamp is None:
            await shop.delete_pod(held[name])
    n_ready = sum(is_ready(one) and is_active(one) for one in held.values())
    digest = template_hash(whole.template)
    outdated = [name for name, one in held.items() if is_outdated(one, digest)]
    if outdated and replaces_pods(whole) and n_ready >= len(numbers):
        await shop.delete_pod(held[max(outdated, key=_number)])
    revision = f"{whole.meta.name}-{digest}"
    status: Obj = {
        "replicas": len(held),
        "currentReplicas": len(held) - len(outdated),
        "updatedReplicas": len(held) - len(outdated),
        "readyReplicas": n_ready,
        "availableReplicas": n_ready,
        "updateRevision": revision,
    }
    if not outdated:
        status["currentRevision"] = revision
    await shop.report(whole, status)


async def _raise(shop: Shop, whole: Whole, pod: api.Pod | None, number: int) -> bool:
    """See that the pod of that number is there; whether it is ready."""
    if pod is None:
        await _make(shop, whole, f"{whole.meta.name}-{number}", number)
        return False
    if is_active(pod):
        return is_ready(pod)
    if pod.metadata.deletion_timestamp is None:
        await shop.delete_pod(pod)  # it has ended, and is made anew
    return False


def _number(name: str) -> int:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else -1


async def _make(shop: Shop, whole: Whole, name: str, number: int) -> None:
    volumes: list[Json] = []
    for one in map(mapping, listed(whole.spec.get("volumeClaimTemplates"))):
        kind = str(mapping(one.get("metadata")).get("name"))
        claim = f"{kind}-{name}"
        await _claim(shop, whole, claim, one)
        volumes.append({"name": kind, "persistentVolumeClaim": {"claimName": claim}})
    template = mapping(whole.template.get("spec"))
    replaced = {str(mapping(one)["name"]) for one in volumes}
    kept = [
        one
        for one in listed(template.get("volumes"))
        if str(mapping(one).get("name")) not in replaced
    ]
    meta: Obj = {
        "name": name,
        "labels": {
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(number),
            TEMPLATE: template_hash(whole.template),
        },
    }
    await shop.make_pod(whole, meta, {"hostname": name, "volumes": [*kept, *volumes]})


async def _claim(shop: Shop, whole: Whole, name: str, template: Obj) -> None:
    held = mapping(template.get("metadata"))
    body: Obj = {
        "apiVersion": "v1",
        "kind": CLAIM.name,
        "metadata": {**held, "name": name},
        "spec": template.get("spec"),
    }
    with suppress(AlreadyExistsError):  # it outlives its pod, and waits for the next
        await shop.kube.create(CLAIM, body, whole.ref.namespace)
