"""Do pods with volumes get nodes where their volumes are, and do volumes hold nodes back?"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.disks import DRIVER, claim, provisioning, storage_class
from tests.e2e.live import TIMEOUT, Running, condition, one, until
from tests.e2e.manifests import HOME, ZONE, deployment, spread
from tests.e2e.stage import Script, Stage, staged

pytestmark = pytest.mark.xdist_group("controlplane")

N_PODS = 3
SCRIPT = Script("volumes")
MOUNTED = {"name": "data", "mountPath": "/data"}


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, running: Running) -> Iterator[Stage]:
    """A database whose pods have a disk each, in as many zones."""
    assert running.process.poll() is None
    with staged(plane, "volumes") as held, provisioning(plane, "volumes", held.labels):
        spec = held.spec(topologySpreadConstraints=[spread(ZONE, "db")])
        spec["containers"][0]["volumeMounts"] = [MOUNTED]
        database = deployment("db", N_PODS, spec, kind="StatefulSet")
        database["spec"] |= {
            "serviceName": "db",
            "podManagementPolicy": "Parallel",
            "volumeClaimTemplates": [claim("data")],
        }
        held.apply(storage_class(held.labels), held.pool(), database)
        until(lambda: held.has_running(N_PODS, "-l", "app=db"), "the database runs")
        yield held
    plane.kubectl("delete", "pv,storageclass", "-l", f"{HOME}=volumes", "--wait=false")


def zones(stage: Stage) -> dict[str, str]:
    """The zone of each pod of the database."""
    by_node = {node["metadata"]["name"]: node["metadata"]["labels"][ZONE] for node in stage.nodes()}
    found = stage.pods("-l", "app=db")
    return {pod["metadata"]["name"]: by_node[pod["spec"]["nodeName"]] for pod in found}


def test_a_volume_that_is_still_attached_holds_its_node(stage: Stage) -> None:
    """Drained, but there, until the driver has detached it."""
    (volume,) = [
        pvc["spec"]["volumeName"]
        for pvc in json.loads(stage.kubectl("get", "pvc", "-o", "json"))["items"]
        if pvc["metadata"]["name"] == "data-db-0"
    ]
    node = one(stage.plane, "pod", "db-0", "-n", stage.name)["spec"]["nodeName"]
    attached = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "held-by-the-driver"},
        "spec": {
            "attacher": DRIVER,
            "nodeName": node,
            "source": {"persistentVolumeName": volume},
        },
    }
    stage.apply(attached)
    stage.plane.kubectl("delete", "node", node, "--wait=false")

    def waits() -> bool:
        held = condition(one(stage.plane, "nodeclaim", node), "VolumesDetached")
        return held.get("reason") == "AwaitingVolumeDetachment"

    until(waits, "the claim says that it waits for a volume")
    found = one(stage.plane, "nodeclaim", node)
    assert condition(found, "Drained")["status"] == "True"
    assert condition(found, "VolumesDetached")["status"] == "Unknown"
    until(lambda: "AwaitingVolumeDetachment" in stage.events("Node", node), "so does the node")
    assert one(stage.plane, "node", node)
    stage.plane.kubectl("delete", "volumeattachment", "held-by-the-driver")
    words = ("wait", "--for=delete", f"node/{node}", f"nodeclaim/{node}", TIMEOUT)
    stage.plane.kubectl(*words)
    until(lambda: stage.has_running(N_PODS, "-l", "app=db"), "the database runs again")


def test_pods_come_back_to_the_zones_of_their_volumes(stage: Stage) -> None:
    """All nodes gone, new ones where the disks are."""
    before = zones(stage)
    assert len(set(before.values())) == N_PODS
    stage.kubectl("scale", "statefulset", "db", "--replicas=0")
    # Not left to emptiness, which takes its time.
    stage.plane.kubectl("delete", "nodeclaims", "-l", f"{HOME}={stage.name}", "--wait=false")
    until(lambda: not (stage.nodes() or stage.claims()), "no node is left")
    stage.kubectl("scale", "statefulset", "db", f"--replicas={N_PODS}")
    until(lambda: stage.has_running(N_PODS, "-l", "app=db"), "the database runs again")
    assert zones(stage) == before


def test_a_pod_whose_claim_was_deleted_is_told_so_once(stage: Stage, running: Running) -> None:
    """An event that names the claim, no node, and no deciding over and over."""
    script = Script("unclaimed", stage.name)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "lost"}}
    gates = [{"name": "dovetail.test/gate"}]
    (pod,) = script.pods(1, volumes=[volume], schedulingGates=gates)
    stage.apply(script.pool(), claim("lost"), pod)
    stage.kubectl("delete", "pvc", "lost", TIMEOUT)
    opened = json.dumps({"spec": {"schedulingGates": None}})
    stage.kubectl("patch", "pod", "unclaimed-0", "--type=merge", "-p", opened)
    until(lambda: "FailedScheduling" in stage.events("Pod", "unclaimed-0"), "the pod is told")
    until(running.is_quiet, "decisions about it end")
    (message,) = stage.events("Pod", "unclaimed-0")["FailedScheduling"]
    assert "volumes/lost" in message
    launched = [found["metadata"]["labels"]["dovetail.test/stage"] for found in stage.claims()]
    assert "unclaimed" not in launched
