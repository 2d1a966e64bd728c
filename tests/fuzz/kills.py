"""Is anything lost wherever the controller is killed in one random world? At many of its calls."""

from __future__ import annotations

from random import Random
from typing import Final

from dovetail.testing import virtual_time
from tests.doubles.troubled_kube import When
from tests.kills.plots import scenario_of
from tests.kills.trials import kill_points, killed, left_alone

MOST_KILLS: Final = 25
SLOW_EVERY: Final = 3


def wrong(seed: int, most: int = MOST_KILLS) -> list[str]:
    """What is wrong in the world of this seed: when nobody is killed, or after one of so many
    kills. Every third world is slow: there the controller dies before a call is sent.
    """
    scenario = scenario_of(seed)
    is_slow = seed % SLOW_EVERY == 0
    pace, when = (seed, When.BEFORE) if is_slow else (None, When.AFTER)
    calls, complaints = virtual_time.run(left_alone(scenario, pace))
    if complaints:
        return [f"{scenario.name}, left alone: {one}" for one in complaints]
    points = kill_points(calls)
    found = []
    for number in sorted(Random(seed).sample(points, min(most, len(points)))):
        complaints = virtual_time.run(killed(scenario, number, when, pace))
        call = calls[number - 1]
        where = f"{scenario.name}, killed {when} call {number}, {call.verb} {call.kind} {call.name}"
        found += [f"{where}: {one}" for one in complaints]
    return found
