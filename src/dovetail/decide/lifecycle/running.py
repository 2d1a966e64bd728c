"""Computes what becomes of a claim whose node runs: drift, consolidation, expiry, pod events, size.

Budgets, limits, weight, consolidation and wider requirements make no node drift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    CONSISTENT_STATE_FOUND,
    CONSOLIDATABLE,
    DRIFTED,
    INITIALIZED,
    LAUNCHED,
    ClearCondition,
    SetCondition,
    Status,
    conditions_of_claim,
    fail,
    hold,
    whole_second,
)
from dovetail.decide.lifecycle.step import (
    STAY,
    DeleteClaim,
    EventType,
    Milestone,
    Step,
    claim_event,
    claim_patches,
)
from dovetail.decide.lifecycle.timing import (
    CONSISTENCY_SCAN,
    DRIFT_RECHECK,
    POD_EVENT_DEDUPE,
    TYPE_CHECK_FIRST_AFTER,
    TYPE_CHECK_KEPT_FOR,
)
from dovetail.model.claim import ClaimObject, ClaimView, NodeObject
from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements
from dovetail.units import quantity

NODE_POOL_DRIFTED: Final = "NodePoolDrifted"
REQUIREMENTS_DRIFTED: Final = "RequirementsDrifted"
TYPE_NOT_FOUND: Final = "InstanceTypeNotFound"


_CLEARED: Final = Step(conditions=(ClearCondition(CONSOLIDATABLE),))


CHECK_FAILED: Final = "ConsistencyCheckFailed"
CHECK_FAILED_EVENT: Final = "FailedConsistencyCheck"
_LEAST_PERCENT: Final = 90


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


def drift_step(view: DriftView, now: datetime) -> Step:
    """Mark the claim with the first reason for which it has drifted, or take the mark off."""
    if not conditions_of_claim(view.claim, now).is_true(LAUNCHED):
        return Step(conditions=(ClearCondition(DRIFTED),))
    looked = _is_type_check_due(view, now)
    reason = _drift_reason(view, looks_at_type=looked)
    again_at = now + DRIFT_RECHECK
    seen = (Milestone.TYPE_SEEN,) if looked and reason in {"", view.provider_reason} else ()
    mark = SetCondition(DRIFTED, Status.TRUE, reason) if reason else ClearCondition(DRIFTED)
    return Step(conditions=(mark,), milestones=seen, look_again_at=again_at)


def _drift_reason(view: DriftView, *, looks_at_type: bool) -> str:
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


def _is_type_check_due(view: DriftView, now: datetime) -> bool:
    """A young node's type cannot have gone yet, and one that was just seen need not be sought."""
    created_at, seen_at = view.claim.created_at, view.type_seen_at
    is_old = created_at is not None and now - created_at > TYPE_CHECK_FIRST_AFTER
    return is_old and (seen_at is None or now - seen_at >= TYPE_CHECK_KEPT_FOR)


def _is_offered(view: DriftView) -> bool:
    """Whether its type can still be bought where and how it was, be there room or not."""
    claim_labels = view.claim.labels
    name = claim_labels.get(labels.INSTANCE_TYPE, "")
    instance_type = next((item for item in view.instance_types if item.name == name), None)
    if instance_type is None:
        return False
    # A reservation may have run out since: then the node goes on as if bought on demand.
    is_reserved = claim_labels.get(labels.CAPACITY_TYPE) == labels.RESERVED
    ignored = {labels.CAPACITY_TYPE, labels.RESERVATION_ID} if is_reserved else set()
    wanted = Requirements.of_labels(
        {key: claim_labels[key] for key in claim_labels if key not in ignored}
    )
    kinds = {labels.RESERVED, labels.ON_DEMAND} if is_reserved else set(labels.CAPACITY_TYPES)
    return any(
        offering.capacity_type in kinds
        and Requirements(
            value for key, value in offering.requirements.items() if key not in ignored
        ).intersects(wanted)
        for offering in instance_type.offerings
    )


