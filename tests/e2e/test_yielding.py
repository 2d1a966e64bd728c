"""Does a Deployment that shrinks give up the pods of the node that is to empty?

With the real ReplicaSet controller, and exactly the rights of an installed controller: pods are
marked by way of their status. A budget of no node at all keeps everything else still.
"""

from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.model.taints import DISCOURAGED
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
N_PODS = 6


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
    # A mark from before the larger pod was bound would send all pods that follow to one node.
    until(lambda: marked(stage) == {keeper(stage, "small")}, "the emptiest node is marked")


def keeper(stage: Stage, name: str) -> str:
    """The node of this keeper."""
    (pod,) = (each for each in stage.pods() if each["metadata"]["name"].startswith(name))
    node: str = pod["spec"]["nodeName"]
    return node


def marked(stage: Stage) -> set[str]:
    """The nodes that new pods should keep off."""
    return {
        each["metadata"]["name"]
        for each in stage.nodes()
        if any(taint["key"] == DISCOURAGED.key for taint in each["spec"].get("taints", []))
    }


def marks(stage: Stage) -> dict[str, list[str]]:
    """What each pod of the Deployment says, by node."""
    found: dict[str, list[str]] = {}
    for each in stage.pods("-l", "app=web"):
        said = each["metadata"].get("annotations", {}).get(labels.DELETION_COST, "")
        if "deletionTimestamp" not in each["metadata"]:
            found.setdefault(each["spec"].get("nodeName", ""), []).append(said)
    return found


def test_a_workload_that_shrinks_empties_the_emptiest_node(stage: Stage) -> None:
    """The pods that say that they cost least are those that go."""
    two_nodes(stage)
    stage.apply(deployment("web", N_PODS, stage.spec(containers=[container(cpu="500m")])))
    until(lambda: stage.has_running(N_PODS, "-l", "app=web"), "all of them run")
    until(lambda: _sorted_out(stage) == [[""], True], "those of one node yield")
    (kept,) = (node for node, said in marks(stage).items() if set(said) == {""})
    n_kept = len(marks(stage)[kept])
    stage.kubectl("scale", "deployment/web", f"--replicas={n_kept}")
    until(lambda: stage.has_running(n_kept, "-l", "app=web"), "the others are gone")
    assert set(marks(stage)) == {kept}
    stage.kubectl("scale", "deployment/web", f"--replicas={N_PODS}")
    until(lambda: len(marks(stage)) == 2, "and may come back")


def _sorted_out(stage: Stage) -> list[object]:
    """What is said on one of two nodes, and whether all on the other say one and the same cost."""
    found = sorted((sorted(set(said)) for said in marks(stage).values()), key=str)
    is_marked = len(found) == 2 and len(found[1]) == 1 and found[1][0].startswith("-")
    return [found[0] if found else [], is_marked]
