"""Did the node turn out as large as it was ordered? (spec/core.md 5.10)"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from dovetail.decide.lifecycle.conditions import (
    CONSISTENT_STATE_FOUND,
    INITIALIZED,
    conditions_of_claim,
    fail,
    hold,
)
from dovetail.decide.lifecycle.step import STAY, EventType, Step, claim_event
from dovetail.decide.lifecycle.timing import CONSISTENCY_SCAN
from dovetail.model.claim import ClaimObject, ClaimView, NodeObject
from dovetail.units import quantity

CHECK_FAILED: Final = "ConsistencyCheckFailed"
CHECK_FAILED_EVENT: Final = "FailedConsistencyCheck"
_LEAST_PERCENT: Final = 90


def step(view: ClaimView, now: datetime) -> Step:
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
        expected, found = claim.capacity.get(name, 0), node.capacity.get(name, 0)
        if expected and found * 100 < expected * _LEAST_PERCENT:
            yield (
                f"expected {quantity.render(name, expected)} of {name}, "
                f"found {quantity.render(name, found)} ({found * 100 // expected}%)"
            )