def consolidatable_step(claim: ClaimObject, pool: NodePool, now: datetime) -> Step:
    """Say so once no pod has come or gone for as long as the pool wants. Static pools have none."""
    if pool.replicas is not None:
        return STAY
    quiet_for = pool.disruption.consolidate_after
    conditions = conditions_of_claim(claim, now)
    if quiet_for is None or not conditions.is_true(INITIALIZED):
        return _CLEARED
    since = claim.last_pod_event_at or conditions.changed_at(INITIALIZED)
    due_at = since + quiet_for
    if quiet_for > timedelta(0) and now < due_at:
        return _CLEARED.then(Step(look_again_at=due_at))
    return Step(conditions=(hold(CONSOLIDATABLE),))


def expiration_step(claim: ClaimObject, now: datetime) -> Step:
    """Delete the claim once its time has come."""
    if claim.expire_after is None or claim.created_at is None or claim.deleting_at is not None:
        return STAY
    due_at = claim.created_at + claim.expire_after
    if now < due_at:
        return Step(look_again_at=due_at)
    return Step(actions=(DeleteClaim(claim.name, claim.uid, "expired"),))


class PodChange(msgspec.Struct, frozen=True, gc=False):
    """A pod before and after. `is_listed`: it is no news, the pod was found in a list."""

    before: Pod | None
    after: Pod | None
    is_listed: bool = False


def pod_event_step(claim: ClaimObject, change: PodChange, now: datetime) -> Step:
    """Write down the moment, at most once in ten seconds."""
    moment = pod_event_at(claim.last_pod_event_at, change, now)
    if moment is None:
        return STAY
    known = msgspec.structs.replace(claim, last_pod_event_at=whole_second(moment))
    return Step(claims=claim_patches(claim, known))


def pod_event_at(last: datetime | None, change: PodChange, now: datetime) -> datetime | None:
    """When a pod event happened that counts; None if none did, or one was counted just before."""
    moment = _moment(change, now)
    if moment is None:
        return None
    if last is not None and (moment <= last or now - last < POD_EVENT_DEDUPE):
        return None
    return moment


def _moment(change: PodChange, now: datetime) -> datetime | None:
    """When it happened, None if nothing did that counts."""
    pod = change.after or change.before
    if pod is None or pod.is_daemon or not pod.node_name:
        return None
    if change.is_listed:
        # The reference takes every pod of a list for news, so that a restart begins all waits
        # anew. A pod that was there before says itself since when.
        return pod.started_at or pod.created_at or now
    if change.before is None or change.after is None:
        return now
    return now if _has_turned(change.before, change.after) else None


def _has_turned(before: Pod, after: Pod) -> bool:
    """Whether it became bound, terminal or terminating."""
    return (
        (not before.node_name and bool(after.node_name))
        or (not before.is_terminal and after.is_terminal)
        or (before.deleting_at is None and after.deleting_at is not None)
    )


def consistency_step(view: ClaimView, now: datetime) -> Step:
    """Compare what the Node has with what the cloud promised, resource by resource."""
    claim = view.claim
    is_started = conditions_of_claim(claim, now).is_true(INITIALIZED)
    if claim.deleting_at is not None or not is_started or len(view.nodes) != 1:
        return STAY
    again_at = now + CONSISTENCY_SCAN
    issues = tuple(_issues(claim, view.nodes[0]))
    if not issues:
        return Step(conditions=(hold(CONSISTENT_STATE_FOUND),), look_again_at=again_at)
    return Step(
        conditions=(fail(CONSISTENT_STATE_FOUND, CHECK_FAILED, "; ".join(issues)),),
        events=tuple(
            claim_event(claim, CHECK_FAILED_EVENT, issue, EventType.WARNING) for issue in issues
        ),
        look_again_at=again_at,
    )


def _issues(claim: ClaimObject, node: NodeObject) -> Iterator[str]:
    for name in sorted(claim.requests):
        expected, actual = claim.capacity.get(name, 0), node.capacity.get(name, 0)
        if expected and actual * 100 < expected * _LEAST_PERCENT:
            yield (
                f"expected {quantity.render(name, expected)} of {name}, "
                f"found {quantity.render(name, actual)} ({actual * 100 // expected}%)"
            )
