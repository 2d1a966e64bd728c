"""How do Deployments and ReplicaSets keep their number?

A changed Deployment gets a new ReplicaSet at full number; the old ones shrink as its pods become
ready, so that there are never fewer than wanted.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Final

import msgspec

from dovetail import api
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.sim.shop import Obj, Shop, Whole, controller_uid, is_active, is_ready, mapping

DEPLOYMENT: Final = api.KINDS["apps", "Deployment"]
REPLICA_SET: Final = api.KINDS["apps", "ReplicaSet"]
_HASH: Final = "pod-template-hash"


async def keep_replica_set(shop: Shop, whole: Whole) -> None:
    """Make missing pods, delete surplus ones."""
    wanted = whole.number("replicas", 1)
    pods = [one for one in await shop.owned(whole) if is_active(one)]
    for _ in range(wanted - len(pods)):
        await shop.make_pod(whole, {"generateName": f"{whole.meta.name}-"}, {})
    crowds = Counter(one.spec.node_name for one in pods)
    going = sorted(pods, key=lambda one: _worth(one, crowds))
    for pod in going[: max(len(pods) - wanted, 0)]:
        await shop.delete_pod(pod)
    n_ready = sum(map(is_ready, pods))
    status: Obj = {"replicas": len(pods), "fullyLabeledReplicas": len(pods)}
    await shop.report(whole, {**status, "readyReplicas": n_ready, "availableReplicas": n_ready})


def _worth(pod: api.Pod, crowds: Counter[str]) -> tuple[bool, bool, int, float, str]:
    """Which pods go first: unbound, not ready, those that crowd a node, the youngest."""
    meta, node = pod.metadata, pod.spec.node_name
    since = meta.creation_timestamp.timestamp() if meta.creation_timestamp else 0.0
    return (bool(node), is_ready(pod), -crowds[node], -since, meta.name)


async def keep_deployment(shop: Shop, whole: Whole) -> None:
    """Keep one ReplicaSet of the present template, and let those of earlier ones shrink."""
    found = await shop.wires(REPLICA_SET, whole.ref.namespace)
    own = [one.metadata.name for one in found if controller_uid(one) == whole.meta.uid]
    sets = [await shop.read(Ref(REPLICA_SET, name, whole.ref.namespace)) for name in own]
    digest = _digest(whole.template)
    name = f"{whole.meta.name}-{digest}"
    wanted = whole.number("replicas", 1)
    current = next((one for one in sets if one is not None and one.meta.name == name), None)
    if current is None:
        await _make_set(shop, whole, name, digest)
    else:
        await _scale(shop, current, wanted)
    n_ready = _count(current, "readyReplicas")
    left = max(wanted - n_ready, 0)
    n_all, n_all_ready = _count(current, "replicas"), n_ready
    for one in sets:
        if one is not None and one.meta.name != name:
            n_kept = min(one.number("replicas", 0), left)
            left -= n_kept
            n_all += _count(one, "replicas")
            n_all_ready += _count(one, "readyReplicas")
            await _scale(shop, one, n_kept)
    status: Obj = {
        "replicas": n_all,
        "updatedReplicas": _count(current, "replicas"),
        "readyReplicas": n_all_ready,
        "availableReplicas": n_all_ready,
        "unavailableReplicas": max(wanted - n_all_ready, 0),
    }
    await shop.report(whole, status)


def _count(one: Whole | None, field: str) -> int:
    found = mapping(one.tree.get("status")).get(field) if one is not None else 0
    return found if isinstance(found, int) else 0


def _digest(template: Obj) -> str:
    text = msgspec.json.encode(template, order="sorted")
    return blake2b(text, digest_size=5).hexdigest()


async def _scale(shop: Shop, one: Whole, replicas: int) -> None:
    if one.number("replicas", 1) != replicas:
        await shop.kube.patch(one.ref, Patch({"spec": {"replicas": replicas}}))


async def _make_set(shop: Shop, whole: Whole, name: str, digest: str) -> None:
    marked: Obj = {_HASH: digest}
    held = mapping(whole.template.get("metadata"))
    meta: Obj = {**held, "labels": {**mapping(held.get("labels")), **marked}}
    selector = mapping(whole.spec.get("selector"))
    chosen: Obj = {**selector, "matchLabels": {**mapping(selector.get("matchLabels")), **marked}}
    spec: Json = {
        "replicas": whole.number("replicas", 1),
        "selector": chosen,
        "template": {**whole.template, "metadata": meta},
    }
    body: Obj = {
        "apiVersion": REPLICA_SET.api_version,
        "kind": REPLICA_SET.name,
        "metadata": {
            "name": name,
            "labels": mapping(meta["labels"]),
            "ownerReferences": [whole.owner()],
        },
        "spec": spec,
    }
    await shop.kube.create(REPLICA_SET, body, whole.ref.namespace)
