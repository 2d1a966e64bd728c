from __future__ import annotations

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.lifecycle import pool as pools
from dovetail.decide.lifecycle.conditions import (
    DRIFTED,
    NODE_CLASS_READY,
    ROOT,
    VALIDATION_SUCCEEDED,
    SetCondition,
    Status,
    hold,
)
from dovetail.decide.lifecycle.pool import NodeClassState, PoolView, template_hash
from dovetail.decide.lifecycle.step import STAY, ClaimPatch, PoolPatch, Step
from dovetail.model.node import Condition
from dovetail.model.pool import NodePool
from tests.unit.decide.lifecycle.claims import BORN, KWOK, NOW, SECOND, initialized

POOL = PoolView(NodePool("default", node_class=KWOK, uid="pool-1"), created_at=BORN)
READY = NodeClassState(ready=Condition("Ready", "True"))
HASH = template_hash(POOL.pool)
CURRENT = {labels.NODE_POOL_HASH: HASH, labels.NODE_POOL_HASH_VERSION: "v3"}
OLD = {labels.NODE_POOL_HASH: "1", labels.NODE_POOL_HASH_VERSION: "v2"}


@pytest.mark.parametrize(
    ("node_class", "want"),
    [
        pytest.param(
            None, ("NodeClassNotFound", "KWOKNodeClass default does not exist"), id="none"
        ),
        pytest.param(
            NodeClassState(is_deleting=True, ready=READY.ready),
            ("NodeClassTerminating", "KWOKNodeClass default is being deleted"),
            id="it is going",
        ),
        pytest.param(
            NodeClassState(),
            ("NodeClassReadinessUnknown", "KWOKNodeClass default has no Ready condition"),
            id="it says nothing",
        ),
        pytest.param(
            NodeClassState(ready=Condition("Ready", "Unknown", "Busy")),
            ("NodeClassReadinessUnknown", "KWOKNodeClass default has no Ready condition"),
            id="it does not know",
        ),
        pytest.param(
            NodeClassState(ready=Condition("Ready", "False", "NoSubnets", "none match")),
            ("NoSubnets", "none match"),
            id="it says no, and why",
        ),
    ],
)
def test_a_pool_without_a_ready_node_class_is_not_ready(
    node_class: NodeClassState | None, want: tuple[str, str]
) -> None:
    """And says why."""
    step = pools.readiness(POOL, node_class)
    assert step.conditions == (SetCondition(NODE_CLASS_READY, Status.FALSE, *want),)
    after = pools.pool_with(POOL, step, NOW)
    assert pools.conditions_of_pool(after, NOW).status(ROOT) is Status.FALSE


def test_a_pool_is_ready_once_it_makes_sense_and_its_node_class_is_ready() -> None:
    """Both, and nothing else."""
    step = pools.readiness(POOL, READY)
    assert step == Step(conditions=(hold(NODE_CLASS_READY),))
    half = pools.pool_with(POOL, step, NOW)
    assert pools.conditions_of_pool(half, NOW).status(ROOT) is Status.UNKNOWN
    whole = pools.pool_with(half, pools.validation(()), NOW)
    assert pools.conditions_of_pool(whole, NOW).is_true(ROOT)


def test_a_pool_that_makes_no_sense_says_where() -> None:
    """Each problem names its field."""
    step = pools.validation(("spec.a: wrong", "spec.b: wrong too"))
    assert step.conditions == (
        SetCondition(
            VALIDATION_SUCCEEDED,
            Status.FALSE,
            "NodePoolValidationFailed",
            "spec.a: wrong; spec.b: wrong too",
        ),
    )


def test_a_pool_carries_the_hash_of_its_template() -> None:
    """Once it does, nothing is written."""
    step = pools.hash_step(POOL, (), NOW)
    assert step == Step(pools=(PoolPatch("default", annotations=CURRENT),))
    assert pools.hash_step(pools.pool_with(POOL, step, NOW), (), NOW) == STAY


def test_a_pool_that_changed_leaves_its_claims_hashes_alone() -> None:
    """That is how they are seen to have drifted."""
    changed = msgspec.structs.replace(POOL, annotations={**CURRENT, labels.NODE_POOL_HASH: "1"})
    step = pools.hash_step(changed, (initialized(annotations=OLD),), NOW)
    want = PoolPatch("default", annotations={labels.NODE_POOL_HASH: HASH})
    assert step == Step(pools=(want,))


def test_claims_are_brought_over_when_the_rules_of_the_hash_change() -> None:
    """Lest the whole fleet drift; a claim that has drifted already stays so."""
    old = msgspec.structs.replace(POOL, annotations=OLD)
    claims = (
        initialized(annotations=OLD),
        initialized(
            SetCondition(DRIFTED, Status.TRUE, "NodePoolDrifted"), annotations=OLD, name="drifted"
        ),
        initialized(annotations=CURRENT, name="current"),
        initialized(annotations=OLD, name="other", node_pool="other"),
    )
    assert pools.hash_step(old, claims, NOW).claims == (
        ClaimPatch("one", annotations=CURRENT),
        ClaimPatch("drifted", annotations={labels.NODE_POOL_HASH_VERSION: "v3"}),
    )


def test_a_pool_counts_what_its_nodes_have() -> None:
    """With a nought for what it has none of; written only when it changes, every five seconds."""
    want = {"cpu": 4000, "memory": 0, "pods": 0, "ephemeral-storage": 0, "nodes": 2, "gpu": 1}
    totals = {"cpu": 4000, "gpu": 1, "nodes": 2}
    step = pools.usage_step(POOL, totals, NOW)
    assert step == Step(
        pools=(PoolPatch("default", resources=want, n_nodes=2),), look_again_at=NOW + 5 * SECOND
    )
    after = pools.pool_with(POOL, step, NOW)
    assert pools.usage_step(after, totals, NOW) == Step(look_again_at=NOW + 5 * SECOND)
    assert pools.usage_step(after, {}, NOW).pools[0].n_nodes == 0


def test_a_patch_of_another_pool_changes_nothing() -> None:
    """Each its own."""
    step = Step(pools=(PoolPatch("other", n_nodes=3),))
    assert pools.pool_with(POOL, step, NOW).n_nodes == 0
