"""Computes the status of a NodePool: readiness, hash, resources in use, registration health.

Registration health says whether the last four nodes came up; no pool is left out for it, and its
memory is handed in and out.

The hash of a template is the reference's, bit for bit, so that a fleet that was
made by it does not drift when Dovetail takes over (`units/structure_hash.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    DRIFTED,
    NODE_CLASS_READY,
    NODE_REGISTRATION_HEALTHY,
    POOL_DEPENDENTS,
    VALIDATION_SUCCEEDED,
    Conditions,
    Status,
    complete,
    conditions_of_claim,
    fail,
    hold,
    wait,
)
from dovetail.decide.lifecycle.launch import REGISTRATION_FAILED
from dovetail.decide.lifecycle.step import (
    STAY,
    ClaimPatch,
    NoteRegistration,
    PoolPatch,
    Step,
    claim_patches,
)
from dovetail.decide.lifecycle.timing import COUNTER_PERIOD
from dovetail.model.claim import ClaimObject
from dovetail.model.node import Condition
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS
from dovetail.model.taints import Taint
from dovetail.units import structure_hash

VALIDATION_FAILED: Final = "NodePoolValidationFailed"
CLASS_NOT_FOUND: Final = "NodeClassNotFound"
CLASS_TERMINATING: Final = "NodeClassTerminating"
CLASS_UNKNOWN: Final = "NodeClassReadinessUnknown"
_COUNTED: Final = dict.fromkeys((CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS), 0)

_N_REMEMBERED: Final = 4
_N_TOO_MANY: Final = 2  # half of those remembered
HASH_VERSION: Final = "v3"


class PoolView(msgspec.Struct, frozen=True, gc=False):
    """A NodePool with its own annotations (`pool.annotations` are for its nodes) and its status."""

    pool: NodePool
    generation: int = 1
    created_at: datetime | None = None
    annotations: Mapping[str, str] = {}
    conditions: tuple[Condition, ...] = ()
    resources: Mapping[str, int] = {}
    n_nodes: int = 0
    node_class_observed_generation: int = 0


class NodeClassState(msgspec.Struct, frozen=True, gc=False):
    """What a pool reads of its node class. `ready` is its Ready condition, if it has one."""

    generation: int = 1
    is_deleting: bool = False
    ready: Condition | None = None


def conditions_of_pool(view: PoolView, now: datetime) -> Conditions:
    """What is said of a pool, with what nobody has said yet."""
    bare = Conditions(
        POOL_DEPENDENTS, view.generation, view.created_at, view.pool.is_deleting, view.conditions
    )
    return complete(bare, now)


def pool_with(view: PoolView, step: Step, now: datetime) -> PoolView:
    """The pool once the step is taken, its conditions complete."""
    conditions = conditions_of_pool(view, now).after(step.conditions, now)
    result = msgspec.structs.replace(view, conditions=conditions.held)
    for patch in step.pools:
        if patch.name == view.pool.name:
            result = _view_with_patch(result, patch)
    return result


def _view_with_patch(view: PoolView, patch: PoolPatch) -> PoolView:
    seen = patch.node_class_observed_generation
    return msgspec.structs.replace(
        view,
        annotations={**view.annotations, **patch.annotations},
        resources=view.resources if patch.resources is None else patch.resources,
        n_nodes=view.n_nodes if patch.n_nodes is None else patch.n_nodes,
        node_class_observed_generation=(
            view.node_class_observed_generation if seen is None else seen
        ),
    )


def readiness(view: PoolView, node_class: NodeClassState | None) -> Step:
    """Whether there is a node class to launch with."""
    ref = view.pool.node_class
    name = f"{ref.kind} {ref.name}"
    if node_class is None:
        return _unready(CLASS_NOT_FOUND, f"{name} does not exist")
    if node_class.is_deleting:
        return _unready(CLASS_TERMINATING, f"{name} is being deleted")
    ready = node_class.ready
    if ready is None or ready.status not in {Status.TRUE, Status.FALSE}:
        return _unready(CLASS_UNKNOWN, f"{name} has no Ready condition")
    if ready.status == Status.FALSE:
        return _unready(ready.reason or CLASS_UNKNOWN, ready.message)
    return Step(conditions=(hold(NODE_CLASS_READY),))


def _unready(reason: str, message: str) -> Step:
    return Step(conditions=(fail(NODE_CLASS_READY, reason, message),))


def validation(problems: Sequence[str]) -> Step:
    """Whether the pool makes sense; each problem names its field."""
    if not problems:
        return Step(conditions=(hold(VALIDATION_SUCCEEDED),))
    return Step(conditions=(fail(VALIDATION_SUCCEEDED, VALIDATION_FAILED, "; ".join(problems)),))


def hash_step(view: PoolView, claims: Iterable[ClaimObject], now: datetime) -> Step:
    """Write down what claims are made from. If the pool's hash was made by other rules, its claims
    are brought over as well, lest they drift for no reason of theirs.
    """
    mark = {
        labels.NODE_POOL_HASH: template_hash(view.pool),
        labels.NODE_POOL_HASH_VERSION: HASH_VERSION,
    }
    is_migrating = view.annotations.get(labels.NODE_POOL_HASH_VERSION) != HASH_VERSION
    changed = {key: value for key, value in mark.items() if view.annotations.get(key) != value}
    return Step(
        pools=(PoolPatch(view.pool.name, annotations=changed),) if changed else (),
        claims=tuple(_brought_over(view.pool, claims, mark, now)) if is_migrating else (),
    )


def _brought_over(
    pool: NodePool, claims: Iterable[ClaimObject], mark: Mapping[str, str], now: datetime
) -> Iterable[ClaimPatch]:
    for claim in claims:
        is_current = claim.annotations.get(labels.NODE_POOL_HASH_VERSION) == HASH_VERSION
        if claim.node_pool != pool.name or is_current:
            continue
        # A claim that has drifted stays so: only its old hash still says from what.
        has_drifted = conditions_of_claim(claim, now).is_true(DRIFTED)
        given = {labels.NODE_POOL_HASH_VERSION: HASH_VERSION} if has_drifted else mark
        annotations = {**claim.annotations, **given}
        yield from claim_patches(claim, msgspec.structs.replace(claim, annotations=annotations))


def usage_step(view: PoolView, totals: Mapping[str, int], now: datetime) -> Step:
    """Write down what the pool's nodes have together; `totals` counts them as `nodes`."""
    resources = {**_COUNTED, **totals}
    n_nodes = resources[NODES]
    step = Step(look_again_at=now + COUNTER_PERIOD)
    if dict(view.resources) == resources and view.n_nodes == n_nodes:
        return step
    patch = PoolPatch(view.pool.name, resources=resources, n_nodes=n_nodes)
    return step.then(Step(pools=(patch,)))


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

    def with_another(self, *, is_success: bool) -> Health:
        """With one more; the oldest is forgotten."""
        return Health((*self.outcomes, is_success)[-_N_REMEMBERED:])


