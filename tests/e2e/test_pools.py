"""What becomes of pools that are deleted, changed, full, broken or without their node class? And of
pods that no pool can help? Everything is applied at once and judged one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.live import TIMEOUT, Objects, Running, condition, objects, one, until
from tests.e2e.manifests import (
    CAPACITY_TYPE,
    HOSTNAME,
    STAGE,
    ZONE,
    Tree,
    container,
    deployment,
    node_class,
    requirement,
)
from tests.e2e.stage import Script, Stage, staged

pytestmark = pytest.mark.xdist_group("controlplane")

HOME = "pools"
LARGE = [container(cpu="800m")]  # of which one fits the smallest machine
TAINT = {"key": "dovetail.test/twice", "effect": "NoSchedule"}
NO_BUDGET = {
    "consolidateAfter": "Never",
    "budgets": [{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "100%"}],
}
LEFT, CHANGED, FULL, LOST, HELPED, HOPELESS = (
    Script(name, HOME) for name in ("left", "changed", "full", "lost", "helped", "hopeless")
)
# What the schema lets through, and the field that the controller must name.
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "tainted-twice": (
        {"template": {"taints": [TAINT], "startupTaints": [TAINT]}},
        "spec.template.spec.startupTaints[0]",
    ),
    "of-no-capacity": (
        {"requirements": [requirement(CAPACITY_TYPE, "In", "borrowed")]},
        "spec.template.spec.requirements[2].values",
    ),
    "of-no-resource": ({"limits": {"no name!": "1"}}, "spec.limits.no name!"),
}


def everything() -> list[Tree]:
    """All that is applied."""
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "not-there"}
    apart = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "left"}}}
    terms = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    return [
        *(LEFT.pool(), deployment("left", 2, LEFT.spec(affinity=terms))),
        *(CHANGED.pool(disruption=NO_BUDGET), *CHANGED.pods(1)),
        *(FULL.pool(limits={"cpu": "1"}), *FULL.pods(2, containers=LARGE)),
        *(LOST.pool(template={"nodeClassRef": reference}), *LOST.pods(1)),
        *(HELPED.pool(name, **spec) for name, (spec, _) in BROKEN.items()),
        *(HELPED.pool(), *HELPED.pods(2)),
        *(HOPELESS.pool(), *HOPELESS.pods(1, nodeSelector={ZONE: "test-zone-z"})),
    ]


@pytest.fixture(scope="module")
def applied(plane: ControlPlane, running: Running) -> Iterator[Stage]:
    """Everything applied."""
    assert running.process.poll() is None
    with staged(plane, HOME) as held:
        held.apply(*everything())
        yield held


def pods(applied: Stage, script: Script, phase: str) -> int:
    """How many pods of a script are in a phase."""
    found = applied.pods("-l", f"app={script.name}")
    return [each["status"]["phase"] for each in found].count(phase)


def claims(applied: Stage, script: Script) -> Objects:
    """The claims of a script."""
    return objects(applied.plane, "nodeclaims", "-l", f"{STAGE}={script.name}")


def pool(applied: Stage, name: str) -> dict[str, Any]:
    """A pool."""
    return one(applied.plane, "nodepool", name)


def test_a_pool_counts_what_its_nodes_have(applied: Stage) -> None:
    """In its status, where users and dashboards look for it."""
    until(lambda: pods(applied, LEFT, "Running") == 2, "the pods run")
    until(lambda: pool(applied, "left")["status"].get("nodes") == 2, "the nodes are counted")
    status = pool(applied, "left")["status"]
    assert status["resources"]["nodes"] == "2"
    assert status["resources"]["cpu"] == "2"
    assert status["resources"]["memory"] == "4Gi"
    for kind in ("Ready", "ValidationSucceeded", "NodeClassReady", "NodeRegistrationHealthy"):
        assert condition({"status": status}, kind)["status"] == "True"
    columns = applied.plane.kubectl("get", "nodepool", "left").splitlines()[1].split()
    assert columns[:4] == ["left", "default", "2", "True"]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_pool_is_told_which_field_is_wrong(applied: Stage, name: str) -> None:
    """And is not used."""
    until(lambda: condition(pool(applied, name), "ValidationSucceeded"), f"{name} is judged")
    found = pool(applied, name)
    held = condition(found, "ValidationSucceeded")
    assert (held["status"], held["reason"]) == ("False", "NodePoolValidationFailed")
    assert BROKEN[name][1] in held["message"]
    assert condition(found, "Ready")["status"] == "False"


def test_beside_broken_pools_the_others_go_on(applied: Stage) -> None:
    """Pods that any of them could have run on the one that works."""
    until(lambda: pods(applied, HELPED, "Running") == 2, "the pods run")
    found = {
        each["metadata"]["labels"]["karpenter.sh/nodepool"] for each in claims(applied, HELPED)
    }
    assert found == {"helped"}


def test_a_pool_whose_node_class_comes_later_waits_for_it(applied: Stage) -> None:
    """Not ready, and says why; then ready, and its pod runs."""
    until(lambda: condition(pool(applied, "lost"), "NodeClassReady"), "the pool is judged")
    found = pool(applied, "lost")
    held = condition(found, "NodeClassReady")
    assert (held["status"], held["reason"]) == ("False", "NodeClassNotFound")
    assert "not-there" in held["message"]
    assert condition(found, "Ready")["status"] == "False"
    assert not claims(applied, LOST)
    until(lambda: "FailedScheduling" in applied.events("Pod", "lost-0"), "the pod is told")
    applied.apply(node_class("not-there"))
    try:
        applied.plane.kubectl("wait", "--for=condition=Ready", "nodepool/lost", TIMEOUT)
        until(lambda: pods(applied, LOST, "Running") == 1, "the pod runs")
    finally:
        applied.plane.kubectl("delete", "kwoknodeclass", "not-there", "--wait=false")


def test_a_full_pool_goes_on_when_its_limits_are_raised(applied: Stage) -> None:
    """One node, and a pod that is told why it waits; then a second node."""
    until(lambda: pods(applied, FULL, "Running") == 1, "one of the pods runs")
    assert len(claims(applied, FULL)) == 1
    raised = json.dumps({"spec": {"limits": {"cpu": "2"}}})
    applied.plane.kubectl("patch", "nodepool", "full", "--type=merge", "-p", raised)
    until(lambda: pods(applied, FULL, "Running") == 2, "both pods run")
    assert len(claims(applied, FULL)) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}, "NodePoolDrifted"),
        ({"spec": {"template": {"metadata": {"annotations": None}}}}, ""),
    ],
    ids=["changed", "changed back"],
)
def test_claims_of_a_changed_pool_have_drifted(
    applied: Stage, change: dict[str, object], reason: str
) -> None:
    """And no longer, once it is as it was."""
    until(lambda: pods(applied, CHANGED, "Running") == 1, "the pod runs")
    words = ("patch", "nodepool", "changed", "--type=merge", "-p", json.dumps(change))
    applied.plane.kubectl(*words)

    def drift() -> str:
        (claim,) = claims(applied, CHANGED)
        return str(condition(claim, "Drifted").get("reason", ""))

    until(lambda: drift() == reason, f"the claim has drifted: {reason!r}")


def test_a_pod_that_nothing_can_help_is_told_so_once(applied: Stage, running: Running) -> None:
    """An event that names what cannot be met, no node, and no deciding over and over."""
    until(lambda: "FailedScheduling" in applied.events("Pod", "hopeless-0"), "the pod is told")
    until(running.is_quiet, "decisions about it end")
    (message,) = applied.events("Pod", "hopeless-0")["FailedScheduling"]
    assert "node selector" in message
    assert f"choose {ZONE} among test-zone-a" in message
    assert not claims(applied, HOPELESS)


def test_a_deleted_pool_takes_its_nodes_with_it(applied: Stage) -> None:
    """Drained first: their pods are evicted, and wait for another pool."""
    until(lambda: pods(applied, LEFT, "Running") == 2, "the pods run")
    nodes = [each["status"]["nodeName"] for each in claims(applied, LEFT)]
    applied.plane.kubectl("delete", "nodepool", "left", TIMEOUT)
    until(lambda: not claims(applied, LEFT), "the claims are gone")
    found = applied.plane.kubectl("get", "nodes", "-o", "name")
    assert not [name for name in nodes if f"node/{name}\n" in found]
    evicted = [each for each in applied.events("Pod").get("Evicted", ()) if each]
    assert len(evicted) >= 2
    assert pods(applied, LEFT, "Pending") == 2
