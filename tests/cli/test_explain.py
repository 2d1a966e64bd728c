"""What `dovetail explain` answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dovetail.cli import main

CLUSTER = """
because: A cluster to ask about.
given:
  pools:
    default:
      budgets:
        - {nodes: 100%}
        - {nodes: "0", schedule: 0 0 * * *, duration: 8h, reasons: [Underutilized]}
    fixed: {replicas: 1}
  nodes:
    - name: kept
      pool: default
      type: large
      is_consolidatable: true
      pods:
        - {name: moves, cpu: 1}
        - {name: agent, owner: DaemonSet/agent}
        - {name: precious, cpu: 1, annotations: {karpenter.sh/do-not-disrupt: "true"}}
        - {name: guarded, cpu: 1}
    - {name: full, pool: default, type: small, is_consolidatable: true, pods: [{name: big, cpu: 2}]}
    - {name: spare, pool: default, type: small, is_consolidatable: true}
    - {name: giant, pool: default, cpu: 50, memory: 256Gi, pods: [{name: wide, cpu: 50}]}
    - {name: counted, pool: fixed, type: small, pods: [{name: filler, cpu: 2}]}
    - {name: theirs}
    - {name: leaving, pool: default, type: small, deleting_at: 2026-01-01T00:00:00Z}
  pods:
    - {name: lost, cpu: 1, node_selector: {zone: nowhere}}
    - {name: huge, cpu: 8}
    - {name: done, phase: Succeeded}
  disruption_budgets: [{name: guard, selector: {app: guarded}}]
  policy: {disrupts_for: [Empty, Drifted, Underutilized]}
want: {nodes: 1}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A cluster in which each node has its own story."""
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER, encoding="utf-8")
    return str(path)


@pytest.fixture
def asked(cluster: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """Ask about an object, and have the answer in one line."""

    def answer(what: str, *argv: str) -> str:
        assert main(["explain", what, "-f", cluster, *argv]) == 0
        return " ".join(capsys.readouterr().out.split())

    return answer


def answered(capsys: pytest.CaptureFixture[str], cluster: str, what: str) -> dict[str, Any]:
    """The answer as a script reads it."""
    assert main(["explain", what, "-f", cluster, "-o", "json"]) == 0
    whole: dict[str, Any] = json.loads(capsys.readouterr().out)
    return whole


def test_a_node_says_what_it_is_and_costs_and_who_is_on_it(asked: Any) -> None:
    """And what becomes of each of its pods."""
    said = asked("node/kept")
    for part in (
        "node large on-demand a, ready",
        "managed by NodeClaim kept, NodePool default",
        "price $0.4000 an hour",
        "default/moves cpu 1, memory 128Mi moves to spare",
        "default/agent cpu 100m, memory 128Mi ends with the node (DaemonSet)",
        "default/precious cpu 1, memory 128Mi may not be disrupted",
    ):
        assert part in said


def test_all_that_keeps_a_node_is_told_with_what_would_help(asked: Any) -> None:
    """The pod, the PodDisruptionBudget, and the budget with its end."""
    said = asked("node/kept")
    assert "It stays. The annotation karpenter.sh/do-not-disrupt on pod default/precious" in said
    assert (
        "PodDisruptionBudget default/guard does not allow pod default/guarded to be evicted now."
        in said
    )
    assert "0 of 5 nodes may be disrupted for Underutilized (budgets[1], nodes 0)" in said
    helps = said.partition("What would allow its removal:")[2]
    for part in (
        "remove the annotation karpenter.sh/do-not-disrupt from pod default/precious",
        "let PodDisruptionBudget default/guard allow one more disruption",
        "wait until 2026-01-01T08:00:00Z, or let the budgets of NodePool default allow 3 at once",
    ):
        assert part in helps


def test_a_node_that_goes_says_for_how_much(asked: Any) -> None:
    """Nothing is in its way then."""
    said = asked("nodeclaim/spare")
    assert "It can be removed now, for reason Empty: that saves $0.1000 an hour." in said
    assert "What would allow its removal" not in said


def test_a_node_whose_pods_fit_nowhere_says_what_would_make_them_fit(asked: Any) -> None:
    """As for a pod that waits."""
    said = asked("node/giant")
    assert "Pod default/wide would be unschedulable." in said
    assert "request at most cpu 8 (for pod default/wide)" in said


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ("theirs", "It has no NodeClaim, so Dovetail does not manage it."),
        ("leaving", "It is already being deleted."),
        ("counted", "NodePool fixed is static"),
    ],
)
def test_a_node_that_is_no_candidate_says_so(asked: Any, node: str, why: str) -> None:
    """And nothing that does not matter then."""
    assert f"It stays. {why}" in asked(f"node/{node}")


def test_scripts_have_the_same_as_data(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Field for field."""
    whole = answered(capsys, cluster, "node/kept")
    assert list(whole) == [
        *("node", "nodeClaim", "nodePool", "instanceType", "zone", "capacityType", "pricePerHour"),
        *("allocatable", "goes", "disruption", "kept", "pods", "ifRemoved", "help", "notes"),
    ]
    assert (whole["goes"], whole["pricePerHour"]) == (False, 0.4)
    assert [one["reason"] for one in whole["kept"]] == [
        "PodDoNotDisrupt",
        "PodDisruptionBudget",
        "BudgetExhausted",
    ]
    assert {one["pod"]: one["fate"] for one in whole["pods"]} == {
        "default/agent": "BelongsToTheNode",
        "default/guarded": "Moves",
        "default/moves": "Moves",
        "default/precious": "MayNotBeDisturbed",
    }
    without = whole["ifRemoved"]
    assert {"pod": "default/moves", "to": "spare"} in without["moves"]
    assert (without["unschedulable"], without["savingPerHour"]) == ([], 0.4)
    assert answered(capsys, cluster, "node/leaving")["ifRemoved"] is None


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        ("lost", "It is pending. None of 2 NodePools can launch a node for it"),
        ("huge", "It is pending until a new node is ready: large on-demand"),
        ("big", "It runs on node full, which stays."),
        ("done", "It needs no node."),
    ],
)
def test_a_pod_says_where_it_will_run_or_why_not(asked: Any, pod: str, said: str) -> None:
    """Whether it waits or runs."""
    assert said in asked(f"pod/{pod}")
    assert said in asked(f"pod/{pod}", "-n", "default")


