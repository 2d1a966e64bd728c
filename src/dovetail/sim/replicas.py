"""How do Deployments and ReplicaSets keep their number?

A changed Deployment gets a new ReplicaSet at full number; the old ones shrink as its pods become
ready, so that there are never fewer than wanted.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from dovetail import api
from dovetail.decide.disrupt.cost import deletion_cost
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.sim.rollouts import REVISION, conditions, mark, next_revision, template_hash
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


def _worth(pod: api.Pod, crowds: Counter[str]) -> tuple[bool, bool, int, int, float, str]:
    """Which pods go first: unbound, not ready, cheap to delete, those that crowd a node, the
    youngest.
    """
    meta, node = pod.metadata, pod.spec.node_name
    since = meta.creation_timestamp.timestamp() if meta.creation_timestamp else 0.0
    cost = deletion_cost(meta.annotations)
    return (bool(node), is_ready(pod), cost, -crowds[node], -since, meta.name)


async def keep_deployment(shop: Shop, whole: Whole) -> None:
    """Keep one ReplicaSet of the present template, and let those of earlier ones shrink."""
    sets = await _sets(shop, whole)
    digest = template_hash(whole.template)
    name = f"{whole.meta.name}-{digest}"
    current = next((one for one in sets if one.meta.name == name), None)
    earlier = [one for one in sets if one.meta.name != name]
    if whole.spec.get("paused") is not True:
        await _roll_out(shop, whole, current, earlier, digest)
    n_updated, n_ready = _count(current, "replicas"), _count(current, "readyReplicas")
    wanted = whole.number("replicas", 1)
    n_all = n_updated + sum(_count(one, "replicas") for one in earlier)
    n_all_ready = n_ready + sum(_count(one, "readyReplicas") for one in earlier)
    is_through = wanted == n_all == n_updated == n_ready
    status: Obj = {
        "replicas": n_all,
        "updatedReplicas": n_updated,
        "readyReplicas": n_all_ready,
        "availableReplicas": n_all_ready,
        "unavailableReplicas": max(wanted - n_all_ready, 0),
        "conditions": conditions(
            whole, n_ready=n_all_ready, is_through=is_through, now=shop.clock.now()
        ),
    }
    await shop.report(whole, status)


async def _sets(shop: Shop, whole: Whole) -> list[Whole]:
    """The ReplicaSets that belong to a Deployment."""
    found = await shop.wires(REPLICA_SET, whole.ref.namespace)
    own = [one.metadata.name for one in found if controller_uid(one) == whole.meta.uid]
    read = [await shop.read(Ref(REPLICA_SET, name, whole.ref.namespace)) for name in own]
    return [one for one in read if one is not None]


async def _roll_out(
    shop: Shop, whole: Whole, current: Whole | None, earlier: list[Whole], digest: str
) -> None:
    """Bring the present template to full number; earlier ones shrink as its pods get ready."""
    revision = next_revision(earlier if current is None else [*earlier, current], current)
    wanted = whole.number("replicas", 1)
    if current is None:
        await _make_set(shop, whole, digest, revision)
    else:
        await mark(shop, current, revision)
        await _scale(shop, current, wanted)
    await mark(shop, whole, revision)
    left = max(wanted - _count(current, "readyReplicas"), 0)
    for one in earlier:
        n_kept = min(one.number("replicas", 0), left)
        left -= n_kept
        await _scale(shop, one, n_kept)


def _count(one: Whole | None, field: str) -> int:
    found = mapping(one.tree.get("status")).get(field) if one is not None else 0
    return found if isinstance(found, int) else 0


async def _scale(shop: Shop, one: Whole, replicas: int) -> None:
    if one.number("replicas", 1) != replicas:
        await shop.kube.patch(one.ref, Patch({"spec": {"replicas": replicas}}))


async def _make_set(shop: Shop, whole: Whole, digest: str, revision: int) -> None:
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
            "name": f"{whole.meta.name}-{digest}",
            "labels": mapping(meta["labels"]),
            "annotations": {REVISION: str(revision)},
            "ownerReferences": [whole.owner()],
        },
        "spec": spec,
    }
    await shop.kube.create(REPLICA_SET, body, whole.ref.namespace)
