"""Are nodes, claims and pools of others left alone, and is their free space used?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.live import TIMEOUT, Running, objects, one, until
from tests.e2e.manifests import POOL, STAGE, Tree, container, node_pool
from tests.e2e.stage import Script, Stage, staged

pytestmark = pytest.mark.xdist_group("controlplane")

SCRIPT = Script("neighbours")
FOREIGN = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
NODE, CLAIM, OTHER_POOL = "by-hand", "of-another", "of-another-provider"
SIZE = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "20Gi"}


def node() -> Tree:
    """A node that somebody else made, in the manner of another provider's."""
    foreign = {"karpenter.k8s.aws/ec2nodeclass": "default", POOL: OTHER_POOL}
    labels = SCRIPT.label | foreign | {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE, "labels": labels},
        "spec": {"providerID": "aws:///zone/i-1"},
    }


def claim() -> Tree:
    """Another provider's claim, for that node."""
    labels = {POOL: OTHER_POOL}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": CLAIM, "labels": labels},
        "spec": {"nodeClassRef": FOREIGN, "requirements": []},
    }


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, running: Running) -> Iterator[Stage]:
    """A cluster of two autoscalers: another's node, claim and pool, and a pool of ours."""
    assert running.process.poll() is None
    with staged(plane, "neighbours") as held:
        foreign = node_pool(OTHER_POOL, labels=SCRIPT.label, template={"nodeClassRef": FOREIGN})
        held.apply(node(), claim(), foreign)
        ready = {"type": "Ready", "status": "True", "reason": "Here", "message": ""}
        status = {"capacity": SIZE, "allocatable": SIZE, "conditions": [ready]}
        patched = json.dumps({"status": status})
        plane.kubectl("patch", "node", NODE, "--subresource=status", "--type=merge", "-p", patched)
        plane.kubectl("taint", "node", NODE, "node.kubernetes.io/not-ready:NoSchedule-")
        told = {"providerID": "aws:///zone/i-1", "nodeName": NODE}
        patched = json.dumps({"status": told})
        words = ("--subresource=status", "--type=merge", "-p", patched)
        plane.kubectl("patch", "nodeclaim", CLAIM, *words)
        held.apply(held.pool())
        try:
            yield held
        finally:
            for kind, name in (("node", NODE), ("nodeclaim", CLAIM), ("nodepool", OTHER_POOL)):
                plane.kubectl("delete", kind, name, TIMEOUT)


def bound(stage: Stage) -> dict[str, str]:
    """Where each pod is."""
    return {found["metadata"]["name"]: found["spec"].get("nodeName", "") for found in stage.pods()}


def untouched(stage: Stage) -> dict[str, Any]:
    """Everything of the neighbour's that we could have changed."""
    kept = one(stage.plane, "node", NODE)
    ours = one(stage.plane, "nodeclaim", CLAIM)
    pool = one(stage.plane, "nodepool", OTHER_POOL)
    return {
        "node": (kept["metadata"]["labels"], kept["metadata"].get("finalizers"), kept["spec"]),
        "claim": (ours["metadata"].get("finalizers"), ours["metadata"]["labels"], ours["status"]),
        "pool": (pool["metadata"].get("annotations"), pool.get("status", {}).get("conditions")),
        "leaving": [found["metadata"].get("deletionTimestamp") for found in (kept, ours, pool)],
    }


def is_leaving(found: dict[str, Any]) -> bool:
    """Whether an object is being deleted."""
    return "deletionTimestamp" in found["metadata"]


def test_room_on_a_neighbours_node_is_used_before_a_node_is_launched(stage: Stage) -> None:
    """What fits there goes there; only what does not gets a node of ours. And when all pods are
    gone, ours goes and the neighbour's stays as it was.
    """
    before = untouched(stage)
    assert before["claim"][0] is None
    assert before["pool"] == (None, None)
    stage.apply(*SCRIPT.pods(2, name="fitting", containers=[container(cpu="1500m")]))
    until(lambda: bound(stage) == {"fitting-0": NODE, "fitting-1": NODE}, "both are bound there")
    stage.apply(*SCRIPT.pods(2, name="more", containers=[container(cpu="1500m")]))
    until(lambda: all(bound(stage).values()), "all pods are bound")
    ours = {found["metadata"]["name"] for found in stage.claims()}
    assert {bound(stage)["more-0"], bound(stage)["more-1"]} == ours
    assert untouched(stage) == before
    stage.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")
    until(lambda: all(is_leaving(found) for found in stage.claims()), "our empty nodes go")
    assert untouched(stage) == before
    assert not stage.events("Node", NODE)
    assert not stage.events("NodeClaim", CLAIM)
    assert not stage.events("NodePool", OTHER_POOL)


def test_a_pool_of_another_provider_launches_nothing(stage: Stage) -> None:
    """Nor is anybody told about it."""
    script = Script("neighbours-only", stage.name)
    pool = node_pool("theirs", labels=script.labels, template={"nodeClassRef": FOREIGN})
    stage.apply(pool, *script.pods(1))
    until(lambda: "FailedScheduling" in stage.events("Pod", "neighbours-only-0"), "it is told")
    assert not objects(stage.plane, "nodeclaims", "-l", f"{STAGE}={script.name}")
    assert "conditions" not in one(stage.plane, "nodepool", "theirs").get("status", {})
