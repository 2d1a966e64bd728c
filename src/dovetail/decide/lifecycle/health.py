"""Do nodes of this NodePool come up? The last four say so (spec/core.md 7.5).

It informs; no pool is left out for it. The memory is handed in and out: `Health` for each pool.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from dovetail.decide.lifecycle.actions import NoteRegistration
from dovetail.decide.lifecycle.conditions import (
    NODE_REGISTRATION_HEALTHY,
    Status,
    fail,
    hold,
    wait,
)
from dovetail.decide.lifecycle.liveness import REGISTRATION_FAILED
from dovetail.decide.lifecycle.patches import PoolPatch
from dovetail.decide.lifecycle.pool import PoolView, conditions_of_pool
from dovetail.decide.lifecycle.step import STAY, Step

_N_REMEMBERED: Final = 4
_N_TOO_MANY: Final = 2  # half of those remembered


class HealthStatus(StrEnum):
    """What the last registrations come to."""

    UNKNOWN = "Unknown"
    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"


class Health(msgspec.Struct, frozen=True, gc=False):
    """Whether each of the last registrations of one pool came off, oldest first."""

    outcomes: tuple[bool, ...] = ()

    @property
    def status(self) -> HealthStatus:
        """What they come to."""
        if not self.outcomes:
            return HealthStatus.UNKNOWN
        is_unwell = self.outcomes.count(False) >= _N_TOO_MANY
        return HealthStatus.UNHEALTHY if is_unwell else HealthStatus.HEALTHY

    def noting(self, *, is_success: bool) -> Health:
        """With one more; the oldest is forgotten."""
        return Health((*self.outcomes, is_success)[-_N_REMEMBERED:])


def noted(view: PoolView, health: Health, note: NoteRegistration) -> tuple[Health, Step]:
    """Remember one registration, and say so if it settles the question.

    A claim of another pool of the same name does not count.
    """
    if note.node_pool_uid != view.pool.uid:
        return health, STAY
    result = health.noting(is_success=note.is_success)
    if note.is_success and result.status is HealthStatus.HEALTHY:
        return result, Step(conditions=(hold(NODE_REGISTRATION_HEALTHY),))
    if not note.is_success and result.status is HealthStatus.UNHEALTHY:
        reason = note.reason or REGISTRATION_FAILED
        return result, Step(
            conditions=(fail(NODE_REGISTRATION_HEALTHY, reason, note.message),),
        )
    return result, STAY


def step(
    view: PoolView, health: Health, node_class_generation: int, now: datetime
) -> tuple[Health, Step]:
    """Begin anew when the pool or its node class changed; take up the thread after a restart."""
    condition = conditions_of_pool(view, now).get(NODE_REGISTRATION_HEALTHY)
    if (
        condition is None
        or condition.observed_generation != view.generation
        or view.node_class_observed_generation != node_class_generation
    ):
        seen = PoolPatch(view.pool.name, node_class_observed_generation=node_class_generation)
        return Health(), Step(
            conditions=(wait(NODE_REGISTRATION_HEALTHY),),
            pools=(seen,) if view.node_class_observed_generation != node_class_generation else (),
        )
    return health if health.outcomes else _REMEMBERED.get(condition.status, Health()), STAY


# The fewest registrations that come to what the condition says.
_REMEMBERED: Final[dict[str, Health]] = {
    Status.TRUE: Health((True,)),
    Status.FALSE: Health((False,) * _N_TOO_MANY),
}
