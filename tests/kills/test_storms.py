"""Whatever goes wrong for a while, in the end everything is as it should be.

The same laws as after a kill: nothing launched twice or leaked, no budget broken, nothing stuck.
"""

from __future__ import annotations

import pytest

from dovetail.testing import virtual_time
from tests.kills.moves import SCENARIOS
from tests.kills.scenarios import Scenario
from tests.kills.storms import STORMS, Storm
from tests.kills.trials import crashed_again_and_again, weathered

SEEDS = (None, 1)  # in a prompt world, and in a slow one
N_CRASHING = 3
CALM = [one for one in SCENARIOS if one.meanwhile is None and one.dies_at_every == 1]

each_storm = pytest.mark.parametrize("storm", STORMS, ids=lambda one: one.name)
each_scenario = pytest.mark.parametrize("scenario", CALM, ids=lambda one: one.name)


@each_storm
def test_after_a_storm_everything_is_as_it_should_be(storm: Storm) -> None:
    """In every scenario, by turns with an API that answers at once and one that is slow."""
    for number, scenario in enumerate(CALM):
        seed = SEEDS[number % len(SEEDS)]
        assert virtual_time.run(weathered(scenario, storm, seed)) == [], scenario.name


@each_scenario
def test_controllers_that_crash_one_after_the_other_lose_nothing(scenario: Scenario) -> None:
    """Also when one dies while it takes over from another that has died."""
    for seed in range(N_CRASHING):
        assert virtual_time.run(crashed_again_and_again(scenario, seed)) == [], f"seed {seed}"