def note_registration(
    view: PoolView, health: Health, note: NoteRegistration
) -> tuple[Health, Step]:
    """Remember one registration, and say so if it settles the question.

    A claim of another pool of the same name does not count.
    """
    if note.node_pool_uid != view.pool.uid:
        return health, STAY
    result = health.with_another(is_success=note.is_success)
    if note.is_success and result.status is HealthStatus.HEALTHY:
        return result, Step(conditions=(hold(NODE_REGISTRATION_HEALTHY),))
    if not note.is_success and result.status is HealthStatus.UNHEALTHY:
        reason = note.reason or REGISTRATION_FAILED
        return result, Step(conditions=(fail(NODE_REGISTRATION_HEALTHY, reason, note.message),))
    return result, STAY


def health_step(
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


def template_hash(pool: NodePool) -> str:
    """The hash of what claims are made from; requirements, limits, weight, replicas and
    everything about disruption do not count. A list or map counts that is given and empty.
    """
    blank = pool.blank_fields
    spec = structure_hash.struct(
        "NodeClaimTemplateSpec",
        ("Taints", _taints(pool.taints, is_given="taints" in blank)),
        ("StartupTaints", _taints(pool.startup_taints, is_given="startup_taints" in blank)),
        ("NodeClassRef", _node_class(pool.node_class)),
        ("TerminationGracePeriod", _grace(pool.termination_grace_period)),
        ("ExpireAfter", _expiry(pool.expire_after)),
    )
    meta = structure_hash.struct(
        "ObjectMeta",
        ("Labels", _map(pool.labels, is_given="labels" in blank)),
        ("Annotations", _map(pool.annotations, is_given="annotations" in blank)),
    )
    template = structure_hash.struct(
        "NodeClaimTemplate",
        ("ObjectMeta", meta if meta != structure_hash.text("ObjectMeta") else None),
        ("Spec", spec if spec != structure_hash.text("NodeClaimTemplateSpec") else None),
    )
    return str(template)


def _taints(taints: Sequence[Taint], *, is_given: bool) -> int | None:
    return structure_hash.members(map(_taint, taints)) if taints or is_given else None


def _taint(taint: Taint) -> int:
    return structure_hash.struct(
        "Taint",
        ("Key", _text(taint.key)),
        ("Value", _text(taint.value)),
        ("Effect", _text(taint.effect)),
    )


def _node_class(ref: NodeClassRef) -> int | None:
    if ref == NodeClassRef():
        return None
    return structure_hash.struct(
        "NodeClassReference",
        ("Kind", _text(ref.kind)),
        ("Name", _text(ref.name)),
        ("Group", _text(ref.group)),
    )


def _grace(span: timedelta | None) -> int | None:
    """A period of nothing is there, and yet has nothing in it."""
    if span is None:
        return None
    return structure_hash.struct("Duration", ("Duration", _nanos(span) if span else None))


def _expiry(span: timedelta | None) -> int | None:
    if span is None:
        return None
    return structure_hash.struct("NillableDuration", ("Duration", _nanos(span)))


def _nanos(span: timedelta) -> int:
    return structure_hash.integer(span // timedelta(microseconds=1) * 1000)


def _map(by_key: Mapping[str, str], *, is_given: bool) -> int | None:
    return structure_hash.texts(by_key) if by_key or is_given else None


def _text(text: str) -> int | None:
    return structure_hash.text(text) if text else None
