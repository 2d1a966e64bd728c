"""Killed anywhere, and nothing is lost or leaked: the next controller finishes what was begun.

Every call to API and cloud is a place to die at: before it has reached the server and, where it
changes anything, after it was carried out but before the answer is read.
"""

from __future__ import annotations

import pytest

from dovetail.testing import idle_loop
from dovetail.testing.troubled_kube import Call, When
from tests.kills.scenarios import SCENARIOS, Scenario, killed, left_alone

N_PARTS = 6  # of the kill points of a scenario, so that they can be seen to side by side
LEAST_POINTS = 500

by_name = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)


def kill_points(calls: list[Call]) -> list[tuple[int, When]]:
    """The calls to die at, and when; a read that was answered has changed nothing."""
    return [
        (number, when)
        for number, call in enumerate(calls, start=1)
        for when in When
        if when is When.BEFORE or call.is_write
    ]


def test_there_are_at_least_five_hundred_places_to_die_at() -> None:
    """In all scenarios together, each of which comes out well when nobody is killed."""
    n_points = 0
    for scenario in SCENARIOS:
        calls, complaints = idle_loop.run(left_alone(scenario))
        assert complaints == [], scenario.name
        n_points += len(kill_points(calls))
    print(f"{n_points} kill points")  # noqa: T201  shown by pytest -s
    assert n_points >= LEAST_POINTS


@pytest.mark.parametrize("part", range(N_PARTS))
@by_name
def test_nothing_is_lost_wherever_the_controller_is_killed(scenario: Scenario, part: int) -> None:
    """Every law holds once the next controller has brought the cluster to rest."""
    calls, _ = idle_loop.run(left_alone(scenario))
    for number, when in kill_points(calls)[part::N_PARTS]:
        complaints = idle_loop.run(killed(scenario, number, when))
        assert complaints == [], f"killed {when} {calls[number - 1]}"
