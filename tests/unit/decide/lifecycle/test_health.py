from __future__ import annotations

import msgspec
import pytest

from dovetail.decide.lifecycle import pool
from dovetail.decide.lifecycle.conditions import (
    NODE_REGISTRATION_HEALTHY,
    ConditionChange,
    fail,
    hold,
    wait,
)
from dovetail.decide.lifecycle.pool import Health, HealthStatus, PoolView, pool_with
from dovetail.decide.lifecycle.step import STAY, NoteRegistration, PoolPatch, Step
from dovetail.model.pool import NodePool
from tests.unit.decide.lifecycle.claims import NOW

POOL = PoolView(NodePool("default", uid="pool-1"), node_class_observed_generation=1)
CAME = NoteRegistration("default", "pool-1", is_success=True)
FAILED = NoteRegistration("default", "pool-1", is_success=False)
HEALTHY = hold(NODE_REGISTRATION_HEALTHY)


def saying(change: ConditionChange) -> PoolView:
    """The pool, of which this was said."""
    return pool_with(POOL, Step(conditions=(change,)), NOW)


@pytest.mark.parametrize(
    ("outcomes", "want"),
    [
        pytest.param((), HealthStatus.UNKNOWN, id="none yet"),
        pytest.param((True,), HealthStatus.HEALTHY, id="one came"),
        pytest.param((False,), HealthStatus.HEALTHY, id="one failure is none"),
        pytest.param((False, True, False), HealthStatus.UNHEALTHY, id="two of four failed"),
        pytest.param((False, True, True, True), HealthStatus.HEALTHY, id="one of four failed"),
    ],
)
def test_a_pool_is_unwell_when_half_of_the_last_four_failed(
    outcomes: tuple[bool, ...], want: HealthStatus
) -> None:
    """Of four, also when there are fewer yet."""
    assert Health(outcomes).status is want


def test_only_the_last_four_are_remembered() -> None:
    """The oldest is forgotten."""
    full = Health((False, False, True, True))
    assert full.with_another(is_success=True) == Health((False, True, True, True))


def test_a_registration_that_settles_the_question_is_said() -> None:
    """What it does not settle is only remembered."""
    first, step = pool.note_registration(POOL, Health(), FAILED)
    assert (first, step) == (Health((False,)), STAY)
    second, step = pool.note_registration(POOL, first, FAILED)
    assert step.conditions == (fail(NODE_REGISTRATION_HEALTHY, "RegistrationFailed"),)
    third, step = pool.note_registration(POOL, second, CAME)
    assert (third, step) == (Health((False, False, True)), STAY)
    well, step = pool.note_registration(POOL, Health((False, True, True, True)), CAME)
    assert (well, step) == (Health((True,) * 4), Step(conditions=(HEALTHY,)))


def test_a_launch_that_failed_says_why() -> None:
    """In the words of the claim's own condition."""
    note = msgspec.structs.replace(FAILED, reason="ImageNotFound", message="no image")
    _, step = pool.note_registration(POOL, Health((False,)), note)
    assert step.conditions == (fail(NODE_REGISTRATION_HEALTHY, "ImageNotFound", "no image"),)


def test_claims_of_another_pool_of_the_same_name_do_not_count() -> None:
    """The pool was deleted and made again."""
    note = msgspec.structs.replace(CAME, node_pool_uid="pool-0")
    assert pool.note_registration(POOL, Health(), note) == (Health(), STAY)


@pytest.mark.parametrize(
    ("view", "want_pools"),
    [
        pytest.param(POOL, (), id="nothing was ever said"),
        pytest.param(
            msgspec.structs.replace(saying(HEALTHY), generation=2), (), id="the pool changed"
        ),
        pytest.param(
            msgspec.structs.replace(saying(HEALTHY), node_class_observed_generation=7),
            (PoolPatch("default", node_class_observed_generation=1),),
            id="its node class changed",
        ),
    ],
)
def test_what_changed_is_judged_anew(view: PoolView, want_pools: tuple[PoolPatch, ...]) -> None:
    """Its past says nothing any more."""
    after, step = pool.health_step(view, Health((False, False)), 1, NOW)
    assert after == Health()
    assert step == Step(conditions=(wait(NODE_REGISTRATION_HEALTHY),), pools=want_pools)
    assert pool.health_step(pool_with(view, step, NOW), Health(), 1, NOW) == (Health(), STAY)


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(HEALTHY, HealthStatus.HEALTHY, id="well"),
        pytest.param(fail(NODE_REGISTRATION_HEALTHY, "X"), HealthStatus.UNHEALTHY, id="unwell"),
        pytest.param(wait(NODE_REGISTRATION_HEALTHY), HealthStatus.UNKNOWN, id="nobody knows"),
    ],
)
def test_a_restart_takes_up_the_thread(change: ConditionChange, want: HealthStatus) -> None:
    """The condition says what is remembered; a memory that is there is kept."""
    after, step = pool.health_step(saying(change), Health(), 1, NOW)
    assert (after.status, step) == (want, STAY)
    held = Health((True, True, False))
    assert pool.health_step(saying(change), held, 1, NOW) == (held, STAY)
