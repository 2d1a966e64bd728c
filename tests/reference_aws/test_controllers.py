"""The reference's own controller and Dovetail ask the same of EC2 for the same manifests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ALONE
from tests.e2e.ec2_world import CREDENTIALS, Ec2World, ec2_world
from tests.e2e.live import Running, condition, controller, objects, until
from tests.reference_aws import meant
from tests.reference_aws.combinations import Combination, combinations
from tests.reference_aws.comparing import differences
from tests.reference_aws.facts import claim_of
from tests.reference_aws.side_by_side import (
    Observed,
    apply,
    clear,
    observe,
    prepare,
    reference,
    unsettled,
)

pytestmark = pytest.mark.xdist_group("controlplane")

N_LAUNCHED = 30  # at least so many combinations are launched by both
_CHANGED = "al2023-tags"  # the one whose class changes after Dovetail has taken over
_ASKED = "karpenter_cloudprovider_duration_seconds_count"


@dataclass(frozen=True)
class Cluster:
    """A control plane with an EC2, and the manifests for both controllers."""

    plane: ControlPlane
    world: Ec2World
    wanted: tuple[Combination, ...]

    @contextmanager
    def dovetail(self) -> Iterator[Running]:
        """Dovetail for as long as the block lasts."""
        flags = (*ALONE, "--disable-dry-run", "true", *self.world.flags)
        environment = self.world.environment
        with controller(self.plane, *flags, environment=environment, provider="aws") as running:
            yield running

    def settle(self) -> Observed:
        """Create the objects; what the running controller has done when nothing is missing."""
        n_calls = len(self.world.control.calls())
        apply(self.plane, self.wanted)
        missing: list[str] = []

        def is_settled() -> bool:
            missing[:] = unsettled(self.plane, self.wanted)
            return not missing

        try:
            until(is_settled, "every combination is launched", seconds=480)
        except AssertionError as error:
            error.add_note("\n".join(missing))
            raise
        return observe(self.plane, self.world, after=n_calls)


@pytest.fixture
def cluster(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster of this test."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with ec2_world(plane) as world:
        started = Cluster(plane, world, combinations(prepare(world)))
        yield started
        clear(plane, world)


def test_both_controllers_ask_the_same_of_ec2(cluster: Cluster) -> None:
    """Templates, fleets, tags, status, labels and annotations agree but for what is meant.

    In between Dovetail takes over what the reference launched.
    """
    with reference(cluster.plane, cluster.world):
        theirs = cluster.settle()
    with cluster.dovetail() as running:
        _check_that_nothing_drifts(cluster, running, theirs)
    clear(cluster.plane, cluster.world)
    with cluster.dovetail():
        ours = cluster.settle()
    assert sum(each.launches for each in cluster.wanted) >= N_LAUNCHED
    texts = [text for each in cluster.wanted for text in differences(ours, theirs, each)]
    unexplained = meant.unexplained(texts, meant.CONTROLLERS)
    assert not unexplained, "\n".join(unexplained)
    assert meant.unused(texts, meant.CONTROLLERS) == []


def _check_that_nothing_drifts(cluster: Cluster, running: Running, theirs: Observed) -> None:
    """Dovetail keeps every claim and instance; a class that changes then drifts its claim alone."""
    joined = [each for each in cluster.wanted if each.launches and each.joins]
    before = {each["InstanceId"] for each in theirs.instances}
    n_calls = len(cluster.world.control.calls())
    until(
        lambda: running.total(_ASKED, method="IsDrifted") >= len(joined),
        "Dovetail has looked at every claim",
    )
    assert _drifted(cluster.plane) == []
    assert {each["InstanceId"] for each in cluster.world.instances()} == before
    actions = {call.action for call in cluster.world.control.calls(after=n_calls)}
    assert actions.isdisjoint({"CreateFleet", "RunInstances", "TerminateInstances"})
    (changed,) = [each for each in cluster.wanted if each.name == _CHANGED]
    patch = json.dumps({"spec": {"tags": {"cost-centre": "8"}}})
    cluster.plane.kubectl("patch", "ec2nodeclass", _CHANGED, "--type=merge", "-p", patch)
    wanted = [claim_of(theirs, changed)["metadata"]["name"]]
    until(lambda: _drifted(cluster.plane) == wanted, "the claim of the changed class has drifted")


def _drifted(plane: ControlPlane) -> list[str]:
    """The names of claims that have drifted."""
    return [
        each["metadata"]["name"]
        for each in objects(plane, "nodeclaims")
        if condition(each, "Drifted").get("status") == "True"
    ]
