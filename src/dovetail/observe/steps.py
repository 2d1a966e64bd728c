"""Moves the metrics of the claim, Node or pod for which a step was carried out.

Called after the step's writes and actions, once: what failed is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from dovetail import labels
from dovetail.decide.disrupt.budgets import allowances
from dovetail.decide.lifecycle.conditions import INSTANCE_TERMINATING
from dovetail.decide.lifecycle.eviction import EvictionAnswer, QueuedEviction
from dovetail.decide.lifecycle.step import DeleteClaim, Milestone, Step, claim_with
from dovetail.decide.pools import price_of, prices
from dovetail.model.claim import ClaimObject, NodeObject
from dovetail.model.plan import DisruptionReason
from dovetail.model.pool import ConsolidationPolicy
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Score
from dovetail.observe.meters import Meters

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class TerminationMode(StrEnum):
    """How long a node may take to go."""

    GRACEFUL = "graceful"  # as long as its pods take
    EVENTUAL = "eventual"  # until its grace period is over
    FORCEFUL = "forceful"  # no time at all


def count_claim_step(meters: Meters, claim: ClaimObject, step: Step, now: datetime) -> None:
    """A step of this claim, which is as it was before, has been taken."""
    after = claim_with(claim, step, now)
    for milestone in step.milestones:
        if milestone is Milestone.NODE_REGISTERED:
            meters.nodes_created_total.labels(nodepool=_pool(after), zone=_zone(after)).inc()
        elif milestone is Milestone.INSTANCE_TERMINATED:
            _time_instance(meters, claim, now)
        elif milestone is Milestone.CLAIM_TERMINATED:
            _count_end(meters, claim, now)
    count_deletions(meters, {claim.name: after}, step)


def count_deletions(meters: Meters, claims: Mapping[str, ClaimObject], step: Step) -> None:
    """The claims that a step deleted, as garbage for instance; `claims` has them by name."""
    for action in step.actions:
        if isinstance(action, DeleteClaim) and action.reason and action.claim in claims:
            count_disrupted(meters, claims[action.claim], action.reason)
            if action.condition:
                count_unhealthy(meters, claims[action.claim], action.condition)


def count_disrupted(
    meters: Meters,
    claim: ClaimObject,
    reason: str,
    *,
    n_pods: int = 0,
    consolidation_policy: str = "",
) -> None:
    """A claim was deleted for this reason, with so many pods that now want another node.

    `consolidation_policy` is its pool's, where the reason is consolidation.
    """
    labelled = {
        "reason": snake_case(reason),
        "nodepool": _pool(claim),
        "capacity_type": claim.labels.get(labels.CAPACITY_TYPE, ""),
        "consolidation_policy": snake_case(consolidation_policy),
        "termination_mode": termination_mode(claim).value,
    }
    meters.nodeclaims_disrupted_total.labels(**labelled).inc()
    if n_pods:
        meters.pods_disruption_initiated_total.labels(**labelled).inc(n_pods)


def count_unhealthy(meters: Meters, claim: ClaimObject, condition: str) -> None:
    """A claim was deleted because its Node had this condition for too long."""
    meters.nodeclaims_unhealthy_disrupted_total.labels(
        condition=snake_case(condition),
        nodepool=_pool(claim),
        capacity_type=claim.labels.get(labels.CAPACITY_TYPE, ""),
        image_id=claim.image_id,
    ).inc()


def count_scores(meters: Meters, scores: Iterable[Score], *, is_approved: bool) -> None:
    """Balanced pools have weighed a move."""
    for score in scores:
        labelled = {
            "decision": "approved" if is_approved else "rejected",
            "nodepool": score.node_pool,
            "policy": snake_case(ConsolidationPolicy.BALANCED),
        }
        meters.consolidation_moves_total.labels(**labelled).inc()
        meters.consolidation_score.labels(**labelled).observe(score.thousandths / 1000)


def count_node_step(meters: Meters, node: NodeObject, step: Step, now: datetime) -> None:
    """A step towards the end of this Node has been taken."""
    pool = node.labels.get(labels.NODE_POOL, "")
    if Milestone.NODE_DRAINED in step.milestones:
        meters.nodes_drained_total.labels(nodepool=pool).inc()
    if Milestone.NODE_TERMINATED not in step.milestones:
        return
    zone = node.labels.get(labels.ZONE, "")
    meters.nodes_terminated_total.labels(nodepool=pool, zone=zone).inc()
    if node.deleting_at is not None:
        seconds = (now - node.deleting_at).total_seconds()
        meters.nodes_termination_duration_seconds.labels(nodepool=pool).observe(seconds)
    if node.created_at is not None:
        seconds = (now - node.created_at).total_seconds()
        meters.nodes_lifetime_duration_seconds.labels(nodepool=pool).observe(seconds)


def count_eviction(
    meters: Meters, entry: QueuedEviction, answer: EvictionAnswer, status: int = 0
) -> None:
    """The eviction API answered; `status` is its code where the answer does not say it."""
    code = _CODES.get(answer, status)
    if code:
        meters.pods_eviction_requests_total.labels(code=str(code)).inc()
    if answer is EvictionAnswer.EVICTED:
        meters.pods_drained_total.labels(reason=entry.reason).inc()


_CODES: Final[Mapping[EvictionAnswer, int]] = {
    EvictionAnswer.EVICTED: 200,
    EvictionAnswer.GONE: 404,
    EvictionAnswer.REPLACED: 409,
    EvictionAnswer.BLOCKED: 429,
    EvictionAnswer.AMBIGUOUS: 500,
}


def tell_budgets(meters: Meters, snapshot: Snapshot, now: datetime) -> None:
    """How many nodes each pool lets go for each reason, and how many count against that already.

    Pools that are gone are forgotten.
    """
    allowed, used = meters.nodepools_allowed_disruptions, meters.nodepools_nodes_consuming_budgets
    allowed.clear()
    used.clear()
    for reason in DisruptionReason:
        for pool, allowance in allowances(snapshot, reason, now).items():
            allowed.labels(nodepool=pool, reason=reason.value).set(allowance.n_allowed)
            used.labels(nodepool=pool, reason=reason.value).set(allowance.n_disrupting)


def count_unpriced(meters: Meters, snapshot: Snapshot, known: frozenset[str]) -> frozenset[str]:
    """Nodes of ours whose price nobody knows; those not `known` yet are counted."""
    listed = prices(snapshot)
    unpriced = {
        node.name: node.node_pool
        for node in snapshot.nodes
        if node.node_pool and node.instance_type and not price_of(node, listed)
    }
    for name, pool in unpriced.items():
        if name not in known:
            meters.nodepools_cost_tracker_errors_total.labels(nodepool=pool).inc()
    return frozenset(unpriced)


def termination_mode(claim: ClaimObject) -> TerminationMode:
    """How long this claim's node may take to go."""
    grace = claim.termination_grace_period
    if grace is None:
        return TerminationMode.GRACEFUL
    return TerminationMode.EVENTUAL if grace.total_seconds() > 0 else TerminationMode.FORCEFUL


