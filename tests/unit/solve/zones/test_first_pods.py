from __future__ import annotations

import numpy as np
import pytest

from dovetail.model.pod import Pod
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.units import unit_of
from dovetail.solve.zones.first_pods import followers, one_more, starters
from dovetail.testing.builders import node, pod
from tests.unit.solve.puzzles import LARGE, empty_attempt, encoded

FRONT = {"topology_key": "hostname", "selector": {"tier": "front"}}
AGENT = pod("agent", labels={"tier": "front"}, cpu=1, affinity=[FRONT])
WEB = pod("web", labels={"tier": "front"})
NEAR_AGENT = pod(
    "guest",
    labels={"app": "guest", "tier": "front"},
    affinity=[{"topology_key": "hostname", "selector": {"tier": "front", "app": "agent"}}],
)


def planned(places: dict[str, int], *pods: Pod, **parts: object) -> Attempt:
    """Pods by name, each on one of three nodes."""
    attempt = empty_attempt(encoded(list(pods), LARGE, **parts))
    attempt.bins.open(0, 3)
    for name, place in places.items():
        number = attempt.book.add(group_of(attempt, name), -1, 1)
        attempt.bins.put(number, attempt.units[number], np.array([place]), np.array([1]))
    return attempt


def group_of(attempt: Attempt, name: str) -> int:
    """The group of a pod."""
    groups = enumerate(attempt.enc.groups)
    return next(number for number, one in groups if name in {pod.name for pod in one.pods})


def may_come(attempt: Attempt, name: str, place: int) -> bool:
    """Whether all pods can be bound with one more on a node."""
    unit = unit_of(attempt.enc, group_of(attempt, name))
    unit.add(group_of(attempt, name), 1)
    return starters(attempt, followers(attempt), one_more(attempt, unit, place))[1]


def test_a_pod_may_be_bound_before_planned_company() -> None:
    """Of those that could come first one may, and only while no such pod runs."""
    attempt = planned({"web": 0}, AGENT, WEB)
    assert may_come(attempt, "agent", 0)
    assert may_come(attempt, "agent", 1)
    attempt = planned({"web": 0, "agent": 1}, AGENT, WEB)
    assert may_come(attempt, "agent", 1)
    assert not may_come(attempt, "agent", 2)
    assert [one.node for one in starters(attempt, followers(attempt))[0]] == [1]
    running = pod("old", labels={"tier": "front"}, node="n1")
    there = planned({}, AGENT, nodes=(node("n1", zone="a", cpu=4),), bound=(running,))
    assert not may_come(there, "agent", 1)


def test_pods_that_want_each_other_need_a_first_one_too() -> None:
    """The guest is company for the agent, but comes after it: nobody else may be the first."""
    agent = pod("agent", labels={"app": "agent", "tier": "front"}, cpu=1, affinity=[FRONT])
    attempt = planned({"agent": 0, "guest": 0}, agent, NEAR_AGENT, WEB)
    (first,), is_complete = starters(attempt, followers(attempt))
    assert is_complete
    assert first.unit.members[0][0] == group_of(attempt, "agent")
    assert not may_come(attempt, "agent", 1)
    gone = {(number, 0): 1 for number in range(len(attempt.units))}
    assert not followers(attempt, gone)


@pytest.mark.parametrize(
    "affinity",
    [
        pytest.param([{"topology_key": "hostname", "selector": {"app": "x"}}], id="to others"),
        pytest.param([FRONT, {"topology_key": "zone", "selector": {"app": "x"}}], id="over zones"),
    ],
)
def test_a_pod_that_others_must_precede_does_not_start(affinity: list[dict[str, object]]) -> None:
    """A pod that does not match all of its own terms waits for a pod that does."""
    one = pod("one", labels={"tier": "front"}, affinity=affinity)
    assert not may_come(planned({}, one, WEB), "one", 0)
