"""Killed anywhere on AWS: no instance is launched twice or left behind.

The controller with the AWS provider dies before the first and after every call to AWS and every
write to Kubernetes; the next controller finishes what was begun. Calls are answered at once here:
to die before the next call would leave the same behind as to die after this one.
"""

from __future__ import annotations

import pytest

from dovetail.testing import virtual_time
from tests.doubles.troubled_kube import ApiCall, When
from tests.ec2.kills.blocking import AWS
from tests.ec2.kills.scenarios import SCENARIOS
from tests.ec2.kills.world import AwsWorld
from tests.ec2.setting import Aws
from tests.kills.scenarios import Scenario
from tests.kills.trials import killed, left_alone

pytestmark = pytest.mark.xdist_group("ec2")
LEAST_POINTS = 300
_READS = ("describe_", "get_", "list_", "receive_")


def changes(call: ApiCall) -> bool:
    """Whether the call changes anything in AWS or Kubernetes."""
    return call.is_write or (call.kind == AWS and not call.verb.startswith(_READS))


def kill_points(calls: list[ApiCall]) -> list[tuple[int, When]]:
    """Before the first and after every call to AWS and every write, up to the last that changes
    anything: from then on the cluster is at rest.
    """
    last = max(number for number, call in enumerate(calls, start=1) if changes(call))
    numbers = [
        number
        for number, call in enumerate(calls[:last], start=1)
        if call.is_write or call.kind == AWS
    ]
    return [(numbers[0], When.BEFORE), *((number, When.AFTER) for number in numbers)]


def undisturbed(scenario: Scenario, aws: Aws) -> list[ApiCall]:
    """The calls of a controller that nobody kills."""
    calls, complaints = virtual_time.run(left_alone(scenario, world=AwsWorld(aws)))
    assert complaints == [], scenario.name
    return calls


class Trials:
    """The scenarios that were tried in this session: how often the controller was killed, and what
    was wrong afterwards.
    """

    def __init__(self) -> None:
        self.n_kills: dict[str, int] = {}
        self.complaints: dict[str, list[str]] = {}

    def carry_out(self, scenario: Scenario, aws: Aws) -> None:
        """Kill the controller at every point of a scenario, unless that was done before."""
        if scenario.name in self.n_kills:
            return
        calls = undisturbed(scenario, aws)
        self.n_kills[scenario.name], found = 0, list[str]()
        for number, when in kill_points(calls):
            world = AwsWorld(aws)
            complaints = virtual_time.run(killed(scenario, number, when, world=world))
            self.n_kills[scenario.name] += 1
            found += [f"killed {when} {number}: {calls[number - 1]}: {one}" for one in complaints]
        self.complaints[scenario.name] = found


@pytest.fixture(scope="session")
def trials() -> Trials:
    """One for all tests, which belong to one group."""
    return Trials()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_no_instance_is_doubled_or_leaked_wherever_the_controller_is_killed(
    scenario: Scenario, aws: Aws, trials: Trials
) -> None:
    """Every law holds once the next controller has brought the cluster to rest."""
    trials.carry_out(scenario, aws)
    assert trials.complaints[scenario.name] == []


def test_the_controller_was_killed_at_three_hundred_points_or_more(
    aws: Aws, trials: Trials
) -> None:
    """In all scenarios together: those of this session, and the rest now."""
    for scenario in SCENARIOS:
        trials.carry_out(scenario, aws)
    print(f"killed {sum(trials.n_kills.values())} times: {trials.n_kills}")  # noqa: T201  pytest -s
    assert sum(trials.n_kills.values()) >= LEAST_POINTS
    assert [complaint for found in trials.complaints.values() for complaint in found] == []
