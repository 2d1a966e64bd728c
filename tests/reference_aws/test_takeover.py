"""Dovetail takes over a cluster from the reference's own controller, and gives it back."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ALONE
from tests.e2e.ec2_world import CREDENTIALS, Ec2World, ec2_world
from tests.e2e.live import controller, until
from tests.reference_aws import takeover
from tests.reference_aws.side_by_side import clear, reference
from tests.reference_aws.takeover import N_GUESTS, N_NODES, NAMESPACE

pytestmark = pytest.mark.xdist_group("controlplane")

CHANGING = {"CreateFleet", "RunInstances", "TerminateInstances"}
N_MORE = 2
_DRIFT_ASKED = "karpenter_cloudprovider_duration_seconds_count"


@pytest.fixture
def world(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ec2World]:
    """An EC2 of this test."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with ec2_world(plane) as started:
        yield started
        plane.kubectl("delete", "deployments", "-n", NAMESPACE, "--all")
        clear(plane, started, namespace=NAMESPACE)


def test_a_cluster_is_taken_over_and_given_back(plane: ControlPlane, world: Ec2World) -> None:
    """Both ways no node drifts, nothing is launched, terminated or evicted, and all labels,
    annotations, hashes, tags and launch templates stay; pods that come later get nodes.
    """
    with reference(plane, world):
        takeover.create(plane)
    before = takeover.facts(plane, world)
    assert len(before["instances"]) >= N_NODES
    flags = (*ALONE, "--disable-dry-run", "true", *world.flags)
    n_calls = len(world.control.calls())
    with controller(plane, *flags, environment=world.environment, provider="aws") as running:
        until(
            lambda: running.total(_DRIFT_ASKED, method="IsDrifted") >= len(before["claims"]),
            "Dovetail has looked at every claim for drift",
        )
        assert takeover.facts(plane, world) == before
        assert _changes(world, n_calls) == []
        _scale(plane, "web", 20 + N_MORE)
        takeover.wait_for_pods(plane, N_NODES + N_GUESTS + N_MORE)
    ours = takeover.facts(plane, world)
    assert set(before["templates"]) <= set(ours["templates"])
    assert before["pods"].items() <= ours["pods"].items()
    assert len(ours["instances"]) == len(before["instances"]) + N_MORE
    n_calls = len(world.control.calls())
    with reference(plane, world) as port:
        until(
            lambda: _total(port, _DRIFT_ASKED, 'method="IsDrifted"') >= len(ours["claims"]),
            "the reference has looked at every claim for drift",
        )
        assert takeover.facts(plane, world) == ours
    assert _changes(world, n_calls) == []


def _changes(world: Ec2World, after: int) -> list[str]:
    """Calls that launch or end instances, since the one of this number."""
    return [call.action for call in world.control.calls(after=after) if call.action in CHANGING]


def _scale(plane: ControlPlane, name: str, replicas: int) -> None:
    patch = json.dumps({"spec": {"replicas": replicas}})
    plane.kubectl("patch", "deployment", name, "-n", NAMESPACE, "--type=merge", "-p", patch)


def _total(port: int, name: str, label: str) -> float:
    """The sum of a metric of the reference over all that have this label."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith(name + "{") and label in line
    )
