from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.decide.lifecycle import launch
from dovetail.decide.lifecycle.conditions import LAUNCHED, SetCondition, Status, hold
from dovetail.decide.lifecycle.step import (
    STAY,
    CreateInstance,
    DeleteClaim,
    EventType,
    Milestone,
    Step,
    claim_with,
)
from dovetail.model.claim import Launched, LaunchFailed, LaunchFailure, Launching
from dovetail.model.requirements import requirement
from tests.unit.decide.lifecycle.claims import NOW, SECOND, claim, launched, said_of, view

INSTANCE = Launched(
    "kwok://one",
    image_id="image",
    labels={labels.ZONE: "a", "team": "cloud", labels.INSTANCE_TYPE: "m1"},
    annotations={"cloud": "yes", "note": "cloud"},
    capacity={"cpu": 4000},
    allocatable={"cpu": 3900},
)


def test_a_new_claim_asks_for_an_instance() -> None:
    """Once; whoever acts on it hands in what became of it."""
    assert launch.launch_step(view(claim()), NOW) == Step(actions=(CreateInstance("one", "uid-1"),))


def test_a_launch_that_is_under_way_is_not_begun_again() -> None:
    """Its outcome is waited for."""
    assert launch.launch_step(view(claim(), outcome=Launching()), NOW) == STAY


def test_a_launch_that_came_off_is_taken_down() -> None:
    """The claim's labels stay as they are, the cloud's annotations win."""
    before = claim(
        labels={"team": "mine"},
        annotations={"note": "mine", "own": "yes"},
        requirements=(
            requirement("rack", "In", ["r1"], None),
            requirement(labels.INSTANCE_TYPE, "In", ["m1", "m2"], None),
            requirement(labels.HOSTNAME, "In", ["h"], None),
        ),
    )
    step = launch.launch_step(view(before, outcome=INSTANCE), NOW)
    after = claim_with(before, step, NOW)
    assert after.labels == {
        labels.ZONE: "a",
        labels.INSTANCE_TYPE: "m1",
        "team": "mine",
        "rack": "r1",
    }
    assert after.annotations == {"cloud": "yes", "note": "cloud", "own": "yes"}
    assert (after.provider_id, after.image_id) == ("kwok://one", "image")
    assert (after.capacity, after.allocatable) == ({"cpu": 4000}, {"cpu": 3900})
    launched_at = said_of(after, LAUNCHED)
    assert (launched_at.status, launched_at.reason) == ("True", "Launched")
    assert step.milestones == (Milestone.LAUNCHED,)
    assert step.actions == ()


def test_what_is_launched_is_not_launched_again() -> None:
    """Its condition is only repeated, for the present generation."""
    assert launch.launch_step(view(launched()), NOW) == Step(conditions=(hold(LAUNCHED),))
    stale = view(launched(), outcome=INSTANCE)
    assert launch.launch_step(stale, NOW).claims == ()


def test_a_claim_for_which_there_is_no_capacity_goes() -> None:
    """With a warning, so that its pods are planned for again."""
    failed = LaunchFailed(LaunchFailure.INSUFFICIENT_CAPACITY, "nothing left in a")
    step = launch.launch_step(view(claim(), outcome=failed), NOW)
    assert step.actions == (DeleteClaim("one", "uid-1", "insufficient_capacity"),)
    assert [(one.type, one.reason) for one in step.events] == [
        (EventType.WARNING, "InsufficientCapacityError")
    ]
    assert "nothing left in a" in step.events[0].message
    assert step.ends_claim


def test_a_claim_whose_node_class_is_not_ready_goes() -> None:
    """Without an event: the pool says it already."""
    failed = LaunchFailed(LaunchFailure.NODE_CLASS_NOT_READY, "no subnets")
    step = launch.launch_step(view(claim(), outcome=failed), NOW)
    assert step == Step(actions=(DeleteClaim("one", "uid-1", "nodeclass_not_ready"),))


@pytest.mark.parametrize(
    ("failed", "want_reason", "want_seconds"),
    [
        pytest.param(
            LaunchFailed(LaunchFailure.CREATE_ERROR, "bad image", "ImageNotFound"),
            "ImageNotFound",
            1,
            id="the provider's own reason",
        ),
        pytest.param(
            LaunchFailed(LaunchFailure.OTHER, "timeout", n_failures=4),
            "LaunchFailed",
            8,
            id="any other error, for the fourth time",
        ),
        pytest.param(
            LaunchFailed(LaunchFailure.OTHER, "timeout", n_failures=40),
            "LaunchFailed",
            60,
            id="never more than a minute apart",
        ),
    ],
)
def test_a_launch_that_failed_otherwise_is_tried_again(
    failed: LaunchFailed, want_reason: str, want_seconds: int
) -> None:
    """The claim says why, and the wait doubles from one second to a minute."""
    step = launch.launch_step(view(claim(), outcome=failed), NOW)
    want = SetCondition(LAUNCHED, Status.UNKNOWN, want_reason, failed.message)
    assert step == Step(conditions=(want,), look_again_at=NOW + want_seconds * SECOND)


def test_long_messages_are_cut() -> None:
    """Three hundred characters tell enough."""
    failed = LaunchFailed(LaunchFailure.OTHER, "x" * 1000)
    (change,) = launch.launch_step(view(claim(), outcome=failed), NOW).conditions
    assert isinstance(change, SetCondition)
    assert len(change.message) == 300
    none_left = LaunchFailed(LaunchFailure.INSUFFICIENT_CAPACITY, "x" * 1000)
    assert len(launch.launch_step(view(claim(), outcome=none_left), NOW).events[0].message) == 300
