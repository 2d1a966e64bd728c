"""What comes next for a claim, all laws together? Each sees what those before it concluded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle import (
    advance,
    consistency,
    consolidatable,
    drift,
    expiration,
    hydration,
    podevents,
    repair,
)
from dovetail.decide.lifecycle.drift import DriftView
from dovetail.decide.lifecycle.podevents import PodChange
from dovetail.decide.lifecycle.repair import Illness
from dovetail.decide.lifecycle.step import Step, view_after
from dovetail.model.claim import ClaimObject, ClaimView
from dovetail.model.instance import InstanceType
from dovetail.model.pool import NodePool


class PoolBeside(msgspec.Struct, frozen=True):
    """The pool of a claim, as far as the claim is judged by it; what the cloud and earlier looks
    say of the claim's drift.
    """

    pool: NodePool
    annotations: Mapping[str, str]
    instance_types: tuple[InstanceType, ...]
    type_seen_at: datetime | None
    provider_reason: str


class Company(msgspec.Struct, frozen=True):
    """What the step of a claim depends on besides the claim and its Nodes."""

    pool: PoolBeside | None = None  # None: it stands alone, or its pool makes no sense
    pod_change: PodChange | None = None
    illness: Illness | None = None  # None: its Node is well


def claim_step(view: ClaimView, company: Company, now: datetime) -> Step:
    """Everything that is to happen to a claim now."""
    claim = view.claim
    whole = hydration.step(view, now)
    if company.illness is not None:
        whole = whole.then(repair.step(claim, company.illness, now))
    if claim.deleting_at is not None:
        return whole.then(advance(view_after(view, whole, now), now))
    if whole.ends_claim:
        return whole
    whole = whole.then(expiration.step(claim, now))
    if whole.ends_claim:
        return whole
    if company.pod_change is not None:
        whole = whole.then(podevents.step(claim, company.pod_change, now))
    whole = whole.then(advance(view_after(view, whole, now), now))
    if whole.ends_claim or labels.TERMINATION_FINALIZER not in claim.finalizers:
        return whole
    after = view_after(view, whole, now)
    whole = whole.then(consistency.step(after, now))
    return whole if company.pool is None else whole.then(_marks(after.claim, company.pool, now))


def _marks(claim: ClaimObject, beside: PoolBeside, now: datetime) -> Step:
    """What the pool makes of the claim."""
    view = DriftView(
        claim,
        beside.pool,
        beside.annotations,
        beside.instance_types,
        beside.type_seen_at,
        beside.provider_reason,
    )
    return drift.step(view, now).then(consolidatable.step(claim, beside.pool, now))