@pytest.mark.parametrize(
    ("cpu", "said"),
    [
        (
            2,
            "fits on node n1 once terminating pods have left it: default/old",
        ),
        (1, "It is pending, and fits on node n1."),
    ],
)
def test_a_pod_says_who_must_leave_before_it_can_run(
    cpu: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless there is room already."""
    given = f"""
because: A pod is ending.
given:
  nodes:
    - name: n1
      type: small
      pool: default
      pods: [{{name: old, cpu: 1, owner: ReplicaSet/web-1, deleting_at: 2026-01-01T00:00:30Z}}]
  pods: [{{name: new, cpu: {cpu}, owner: ReplicaSet/web-2}}]
want: {{nodes: 0}}
"""
    (tmp_path / "cluster.yaml").write_text(given, encoding="utf-8")
    now = ("--now", "2026-01-01T00:00:00Z")
    assert main(["explain", "pod/new", "-f", str(tmp_path / "cluster.yaml"), *now]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_pod_that_waits_has_its_reasons_and_its_remedy(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same as in the plan."""
    whole = answered(capsys, cluster, "pod/lost")
    assert whole["waits"]
    assert whole["unschedulable"]["reasons"][0]["reason"] == "NodeAffinity"
    assert whole["unschedulable"]["fix"]
    assert not answered(capsys, cluster, "pod/done")["waits"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(["node/keep"], "did you mean kept?", id="nearly right"),
        pytest.param(["pod/lost", "-n", "shop"], "there is no Pod shop/lost", id="elsewhere"),
        pytest.param(["deployment/web"], "expected pod/NAME, node/NAME", id="another kind"),
        pytest.param(["node/kept", "--now", "soon"], "--now", id="no time"),
        pytest.param(["nodepool/defalt"], "did you mean default?", id="a pool, nearly"),
        pytest.param(["node/kept", "--journal", "j"], "-f or --journal", id="two sources"),
        pytest.param(["node/kept", "--at", "2026-01-01"], "--journal", id="no past in manifests"),
    ],
)
def test_what_is_not_there_is_one_clear_message(
    cluster: str, capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    """Exit 2, nothing on stdout."""
    assert main(["explain", *argv, "-f", cluster]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_a_pool_says_whether_it_may_grow_and_whom_it_cannot_help(asked: Any) -> None:
    """With what its budgets allow and what it has."""
    said = asked("nodepool/default")
    assert "It launches 1 x large on-demand" in said
    assert "Underutilized: 0 of 5 nodes (budgets[1], nodes 0), 1 already unavailable, until" in said
    assert "kept large on-demand a $0.4000" in said
    assert "default/lost: No instance type satisfies" in said
    assert "It launches no nodes for pods. The NodePool is static" in asked("nodepool/fixed")


def test_a_pool_is_data_for_scripts(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Field for field."""
    whole = answered(capsys, cluster, "nodepool/default")
    assert (whole["mayLaunch"], whole["problem"], whole["exhausted"]) == (True, None, [])
    assert [one["node"] for one in whole["nodes"]] == ["full", "giant", "kept", "leaving", "spare"]
    assert len(whole["launches"]) == 1


def test_without_files_the_cluster_of_the_kubeconfig_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And where there is none, it says where it looked."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["explain", "node/a"]) == 2
    assert "expected --kubeconfig, KUBECONFIG or ~/.kube/config" in capsys.readouterr().err
