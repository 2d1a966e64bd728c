"""Can this NodePool be used, what was it made from, and what does it have? (spec/core.md 7.6)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import (
    DRIFTED,
    NODE_CLASS_READY,
    POOL_DEPENDENTS,
    VALIDATION_SUCCEEDED,
    Conditions,
    Status,
    complete,
    conditions_of_claim,
    fail,
    hold,
)
from dovetail.decide.lifecycle.hashing import HASH_VERSION, template_hash
from dovetail.decide.lifecycle.patches import ClaimPatch, PoolPatch, claim_patches
from dovetail.decide.lifecycle.step import Step
from dovetail.decide.lifecycle.timing import COUNTER_PERIOD
from dovetail.model.claim import ClaimObject
from dovetail.model.node import Condition
from dovetail.model.pool import NodePool
from dovetail.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS

VALIDATION_FAILED: Final = "NodePoolValidationFailed"
CLASS_NOT_FOUND: Final = "NodeClassNotFound"
CLASS_TERMINATING: Final = "NodeClassTerminating"
CLASS_UNKNOWN: Final = "NodeClassReadinessUnknown"
_COUNTED: Final = dict.fromkeys((CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS), 0)


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
        POOL_DEPENDENTS,
        view.generation,
        view.created_at,
        view.pool.is_deleting,
        view.conditions,
    )
    return complete(bare, now)


def pool_with(view: PoolView, step: Step, now: datetime) -> PoolView:
    """The pool once the step is taken, its conditions complete."""
    conditions = conditions_of_pool(view, now).after(step.conditions, now)
    result = msgspec.structs.replace(view, conditions=conditions.held)
    for patch in step.pools:
        if patch.name == view.pool.name:
            result = _patched(result, patch)
    return result


def _patched(view: PoolView, patch: PoolPatch) -> PoolView:
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


def hashed(view: PoolView, claims: Iterable[ClaimObject], now: datetime) -> Step:
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


def counted(view: PoolView, totals: Mapping[str, int], now: datetime) -> Step:
    """Write down what the pool's nodes have together; `totals` counts them as `nodes`."""
    resources = {**_COUNTED, **totals}
    n_nodes = resources[NODES]
    step = Step(look_again_at=now + COUNTER_PERIOD)
    if dict(view.resources) == resources and view.n_nodes == n_nodes:
        return step
    patch = PoolPatch(view.pool.name, resources=resources, n_nodes=n_nodes)
    return step.then(Step(pools=(patch,)))
