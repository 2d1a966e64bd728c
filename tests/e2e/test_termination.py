"""How do nodes leave that are deleted under their pods? With budgets and deadlines kept.

Everything is applied at once, all nodes are deleted at once as a user would, and judged one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.history import fewest_ready
from tests.e2e.live import Objects, Running, condition, objects, until, watching
from tests.e2e.manifests import STAGE, Tree, budget, company, deployment, pod
from tests.e2e.stage import Script, Stage, staged

pytestmark = pytest.mark.xdist_group("controlplane")

HOME = "termination"
PROTECTED = {"karpenter.sh/do-not-disrupt": "true"}
TAINT = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
BUDGETED, HELD, GRACED, BLOCKED, TIERED = (
    Script(name, HOME) for name in ("budgeted", "held", "graced", "blocked", "tiered")
)
N_REPLICAS = 3


def everything() -> list[Tree]:
    """All that is applied."""
    apart, together = company("podAntiAffinity", "budgeted"), company("podAffinity", "tiered")
    protected = HELD.spec()
    return [
        BUDGETED.pool(),
        budget("budgeted", minAvailable=N_REPLICAS - 1),
        deployment("budgeted", N_REPLICAS, BUDGETED.spec(affinity=apart)),
        HELD.pool(),
        pod("held-0", protected, labels={"app": "held"}, annotations=PROTECTED),
        GRACED.pool(template={"terminationGracePeriod": "10s"}),
        budget("graced", maxUnavailable=0),
        pod("graced-0", GRACED.spec(), labels={"app": "graced"}, annotations=PROTECTED),
        *(BLOCKED.pool(), budget("blocked", maxUnavailable=0), *BLOCKED.pods(1)),
        TIERED.pool(),
        *TIERED.pods(1, name="plain", affinity=together),
        *TIERED.pods(
            1, name="critical", affinity=together, priorityClassName="system-cluster-critical"
        ),
    ]


Changes = Callable[[], Objects]


@pytest.fixture(scope="module")
def leaving(plane: ControlPlane, running: Running) -> Iterator[tuple[Stage, Changes]]:
    """Everything runs, and then every node is deleted: half of them as Nodes, half as claims."""
    assert running.process.poll() is None
    with staged(plane, HOME) as held, watching(plane, "pods", "-n", HOME) as changes:
        held.apply(*everything())
        until(lambda: held.has_running(N_REPLICAS + 5), "all pods run")
        changes()  # the watch has seen them run
        names = sorted(each["metadata"]["name"] for each in held.nodes())
        plane.kubectl("delete", "nodes", *names[::2], "--wait=false")
        plane.kubectl("delete", "nodeclaims", *names[1::2], "--wait=false")
        yield held, changes


def nodes(stage: Stage, script: Script, *, is_leaving: bool = True) -> Objects:
    """The nodes of a script that are on their way out, or the others."""
    found = objects(stage.plane, "nodes", "-l", f"{STAGE}={script.name}")
    return [one for one in found if ("deletionTimestamp" in one["metadata"]) == is_leaving]


def is_gone(stage: Stage, script: Script) -> bool:
    """Whether nothing that was deleted is left of a script: neither Node nor claim."""
    claims = objects(stage.plane, "nodeclaims", "-l", f"{STAGE}={script.name}")
    leaving = [one for one in claims if "deletionTimestamp" in one["metadata"]]
    return not leaving and not nodes(stage, script)


def test_a_protected_pod_holds_its_node(leaving: tuple[Stage, Changes]) -> None:
    """Tainted and told about, but alive, until nobody protects the pod any more."""
    stage, _ = leaving
    until(lambda: nodes(stage, HELD), "the node is deleted")
    (node,) = nodes(stage, HELD)
    name = node["metadata"]["name"]
    until(lambda: "FailedDraining" in stage.events("Node", name), "the node says that it waits")
    (node,) = nodes(stage, HELD)
    assert TAINT["key"] in {one["key"] for one in node["spec"]["taints"]}
    excluded = "node.kubernetes.io/exclude-from-external-load-balancers"
    assert node["metadata"]["labels"][excluded] == "karpenter"
    (claim,) = objects(stage.plane, "nodeclaims", "-l", f"{STAGE}=held")
    held = condition(claim, "Drained")
    assert (held["status"], held["reason"]) == ("Unknown", "Draining")
    stage.kubectl("annotate", "pod", "held-0", "karpenter.sh/do-not-disrupt-")
    until(lambda: is_gone(stage, HELD), "the node is gone")
    assert "Evicted" in stage.events("Pod", "held-0")


def test_a_budget_holds_a_node_until_it_allows_it(leaving: tuple[Stage, Changes]) -> None:
    """The eviction API says no, and is asked again."""
    stage, _ = leaving
    (name,) = [one["metadata"]["name"] for one in nodes(stage, BLOCKED)]

    def refused() -> bool:
        told = stage.events("Node", name).get("FailedDraining", ())
        return any("blocked-0" in one or "budget" in one.lower() for one in told)

    until(refused, "the node says which pod may not go")
    assert [one["status"]["phase"] for one in stage.pods("-l", "app=blocked")] == ["Running"]
    stage.kubectl("delete", "pdb", "blocked", "--wait=false")
    until(lambda: is_gone(stage, BLOCKED), "the node is gone")


def test_a_deadline_ends_what_a_budget_and_a_protection_hold(
    leaving: tuple[Stage, Changes],
) -> None:
    """The pod is deleted in time for its node, and everybody is told."""
    stage, _ = leaving
    until(lambda: is_gone(stage, GRACED), "the node is gone")
    assert "Disrupted" in stage.events("Pod", "graced-0")
    told = stage.events("NodeClaim") | stage.events("Node")
    assert "TerminationGracePeriodExpiring" in told
    assert not stage.pods("-l", "app=graced")


def test_critical_pods_leave_last(leaving: tuple[Stage, Changes], running: Running) -> None:
    """One tier after the other."""
    stage, _ = leaving
    until(lambda: is_gone(stage, TIERED), "the node is gone")
    evicted = [one["pod"] for one in running.lines() if one["message"] == "evicted pod"]
    mine = [one for one in evicted if one in (f"{HOME}/plain-0", f"{HOME}/critical-0")]
    assert mine == [f"{HOME}/plain-0", f"{HOME}/critical-0"]


def test_a_budget_is_kept_while_all_nodes_of_an_app_leave(leaving: tuple[Stage, Changes]) -> None:
    """At no moment are fewer pods available than it asks for; and new nodes replace the old."""
    stage, changes = leaving
    until(lambda: is_gone(stage, BUDGETED), "the nodes are gone")
    until(lambda: stage.has_running(N_REPLICAS, "-l", "app=budgeted"), "the replacements run")
    assert len(nodes(stage, BUDGETED, is_leaving=False)) == N_REPLICAS
    assert fewest_ready(changes(), "budgeted", at_first=N_REPLICAS) == N_REPLICAS - 1
