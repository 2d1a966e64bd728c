from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from dovetail.decide.lifecycle import launch
from dovetail.decide.lifecycle.conditions import LAUNCHED, REGISTERED, fail, wait
from dovetail.decide.lifecycle.step import STAY, DeleteClaim, NoteRegistration, Step
from tests.unit.decide.lifecycle.claims import (
    BORN,
    MINUTE,
    SECOND,
    claim,
    launched,
    registered,
    view,
)


def test_a_claim_that_does_not_launch_in_time_goes() -> None:
    """Five minutes from its creation, however often it was tried; its pool is told why."""
    failing = claim(wait(LAUNCHED, "ImageNotFound", "no image"), at=BORN + 2 * MINUTE)
    due_at = BORN + 5 * MINUTE
    assert launch.liveness_step(view(failing), due_at - SECOND) == Step(look_again_at=due_at)
    assert launch.liveness_step(view(failing), due_at).actions == (
        NoteRegistration(
            "default", "pool-1", is_success=False, reason="ImageNotFound", message="no image"
        ),
        DeleteClaim("one", "uid-1", "launch_timeout"),
    )


def test_a_claim_that_does_not_register_in_time_goes() -> None:
    """Fifteen minutes from its creation."""
    due_at = BORN + 15 * MINUTE
    one = launched(at=BORN + 4 * MINUTE)
    assert launch.liveness_step(view(one), due_at - SECOND) == Step(look_again_at=due_at)
    noted, gone = launch.liveness_step(view(one), due_at).actions
    assert isinstance(noted, NoteRegistration)
    assert (noted.is_success, noted.reason) == (False, "RegistrationFailed")
    assert gone == DeleteClaim("one", "uid-1", "registration_timeout")


def test_a_failed_registration_has_its_time_from_the_failure() -> None:
    """The clock runs from when the condition last turned."""
    one = launched(fail(REGISTERED, "MultipleNodesFound"), at=BORN + MINUTE)
    assert launch.liveness_step(view(one), BORN + 2 * MINUTE).look_again_at == BORN + 16 * MINUTE


def test_a_claim_without_a_pool_goes_alone() -> None:
    """Nobody needs to be told."""
    alone = msgspec.structs.replace(claim(), node_pool="")
    assert launch.liveness_step(view(alone), BORN + 5 * MINUTE).actions == (
        DeleteClaim("one", "uid-1", "launch_timeout"),
    )


@pytest.mark.parametrize("age", [timedelta(minutes=1), timedelta(days=30)])
def test_a_registered_claim_may_take_as_long_as_it_likes(age: timedelta) -> None:
    """There is no time limit for initialization."""
    assert launch.liveness_step(view(registered()), BORN + age) == STAY
