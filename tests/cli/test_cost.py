"""`dovetail cost` as a user starts it: on manifests and on a live cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.cli import main
from tests.cli.clusters import EXAMPLE, example, serving, waiting_pod

NOW = ("--now", "2026-03-02T06:00:00Z")
OFFLINE = ("-f", str(EXAMPLE), *NOW)


def read(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The report as a script reads it."""
    assert main(["cost", "-o", "json", *words]) == 0
    whole: dict[str, Any] = json.loads(capsys.readouterr().out)
    return whole


def test_every_breakdown_adds_up_to_what_the_nodes_cost(capsys: pytest.CaptureFixture[str]) -> None:
    """The row of what is unused included."""
    whole = read(capsys, *OFFLINE, "--label", "app")
    assert whole["pricePerHour"] == pytest.approx(0.651539608)
    assert whole["pricePerMonth"] == pytest.approx(0.651539608 * 730)
    for name in ("pools", "namespaces", "workloads", "labels"):
        assert sum(row["pricePerHour"] for row in whole[name]) == pytest.approx(0.651539608)
    assert [row["name"] for row in whole["labels"]] == [
        "app=db",
        "app=web",
        "app=report",
        "(unused)",
    ]
    assert whole["label"] == "app"


def test_by_shows_one_breakdown(capsys: pytest.CaptureFixture[str]) -> None:
    """In a table, and as data."""
    assert {"pools", "workloads", "labels"} & read(
        capsys, *OFFLINE, "--by", "namespace"
    ).keys() == set()
    assert main(["cost", *OFFLINE, "--by", "pool"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == [
        "POOL", "NODES", "PODS", "$/HOUR", "$/MONTH", "SHARE", "UNUSED", "$/HOUR"
    ]  # fmt: skip
    assert "NAMESPACE" not in out


def test_it_says_what_others_would_have_paid(capsys: pytest.CaptureFixture[str]) -> None:
    """The reference's provisioning, Dovetail's, and nobody less than the bound."""
    compared = read(capsys, *OFFLINE)["comparison"]
    assert (compared["nodes"], compared["pods"]) == (4, 5)
    assert 0 < compared["boundPerHour"] <= compared["anewPerHour"] <= compared["pricePerHour"]
    assert compared["savedAgainstReferencePerHour"] == pytest.approx(
        compared["referencePerHour"] - compared["pricePerHour"]
    )
    assert main(["cost", *OFFLINE]) == 0
    out = capsys.readouterr().out
    assert "Karpenter would pay" in out
    assert "The lower bound for the same pods is" in out


def test_many_rows_are_cut_short_unless_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what is left out is counted."""
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": f"team-{number:02d}"},
            "spec": {"nodeName": "hall-3", "containers": [{"name": "c", "image": "i"}]},
        }
        for number in range(14)
    ]
    path = tmp_path / "pods.yaml"
    path.write_text(yaml.safe_dump_all(pods))
    assert main(["cost", *OFFLINE, "-f", str(path)]) == 0
    assert "and 5 more; --by namespace shows all" in capsys.readouterr().out
    assert main(["cost", *OFFLINE, "-f", str(path), "--by", "namespace"]) == 0
    assert "more; --by" not in capsys.readouterr().out


def test_yaml_is_the_same_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the spelling differs."""
    as_json = read(capsys, *OFFLINE)
    assert main(["cost", "-o", "yaml", *OFFLINE]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == as_json


def test_a_live_cluster_costs_what_its_manifests_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pods that wait change nothing; nothing is written."""
    with serving(tmp_path, [*example(), waiting_pod("new")]) as cluster:
        live = read(capsys, "--kubeconfig", str(cluster.kubeconfig))
        assert cluster.writes == []
    offline = read(capsys, *OFFLINE)
    for name in ("pricePerHour", "pools", "namespaces", "workloads", "comparison"):
        assert live[name] == offline[name]


def test_nodes_without_a_price_are_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do about it."""
    assert main(["cost", *OFFLINE, "--catalog", "aws"]) == 0
    out, err = capsys.readouterr()
    assert "Price unknown for 4 nodes (c-4x-amd64-linux, c-8x-amd64-linux)" in err
    assert "nothing to compare with" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["-f", "not-there"], "not-there", id="no such file"),
        pytest.param([*OFFLINE, "--by", "moon"], "--by", id="no such breakdown"),
        pytest.param([*OFFLINE, "--kubeconfig", "x"], "not both", id="files and a cluster"),
    ],
)
def test_a_mistake_is_told_and_nothing_printed(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, with exit code 2."""
    assert main(["cost", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