def snake_case(word: str) -> str:
    """How metrics spell the words of the API."""
    return _HUMP.sub("_", word).lower()


def _time_instance(meters: Meters, claim: ClaimObject, now: datetime) -> None:
    for condition in claim.conditions:
        if condition.type == INSTANCE_TERMINATING and condition.changed_at is not None:
            seconds = (now - condition.changed_at).total_seconds()
            timed = meters.nodeclaims_instance_termination_duration_seconds
            timed.labels(nodepool=_pool(claim)).observe(seconds)


def _count_end(meters: Meters, claim: ClaimObject, now: datetime) -> None:
    meters.nodeclaims_terminated_total.labels(
        nodepool=_pool(claim),
        capacity_type=claim.labels.get(labels.CAPACITY_TYPE, ""),
        zone=_zone(claim),
    ).inc()
    if claim.deleting_at is not None:
        seconds = (now - claim.deleting_at).total_seconds()
        timed = meters.nodeclaims_termination_duration_seconds
        timed.labels(nodepool=_pool(claim)).observe(seconds)


def _pool(claim: ClaimObject) -> str:
    return claim.labels.get(labels.NODE_POOL, claim.node_pool)


def _zone(claim: ClaimObject) -> str:
    return claim.labels.get(labels.ZONE, "")
