"""Killed anywhere, and nothing is lost or leaked: the next controller finishes what was begun.

Every call that changes anything is a place to die at. In a world where calls are answered at once
the controller dies after the call was carried out and before it reads the answer; to die before the
next call would leave the same behind. In a slow world it dies before the call is sent, with others
under way, which still arrive.
"""

from __future__ import annotations

import pytest

from dovetail.testing import virtual_time
from tests.doubles.troubled_kube import When
from tests.kills.moves import SCENARIOS
from tests.kills.scenarios import Scenario
from tests.kills.trials import kill_points, killed, left_alone

LEAST_POINTS = 500
N_PARTS = 3  # of the kill points of a scenario, so that they can be seen to side by side
SEED = 1  # of a slow world
PROMPT = [(scenario, None) for scenario in SCENARIOS]
SLOW = [(scenario, SEED) for scenario in SCENARIOS if scenario.is_tried_slowly]
WORLDS = [
    pytest.param(scenario, seed, id=scenario.name + (" slowly" if seed is not None else ""))
    for scenario, seed in (*PROMPT, *SLOW)
]


def test_there_are_at_least_five_hundred_places_to_die_at() -> None:
    """In all scenarios together, each of which comes out well when nobody is killed."""
    n_points = 0
    for scenario, seed in (*PROMPT, *SLOW):
        calls, complaints = virtual_time.run(left_alone(scenario, seed))
        assert complaints == [], scenario.name
        n_points += len(kill_points(calls))
    print(f"{n_points} kill points")  # noqa: T201  shown by pytest -s
    assert n_points >= LEAST_POINTS


@pytest.mark.parametrize("part", range(N_PARTS))
@pytest.mark.parametrize(("scenario", "seed"), WORLDS)
def test_nothing_is_lost_wherever_the_controller_is_killed(
    scenario: Scenario, seed: int | None, part: int
) -> None:
    """Every law holds once the next controller has brought the cluster to rest."""
    calls, _ = virtual_time.run(left_alone(scenario, seed))
    when = When.AFTER if seed is None else When.BEFORE
    for number in kill_points(calls)[part :: N_PARTS * scenario.dies_at_every]:
        complaints = virtual_time.run(killed(scenario, number, when, seed))
        assert complaints == [], f"killed {when} call {number}: {calls[number - 1]}"
