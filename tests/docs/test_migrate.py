"""The page about replacing Karpenter is complete, and what it shows is what the command prints."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.cli import main
from dovetail.migration.findings import Severity
from tests.cli.clusters import Cluster, serving
from tests.unit.migration import clusters

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "migrate.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^ *dovetail ([^|>\n]+)", PAGE, re.MULTILINE)
CHECKS = sorted({line for line in SHOWN if line.startswith("check")})
OTHERS = sorted({line for line in SHOWN if line.startswith(("crds", "install"))})


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """The cluster of the example: Karpenter runs, and four things are not in order."""
    budgeted = clusters.pool("batch")
    budgeted["spec"]["disruption"]["budgets"] = [{"nodes": "0", "reasons": []}]
    drifted = clusters.claim()
    drifted["metadata"]["annotations"]["karpenter.sh/nodepool-hash"] = "4711"
    trees = [
        *(tree for tree in clusters.healthy() if tree["kind"] != "NodeClaim"),
        drifted,
        budgeted,
        clusters.webhook(),
        clusters.service(),
        clusters.karpenter(),
    ]
    with serving(tmp_path, trees) as served:
        yield served


def test_the_example_is_what_the_command_prints(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the letter."""
    words = ["check", "--provider", "kwok", "--no-forecast", "--kubeconfig"]
    assert main([*words, str(cluster.kubeconfig)]) == 1
    text = capsys.readouterr().out
    assert f"```\n{text}```\n" in PAGE
    assert main([*words, str(cluster.kubeconfig), "-o", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    shown = next(json.loads(block) for block in re.findall(r"```json\n(.+?)```", PAGE, re.DOTALL))
    assert shown == data["findings"][0]
    assert [name for name in data if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("line", CHECKS)
def test_every_check_can_be_typed(
    line: str, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each ends with findings: the cluster of the example is not in order."""
    words = shlex.split(line)
    if "--context" in words:  # the kubeconfig of the test has no such context
        at = words.index("--context")
        del words[at : at + 2]
    assert main([*words, "--kubeconfig", str(cluster.kubeconfig)]) == 1
    assert capsys.readouterr().out


@pytest.mark.parametrize("line", OTHERS)
def test_every_other_command_can_be_typed(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What it prints is for kubectl."""
    assert main(shlex.split(line)) == 0
    assert capsys.readouterr().out


def test_there_is_something_to_type() -> None:
    """The tests above have something to run."""
    assert len(CHECKS) >= 3
    assert len(OTHERS) >= 2


def test_every_flag_and_every_severity_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds one says what it means."""
    assert main(["check", "--help"]) == 0
    flags = re.findall(r"(?<![\w-])--[a-z-]+", capsys.readouterr().out)
    assert "--provider" in flags
    assert sorted({flag for flag in flags if flag != "--help" and flag not in PAGE}) == []
    assert [severity for severity in Severity if f"| `{severity}` |" not in PAGE] == []
