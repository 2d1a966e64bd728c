"""Does a scale-up end well, whoever ends in the middle of it: the leader, or the API server?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane, start_api
from tests.e2e.conftest import HOME
from tests.e2e.live import TIMEOUT, Objects, Running, condition, controller, until, watching
from tests.e2e.manifests import STAGE, ZONE, container, deployment, requirement, spread
from tests.e2e.stage import Stage, staged

pytestmark = pytest.mark.xdist_group("controlplane")

N_PODS = {"killed": 300, "stopped": 100, "cut-off": 100}
_AWAY_SECONDS = 2


@contextmanager
def replica(plane: ControlPlane, rights: Path, *flags: str) -> Iterator[Running]:
    """A controller beside others."""
    with controller(plane, *flags, kubeconfig=rights, home=HOME) as started:
        yield started
        if started.process.poll() is None:
            assert started.stop() == 0


def claims_made(changes: Objects, stage: Stage) -> bool:
    """Whether a claim of the stage was seen."""
    return any(
        change["object"]["metadata"]["labels"].get(STAGE) == stage.name for change in changes
    )


@contextmanager
def scaling_up(plane: ControlPlane, name: str) -> Iterator[Stage]:
    """In the middle of a scale-up: the first claims are there, and many pods wait."""
    with staged(plane, name) as stage:
        with watching(plane, "nodeclaims") as changes:
            even = [spread(ZONE, "web")]
            spec = stage.spec(containers=[container(cpu="300m")], topologySpreadConstraints=even)
            small = requirement(
                "karpenter.kwok.sh/instance-cpu", "Lt", "5"
            )  # so that there are many
            stage.apply(stage.pool(requirements=[small]), deployment("web", N_PODS[name], spec))
            until(lambda: claims_made(changes.so_far(), stage), "a claim is made")
        yield stage


def check(stage: Stage) -> None:
    """Every pod runs, every claim has its node, and no node was launched in vain."""
    stage.kubectl("rollout", "status", "deployment/web", TIMEOUT)
    # Once, while the API server came back, kubectl said so too soon.
    until(lambda: stage.has_running(N_PODS[stage.name]), "all pods run")
    pods = stage.pods()

    def settled() -> bool:
        return all(condition(one, "Ready").get("status") == "True" for one in stage.claims())

    until(settled, "every claim is ready")
    nodes = {one["metadata"]["name"] for one in stage.nodes()}
    assert {one["status"]["nodeName"] for one in stage.claims()} == nodes
    assert len(stage.claims()) == len(nodes)
    assert {one["spec"]["nodeName"] for one in pods} == nodes


def test_another_replica_goes_on_when_the_leader_is_killed(
    plane: ControlPlane, rights: Path
) -> None:
    """Without a word, in the middle of a scale-up."""
    with replica(plane, rights) as first, replica(plane, rights) as second:
        until(lambda: first.leads() or second.leads(), "one of them leads")
        leader, other = (first, second) if first.leads() else (second, first)
        assert not other.leads()
        with scaling_up(plane, "killed") as stage:
            assert not other.leads()
            leader.kill()
            check(stage)
            assert other.leads()


def test_a_leader_that_is_told_to_stop_hands_over_at_once(
    plane: ControlPlane, rights: Path
) -> None:
    """It ends what it began, exits with 0, and nobody waits for its lease to run out: the lease has
    no holder before the other takes it.
    """
    with replica(plane, rights) as first, watching(plane, "leases", "-n", HOME) as changes:
        until(first.leads, "the first leads")
        n_before = len(changes())
        with replica(plane, rights) as second, scaling_up(plane, "stopped") as stage:
            assert first.stop() == 0
            until(second.leads, "the second leads")
            held = [one["object"]["spec"].get("holderIdentity", "") for one in changes()]
            taken = [holder for holder, _ in groupby(held[n_before - 1 :])]
            assert [bool(holder) for holder in taken] == [True, False, True]
            check(stage)


def test_the_controller_goes_on_after_the_api_server_was_away(
    plane: ControlPlane, rights: Path
) -> None:
    """Killed in the middle of a scale-up, and started again."""
    with (
        replica(plane, rights, "--disable-leader-election", "true") as running,
        scaling_up(plane, "cut-off") as stage,
    ):
        plane.kill("kube-apiserver")
        time.sleep(_AWAY_SECONDS)
        start_api(plane)
        check(stage)
        assert running.process.poll() is None
