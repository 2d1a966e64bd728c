"""A provider that is installed and cannot be loaded: a warning, unless it is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.cli import BAD_INPUT, main

EXAMPLE = str(Path(__file__).parents[2] / "examples/demo")
WARNING = "warning: provider 'broken' cannot be loaded from unlicensed_plugin:PLUGIN: no licence; "
FAR = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: far}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.far, kind: FarNodeClass, name: default}
      requirements: []
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""


@pytest.fixture(autouse=True)
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install it."""
    site = tmp_path / "site"
    folder = site / "broken-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[dovetail.providers]\nbroken = unlicensed_plugin:PLUGIN\n"
    )
    (site / "unlicensed_plugin.py").write_text("raise RuntimeError('no licence')\n")
    monkeypatch.syspath_prepend(str(site))


@pytest.mark.parametrize(
    "argv",
    [["plan", "-f", EXAMPLE], ["validate", "-f", EXAMPLE], ["crds"], ["catalog", "--family", "m5"]],
    ids=lambda argv: argv[0],
)
def test_commands_that_do_not_need_it_go_on_with_a_warning(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One warning, on stderr."""
    assert main(argv) == 0
    assert capsys.readouterr().err.count(WARNING) == 1


@pytest.mark.parametrize(
    "argv",
    [["run", "--provider", "broken"], ["crds", "--provider", "broken"]],
    ids=lambda argv: argv[0],
)
def test_a_command_that_names_it_ends(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With the reason."""
    assert main(argv) == BAD_INPUT
    assert "error: provider 'broken' cannot be loaded" in capsys.readouterr().err


def test_a_plan_for_its_kind_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kind may be that of the broken provider: another catalogue would be a guess."""
    path = tmp_path / "far.yaml"
    path.write_text(FAR)
    assert main(["plan", "-f", str(path)]) == BAD_INPUT
    error = capsys.readouterr().err
    assert "error: NodePool far: no provider that can be loaded has node classes of kind" in error
    assert "provider 'broken'" in error
