"""`dovetail check` as a user starts it, on a live cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from dovetail.cli import main
from tests.cli.clusters import example, serving
from tests.unit.migration import clusters

KWOK = ("check", "--provider", "kwok")


@pytest.fixture(autouse=True)
def _no_other_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever the machine of the test is configured for."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_a_cluster_in_order_ends_with_0(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing is written: reviews of rights are questions."""
    with serving(tmp_path, clusters.healthy()) as cluster:
        code = main([*KWOK, "--kubeconfig", str(cluster.kubeconfig), "--no-forecast"])
        out = capsys.readouterr().out
        assert {path.rpartition("/")[-1] for _, path in cluster.writes} == {
            "selfsubjectaccessreviews"
        }
    assert (code, out) == (0, "Nothing would go wrong.\n")


def test_findings_end_with_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Text for people, fields for scripts, and the same in YAML."""
    trees = [*clusters.healthy(), clusters.webhook(), clusters.karpenter()]
    with serving(tmp_path, trees) as cluster:
        words = [*KWOK, "--kubeconfig", str(cluster.kubeconfig), "--no-forecast"]
        assert main(words) == 1
        text = capsys.readouterr().out
        assert main([*words, "-o", "json"]) == 1
        data = json.loads(capsys.readouterr().out)
        assert main([*words, "-o", "yaml"]) == 1
        assert yaml.safe_load(capsys.readouterr().out) == data
    assert text.splitlines() == [
        (
            "error   ValidatingWebhookConfiguration validation.webhook.karpenter.sh: "
            "webhooks[0].clientConfig.service: validation.webhook.karpenter.sh: service "
            "kube-system/karpenter does not exist: every write that it guards is rejected"
        ),
        (
            "        remedy: kubectl delete validatingwebhookconfiguration "
            "validation.webhook.karpenter.sh, once Karpenter is scaled to 0"
        ),
        (
            "note    Deployment kube-system/karpenter: spec.replicas: 2: Karpenter runs; it "
            "holds the lease until it is scaled to 0"
        ),
        "        remedy: kubectl scale deployment karpenter -n kube-system --replicas 0",
        "",
        "1 error, 1 note.",
    ]
    assert (data["clean"], data["counts"]) == (False, {"error": 1, "warning": 0, "note": 1})
    assert [list(finding) for finding in data["findings"]] == [
        ["severity", "object", "field", "message", "remedy"]
    ] * 2


def test_the_first_decision_and_its_saving_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As a dry run counts them, once nodes may be removed at once."""
    trees = example()
    for tree in trees:
        if tree["kind"] == "NodePool":
            tree["spec"]["disruption"]["consolidateAfter"] = "0s"
    with serving(tmp_path, trees) as cluster:
        words = [*KWOK, "--kubeconfig", str(cluster.kubeconfig)]
        main([*words, "-o", "json"])
        forecast = json.loads(capsys.readouterr().out)["forecast"]
        main(words)
        text = capsys.readouterr().out
    assert forecast["clusterPerHour"] == pytest.approx(0.651539608)
    assert forecast["nodesRemoved"] > 0
    assert forecast["savingPerHour"] > 0
    assert f"{forecast['nodesRemoved']} nodes removed or replaced" in text


def test_what_may_not_be_read_is_a_finding(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An empty list would look like a cluster in order."""
    with serving(tmp_path, clusters.healthy(), forbidden=("leases",)) as cluster:
        words = [*KWOK, "--kubeconfig", str(cluster.kubeconfig), "--no-forecast", "-o", "json"]
        assert main(words) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["severity"], finding["object"]) == ("warning", "Lease")


def test_findings_are_printed_where_no_forecast_is_possible(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Pods are read for the forecast alone."""
    with serving(tmp_path, clusters.healthy(), forbidden=("pods",)) as cluster:
        assert main([*KWOK, "--kubeconfig", str(cluster.kubeconfig)]) == 0
        out, err = capsys.readouterr()
    assert out == "Nothing would go wrong.\n"
    assert f"No forecast: {cluster.url}: cannot read Pods: not yours" in err


def test_no_cluster_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    """As any other command."""
    assert main([*KWOK, "--kubeconfig", "not-there"]) == 2
    assert "not-there" in capsys.readouterr().err
