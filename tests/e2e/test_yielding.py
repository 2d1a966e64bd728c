"""Does a Deployment that shrinks give up the pods of the node that is to empty?

With the real ReplicaSet controller, and exactly the rights of an installed controller: pods are
marked by way of their status. A budget of no node at all keeps everything else still.
"""

from __future__ import annotations

import pytest

from dovetail import labels
from tests.e2e.live import until
from tests.e2e.manifests import INSTANCE_TYPE, company, container, deployment, requirement
from tests.e2e.stage import Stage

pytestmark = pytest.mark.xdist_group("controlplane")

SMALL = requirement(INSTANCE_TYPE, "In", "c-4x-amd64-linux")
STILL = {
    "consolidationPolicy": "WhenEmptyOrUnderutilized",
    "consolidateAfter": "0s",
    "budgets": [{"nodes": "0"}],
}
N_EACH = 3


def two_nodes(stage: Stage) -> None:
    """Nodes alike, each with a pod that keeps it; one of these is larger."""
    alone = {"affinity": company("podAntiAffinity", "keeper")}
    keepers = [
        one
        for name, cpu in (("small", "100m"), ("large", "1"))
        for one in stage.script.pods(
            1, name=name, labels={"app": "keeper"}, containers=[container(cpu=cpu)], **alone
        )
    ]
    stage.apply(stage.pool(requirements=[SMALL], disruption=STILL), *keepers)
    until(lambda: stage.has_running(2), "both nodes are there")


def marks(stage: Stage) -> dict[str, set[str]]:
    """What pods of the Deployment say on each node."""
    found: dict[str, set[str]] = {}
    for each in stage.pods("-l", "app=web"):
        said = each["metadata"].get("annotations", {}).get(labels.DELETION_COST, "")
        if "deletionTimestamp" not in each["metadata"]:
            found.setdefault(each["spec"].get("nodeName", ""), set()).add(said)
    return found


def test_a_workload_that_shrinks_empties_the_emptiest_node(stage: Stage) -> None:
    """And those that are left on the other say nothing."""
    two_nodes(stage)
    places = {
        each["metadata"]["name"]: each["spec"]["nodeName"]
        for each in stage.pods("-l", "app=keeper")
    }
    emptied, kept = places["small-0"], places["large-0"]
    even = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    spec = stage.spec(containers=[container(cpu="100m")], topologySpreadConstraints=[even])
    stage.apply(deployment("web", 2 * N_EACH, spec))
    until(lambda: stage.has_running(2 * N_EACH, "-l", "app=web"), "all run, on both nodes")
    until(lambda: marks(stage) == {kept: {""}, emptied: {"-9"}}, "those of one node yield")
    stage.kubectl("scale", "deployment/web", f"--replicas={N_EACH}")
    until(lambda: stage.has_running(N_EACH, "-l", "app=web"), "half of them are gone")
    assert set(marks(stage)) == {kept}
    stage.kubectl("scale", "deployment/web", f"--replicas={2 * N_EACH}")
    until(lambda: set(marks(stage)) == {kept, emptied}, "they may come back")
