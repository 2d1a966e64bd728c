"""How far is a Deployment? Revisions of its template, and conditions that tools wait for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from dovetail.kube.seam import Json, Patch
from dovetail.sim import wire
from dovetail.sim.shop import Obj, Shop, Whole, listed, mapping

REVISION: Final = "deployment.kubernetes.io/revision"


def revision_of(whole: Whole | None) -> int:
    """Which revision of its Deployment a ReplicaSet is; 0 if it does not say."""
    said = whole.meta.annotations.get(REVISION, "") if whole is not None else ""
    return int(said) if said.isdigit() else 0


def next_revision(sets: Iterable[Whole], current: Whole | None) -> int:
    """The revision of the present template: its own if it is the newest, else a new one."""
    newest = max((revision_of(one) for one in sets), default=0)
    own = revision_of(current)
    return own if own and own == newest else newest + 1


async def mark(shop: Shop, whole: Whole, revision: int) -> None:
    """Note the revision on a ReplicaSet or a Deployment, unless it is there."""
    if revision_of(whole) != revision:
        annotated: Json = {"annotations": {REVISION: str(revision)}}
        await shop.kube.patch(whole.ref, Patch({"metadata": annotated}))


def conditions(whole: Whole, *, n_ready: int, is_through: bool, now: datetime) -> list[Json]:
    """Whether enough pods are ready, and whether all are of the present template."""
    n_least = whole.number("replicas", 1) - _n_unavailable(whole)
    is_available = n_ready >= n_least
    reason = "MinimumReplicasAvailable" if is_available else "MinimumReplicasUnavailable"
    progress = "NewReplicaSetAvailable" if is_through else "ReplicaSetUpdated"
    before = [mapping(one) for one in listed(mapping(whole.tree.get("status")).get("conditions"))]
    return [
        _since(before, wire.condition("Available", holds=is_available, now=now, reason=reason)),
        _since(before, wire.condition("Progressing", holds=True, now=now, reason=progress)),
    ]


def _since(before: list[Obj], wanted: Obj) -> Json:
    """A condition with the time of its last change, which is not now if nothing has changed."""
    held = next((one for one in before if one.get("type") == wanted["type"]), {})
    stamp = wanted["lastTransitionTime"]
    if held.get("status") == wanted["status"]:
        stamp = held.get("lastTransitionTime")
    is_same = held.get("reason") == wanted["reason"] and held.get("status") == wanted["status"]
    updated = held.get("lastUpdateTime") if is_same else wanted["lastTransitionTime"]
    return {**wanted, "lastTransitionTime": stamp, "lastUpdateTime": updated}


def _n_unavailable(whole: Whole) -> int:
    """How many pods may be missing while a rollout goes on."""
    strategy = mapping(whole.spec.get("strategy"))
    said = mapping(strategy.get("rollingUpdate")).get("maxUnavailable", "25%")
    if isinstance(said, int):
        return said
    share = str(said).removesuffix("%")
    return int(share) * whole.number("replicas", 1) // 100 if share.isdigit() else 0
