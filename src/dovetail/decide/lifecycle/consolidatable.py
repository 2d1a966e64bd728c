"""Has a node been quiet for long enough to be consolidated? (spec/core.md 5.7)"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dovetail.decide.lifecycle.conditions import (
    CONSOLIDATABLE,
    INITIALIZED,
    ClearCondition,
    conditions_of_claim,
    hold,
)
from dovetail.decide.lifecycle.step import STAY, Step
from dovetail.model.claim import ClaimObject
from dovetail.model.pool import NodePool

_CLEARED: Final = Step(conditions=(ClearCondition(CONSOLIDATABLE),))


def step(claim: ClaimObject, pool: NodePool, now: datetime) -> Step:
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
