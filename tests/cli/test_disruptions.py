"""What `dovetail plan` shows of nodes that nobody needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dovetail.cli import main

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidateAfter: 30s, budgets: [{nodes: "1"}]}
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
"""
MACHINE = """
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: claim-NAME
  labels: {karpenter.sh/nodepool: default}
spec:
  nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
  requirements: []
status:
  providerID: kwok://NAME
  nodeName: NAME
  conditions:
    - {type: Initialized, status: "True"}
    - {type: Consolidatable, status: "True"}
---
apiVersion: v1
kind: Node
metadata:
  name: NAME
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/registered: "true"
    karpenter.sh/initialized: "true"
    karpenter.sh/capacity-type: on-demand
    topology.kubernetes.io/zone: test-zone-a
    node.kubernetes.io/instance-type: c-4x-amd64-linux
spec: {providerID: kwok://NAME}
status:
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
"""


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """Manifests of two empty nodes, of which one may go at a time."""
    path = tmp_path / "cluster.yaml"
    path.write_text(POOL + MACHINE.replace("NAME", "n1") + MACHINE.replace("NAME", "n2"))
    return str(path)


def planned(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """The plan as a script reads it."""
    assert main(["plan", "-o", "json", "--now", "2026-01-01T00:00:00Z", *argv]) == 0
    whole: dict[str, Any] = json.loads(capsys.readouterr().out)
    return whole


def test_an_empty_node_may_go_at_once(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Offline nobody waits to see it confirmed, but budgets hold."""
    whole = planned(capsys, "-f", cluster)
    [gone] = whole["disruptions"]
    assert (gone["reason"], gone["nodes"]) == ("Empty", ["n1"])
    assert (gone["replacements"], gone["pods"]) == ([], [])
    assert gone["savingPerHour"] > 0
    cost = whole["cost"]
    assert cost["clusterBeforePerHour"] == pytest.approx(2 * gone["savingPerHour"])
    assert cost["clusterAfterPerHour"] == pytest.approx(gone["savingPerHour"])
    assert [(one["node"], one["reason"]) for one in whole["blocked"]] == [("n2", "BudgetExhausted")]


def test_nothing_goes_where_nothing_is_to_be_disrupted(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """--no-disrupt plans only for pods that wait."""
    whole = planned(capsys, "-f", cluster, "--no-disrupt")
    assert (whole["disruptions"], whole["blocked"]) == ([], [])
    cost = whole["cost"]
    assert cost["clusterAfterPerHour"] == cost["clusterBeforePerHour"]


def test_a_person_sees_which_nodes_go_and_why_others_stay(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In two tables."""
    assert main(["plan", "-f", cluster]) == 0
    text = capsys.readouterr().out
    assert "Nodes that can be removed" in text
    assert "Nodes whose removal is blocked" in text
    assert "allow 1 of its 2 nodes" in text


POD = """
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  nodeName: n1
  containers: [{name: a, image: a, resources: {requests: {cpu: "1", memory: 1Gi}}}]
status: {phase: Running}
"""
DRIFTED = '    - {type: Drifted, status: "True", lastTransitionTime: "2025-12-31T00:00:00Z"}'


@pytest.mark.parametrize("reason", ["Drifted", "Underutilized"])
def test_what_comes_instead_is_shown_with_what_is_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    """Replacements stand only in their disruption; savings are net of them."""
    machine = MACHINE.replace("NAME", "n1")
    if reason == "Drifted":
        quiet = '    - {type: Consolidatable, status: "True"}'
        machine = machine.replace(quiet, f"{quiet}\n{DRIFTED}")
    path = tmp_path / "cluster.yaml"
    path.write_text(POOL + machine + POD)
    whole = planned(capsys, "-f", str(path))
    [gone] = whole["disruptions"]
    [new] = gone["replacements"]
    assert (gone["reason"], gone["nodes"]) == (reason, ["n1"])
    assert gone["pods"] == new["pods"] == ["default/web"]
    assert whole["nodeClaims"] == []
    cost = whole["cost"]
    assert cost["newPerHour"] == 0
    assert cost["clusterAfterPerHour"] == pytest.approx(new["pricePerHour"])
    assert gone["savingPerHour"] == pytest.approx(
        cost["clusterBeforePerHour"] - new["pricePerHour"]
    )


def test_scripts_are_told_who_moves_where_and_why_every_other_node_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of a node that is not ours."""
    theirs = """
---
apiVersion: v1
kind: Node
metadata: {name: theirs}
status:
  capacity: {cpu: "1", memory: 1Gi, pods: "110"}
  allocatable: {cpu: "1", memory: 1Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
"""
    path = tmp_path / "cluster.yaml"
    path.write_text(POOL + MACHINE.replace("NAME", "n1") + POD + theirs)
    whole = planned(capsys, "-f", str(path))
    [gone] = whole["disruptions"]
    assert gone["moves"] == [{"pod": "default/web", "to": "theirs"}]
    [stays] = whole["staying"]
    assert (stays["node"], stays["reason"], stays["until"]) == ("theirs", "NoNodeClaim", None)
    assert stays["fix"] == "remove it with the tool that created it"


def test_a_wide_table_has_every_node_that_stays(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what would let it go."""
    assert main(["plan", "-f", cluster, "-o", "wide"]) == 0
    text = capsys.readouterr().out
    assert "Nodes that stay" in text
    assert "no pods" in text
    assert "allow 2 at once for reason Empty" in " ".join(text.split())


OVERLAY = """
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: bargain}
spec:
  requirements:
    - {key: node.kubernetes.io/instance-type, operator: In, values: [m-4x-amd64-linux]}
  price: "0.001"
"""


def test_an_overlay_decides_what_is_worth_moving(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an overlay makes cheap is moved to, and nothing is without it."""
    full = POD.replace('cpu: "1"', "cpu: 3500m")
    asked = "[{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]"
    cluster = POOL.replace("requirements: []", f"requirements: {asked}")
    cluster += MACHINE.replace("NAME", "n1") + full
    path = tmp_path / "cluster.yaml"
    path.write_text(cluster)
    assert planned(capsys, "-f", str(path))["disruptions"] == []
    path.write_text(cluster + OVERLAY)
    [gone] = planned(capsys, "-f", str(path))["disruptions"]
    [new] = gone["replacements"]
    assert (new["instanceType"], new["pricePerHour"]) == ("m-4x-amd64-linux", 0.001)
