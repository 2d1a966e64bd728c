"""Is room kept for a capacity buffer on a real control plane, and does it say so in its status?"""

from __future__ import annotations

import pytest

from tests.e2e.live import condition, one, until
from tests.e2e.manifests import Tree, container
from tests.e2e.stage import Stage

pytestmark = pytest.mark.xdist_group("controlplane")


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    """What is off by default."""
    return ("--feature-gates", "CapacityBuffer=true")


def template(stage: Stage) -> Tree:
    """What room is kept for."""
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "spare"},
        "template": {
            "metadata": {"labels": {"app": "spare"}},
            "spec": stage.spec(containers=[container(cpu="700m")]),
        },
    }


BUFFER: Tree = {
    "apiVersion": "autoscaling.x-k8s.io/v1beta1",
    "kind": "CapacityBuffer",
    "metadata": {"name": "spare"},
    "spec": {"podTemplateRef": {"name": "spare"}, "replicas": 1},
}


def reason(stage: Stage, kind: str) -> str:
    """Why a condition of the buffer is as it is."""
    found = one(stage.plane, "capacitybuffer", "spare", "-n", stage.name)
    held = condition(found, kind)
    return str(held["reason"]) if held else ""


def test_room_is_bought_for_a_buffer_and_taken_by_a_pod(stage: Stage) -> None:
    """Its status says at each step what is missing."""
    stage.apply(stage.pool(), BUFFER)
    until(lambda: reason(stage, "ReadyForProvisioning") == "PodTemplateNotFound", "it is missed")
    assert reason(stage, "Provisioning") == "NotReadyForProvisioning"
    stage.apply(template(stage))
    until(lambda: reason(stage, "Provisioning") == "FitsExistingCapacity", "its room is there")
    found = one(stage.plane, "capacitybuffer", "spare", "-n", stage.name)
    assert condition(found, "ReadyForProvisioning")["reason"] == "Resolved"
    assert found["status"]["replicas"] == 1
    assert found["status"]["podTemplateRef"] == {"name": "spare"}
    assert found["status"]["podTemplateGeneration"] == 1
    (node,) = stage.nodes()
    stage.apply(*stage.script.pods(1, containers=[container(cpu="700m")]))
    until(lambda: stage.has_running(1), "the pod runs")
    (pod,) = stage.pods()
    assert pod["spec"]["nodeName"] == node["metadata"]["name"]
    until(lambda: len(stage.nodes()) == 2, "room is bought again")
    until(lambda: reason(stage, "Provisioning") == "FitsExistingCapacity", "it is there again")
    stage.kubectl("delete", "capacitybuffer", "spare")
