"""The leader dies, and the other replica goes on where it stopped."""

from __future__ import annotations

import pytest

from dovetail.testing import virtual_time
from tests.doubles.troubled_kube import When
from tests.kills.moves import SCENARIOS
from tests.kills.scenarios import Scenario
from tests.kills.trials import kill_points, left_alone, taken_over

EVERY = 4  # so many kill points are one too many to see them all: each costs a lease
SOME = [one for one in SCENARIOS if one.is_tried_slowly and one.meanwhile is None]


@pytest.mark.parametrize("scenario", SOME, ids=lambda one: one.name)
@pytest.mark.parametrize("seed", [None, 2], ids=["prompt", "slow"])
def test_another_replica_takes_over_wherever_the_leader_is_killed(
    scenario: Scenario, seed: int | None
) -> None:
    """It leads when the lease has run out, not before, and every law holds."""
    calls, _ = virtual_time.run(left_alone(scenario, seed))
    for number in kill_points(calls)[::EVERY]:
        complaints = virtual_time.run(taken_over(scenario, number, When.AFTER, seed))
        assert complaints == [], f"killed after call {number}: {calls[number - 1]}"
