"""Is a node still what its NodePool would make today? (spec/core.md 5.6)

Budgets, limits, weight, consolidation and wider requirements make no node drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    DRIFTED,
    LAUNCHED,
    ClearCondition,
    SetCondition,
    Status,
    conditions_of_claim,
)
from dovetail.decide.lifecycle.step import Milestone, Step
from dovetail.decide.lifecycle.timing import (
    DRIFT_RECHECK,
    TYPE_CHECK_FIRST_AFTER,
    TYPE_CHECK_KEPT_FOR,
)
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements

NODE_POOL_DRIFTED: Final = "NodePoolDrifted"
REQUIREMENTS_DRIFTED: Final = "RequirementsDrifted"
TYPE_NOT_FOUND: Final = "InstanceTypeNotFound"


class DriftView(msgspec.Struct, frozen=True, gc=False):
    """A claim beside its pool. `pool_annotations` are the pool's own, with its hash.

    `type_seen_at` is when the instance type was last found, `provider_reason` what the cloud says.
    """

    claim: ClaimObject
    pool: NodePool
    pool_annotations: Mapping[str, str] = {}
    instance_types: tuple[InstanceType, ...] = ()
    type_seen_at: datetime | None = None
    provider_reason: str = ""


def step(view: DriftView, now: datetime) -> Step:
    """Mark the claim with the first reason for which it has drifted, or take the mark off."""
    if not conditions_of_claim(view.claim, now).is_true(LAUNCHED):
        return Step(conditions=(ClearCondition(DRIFTED),))
    looked = _is_due(view, now)
    reason = _reason(view, looks_at_type=looked)
    again_at = now + DRIFT_RECHECK
    seen = (Milestone.TYPE_SEEN,) if looked and reason in {"", view.provider_reason} else ()
    mark = SetCondition(DRIFTED, Status.TRUE, reason) if reason else ClearCondition(DRIFTED)
    return Step(conditions=(mark,), milestones=seen, look_again_at=again_at)


def _reason(view: DriftView, *, looks_at_type: bool) -> str:
    if _hash_differs(view):
        return NODE_POOL_DRIFTED
    offered = Requirements.of_labels(view.claim.labels)
    if not offered.compatible(Requirements(view.pool.requirements)):
        return REQUIREMENTS_DRIFTED
    if looks_at_type and not _is_offered(view):
        return TYPE_NOT_FOUND
    return view.provider_reason


def _hash_differs(view: DriftView) -> bool:
    """Hashes count only if both were made by the same rules."""
    ours, theirs = view.claim.annotations, view.pool_annotations
    keys = (labels.NODE_POOL_HASH, labels.NODE_POOL_HASH_VERSION)
    if not all(ours.get(key) and theirs.get(key) for key in keys):
        return False
    is_comparable = ours[keys[1]] == theirs[keys[1]]
    return is_comparable and ours[keys[0]] != theirs[keys[0]]


def _is_due(view: DriftView, now: datetime) -> bool:
    """A young node's type cannot have gone yet, and one that was just seen need not be sought."""
    created_at, seen_at = view.claim.created_at, view.type_seen_at
    is_old = created_at is not None and now - created_at > TYPE_CHECK_FIRST_AFTER
    return is_old and (seen_at is None or now - seen_at >= TYPE_CHECK_KEPT_FOR)


def _is_offered(view: DriftView) -> bool:
    """Whether its type can still be bought where and how it was, be there room or not."""
    held = view.claim.labels
    name = held.get(labels.INSTANCE_TYPE, "")
    found = next((one for one in view.instance_types if one.name == name), None)
    if found is None:
        return False
    # A reservation may have run out since: then the node goes on as if bought on demand.
    is_reserved = held.get(labels.CAPACITY_TYPE) == labels.RESERVED
    ignored = {labels.CAPACITY_TYPE, labels.RESERVATION_ID} if is_reserved else set()
    wanted = Requirements.of_labels({key: held[key] for key in held if key not in ignored})
    kinds = {labels.RESERVED, labels.ON_DEMAND} if is_reserved else set(labels.CAPACITY_TYPES)
    return any(
        one.capacity_type in kinds
        and Requirements(
            value for key, value in one.requirements.items() if key not in ignored
        ).intersects(wanted)
        for one in found.offerings
    )
