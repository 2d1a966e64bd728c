"""Computes patches of EC2NodeClass and NodeClaim objects: status, finalizer and hashes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.kube.seam import Json, Patch
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.node_class.types import (
    CapacityReservation,
    EC2NodeClass,
    EC2NodeClassStatus,
)

FINALIZER: Final = f"{labels.AWS_GROUP}/termination"
HASH: Final = keys.NODE_CLASS_HASH
HASH_VERSION_KEY: Final = keys.NODE_CLASS_HASH_VERSION
_DRIFTED: Final = "Drifted"


def status_patch(node_class: EC2NodeClass, status: EC2NodeClassStatus) -> Patch | None:
    """What changes of the status, if nobody changed the object meanwhile; None for nothing."""
    before, after = status_tree(node_class.status), status_tree(status)
    changes = {key: value for key, value in after.items() if value != before.get(key)}
    changes |= {key: None for key in before if key not in after}
    if not changes:
        return None
    return Patch(
        body={**_version_lock(node_class.metadata), "status": changes}, subresource="status"
    )


def status_tree(status: EC2NodeClassStatus) -> dict[str, Json]:
    """The status as it is stored. Fields of conditions are written even if they are empty."""
    tree: dict[str, Json] = msgspec.json.decode(api.encode(status))
    if status.conditions:
        tree["conditions"] = [_condition(condition) for condition in status.conditions]
    if status.capacity_reservations:
        tree["capacityReservations"] = [_reservation(item) for item in status.capacity_reservations]
    return tree


def _condition(condition: api.Condition) -> Json:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": _instant(condition.last_transition_time),
        "observedGeneration": condition.observed_generation,
    }


def _reservation(reservation: CapacityReservation) -> Json:
    tree: dict[str, Json] = msgspec.json.decode(api.encode(reservation))
    tree |= {
        "reservationType": reservation.reservation_type,
        "interruptible": reservation.interruptible,
        "state": reservation.state,
    }
    if reservation.end_time is not None:
        tree["endTime"] = _instant(reservation.end_time)
    return tree


def _instant(moment: datetime | None) -> str:
    return "" if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _version_lock(meta: api.ObjectMeta) -> dict[str, Json]:
    return {"metadata": {"resourceVersion": meta.resource_version}}


def stamp_patch(node_class: EC2NodeClass, *, hashed: str, version: str) -> Patch | None:
    """The finalizer and the annotations that the class lacks; None if it has them."""
    meta = node_class.metadata
    change: dict[str, Json] = {"resourceVersion": meta.resource_version}
    wanted = {HASH: hashed, HASH_VERSION_KEY: version}
    annotations: dict[str, Json] = {
        key: value for key, value in wanted.items() if meta.annotations.get(key) != value
    }
    if annotations:
        change["annotations"] = annotations
    if FINALIZER not in meta.finalizers:
        change["finalizers"] = [*meta.finalizers, FINALIZER]
    return Patch(body={"metadata": change}) if len(change) > 1 else None


def release_patch(node_class: EC2NodeClass) -> Patch:
    """Take the finalizer off."""
    meta = node_class.metadata
    kept: list[Json] = [name for name in meta.finalizers if name != FINALIZER]
    return Patch(
        body={"metadata": {"resourceVersion": meta.resource_version, "finalizers": kept or None}}
    )


def claim_stamps(
    claims: Iterable[api.NodeClaim], *, hashed: str, version: str
) -> Mapping[str, Patch]:
    """Patches by name, for claims whose hash was computed by other rules: nothing drifts because
    of them. A claim that has drifted already keeps its hash, so that it stays drifted.
    """
    patches: dict[str, Patch] = {}
    for claim in claims:
        annotations = claim.metadata.annotations
        if annotations.get(HASH_VERSION_KEY) == version:
            continue
        stamp: dict[str, Json] = {HASH_VERSION_KEY: version}
        if not _has_drifted(claim):
            stamp[HASH] = hashed
        meta: dict[str, Json] = {
            "resourceVersion": claim.metadata.resource_version,
            "annotations": stamp,
        }
        patches[claim.metadata.name] = Patch(body={"metadata": meta})
    return patches


def _has_drifted(claim: api.NodeClaim) -> bool:
    return any(item.type == _DRIFTED and item.status == "True" for item in claim.status.conditions)
