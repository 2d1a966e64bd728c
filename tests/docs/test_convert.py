"""What docs/convert.md shows of manifests, names and commands is right."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Final

import pytest
import yaml

from dovetail import api
from dovetail.api.older.renames import MARKS
from dovetail.cli import main
from dovetail.cloud.registry import extensions

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "convert.md").read_text(encoding="utf-8")
EXAMPLE: Final = (ROOT / "examples" / "09-older-manifests" / "README.md").read_text("utf-8")


def test_the_node_claim_of_an_adopted_node_is_valid() -> None:
    """It can be applied as it stands, with the uid of the NodePool."""
    [block] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    claim = api.read(api.KINDS["karpenter.sh", "NodeClaim"], yaml.safe_load(block))
    assert list(api.problems(claim, extensions())) == []


def test_the_status_of_an_adopted_node_says_that_it_is_launched() -> None:
    """A NodeClaim with this status is not launched again."""
    [patch] = re.findall(r"kubectl patch nodeclaim .* -p '(.*)'", PAGE)
    reference = {"group": "g", "kind": "K", "name": "n"}
    spec = {"nodeClassRef": reference, "requirements": []}
    tree = {"metadata": {"name": "a"}, "spec": spec}
    claim = api.decode(api.NodeClaim, json.dumps(tree | json.loads(patch)).encode())
    assert claim.status.provider_id
    assert [(one.type, one.status) for one in claim.status.conditions] == [("Launched", "True")]
    assert list(api.problems(claim)) == []


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.decode())
def test_every_name_that_changed_is_documented(mark: bytes) -> None:
    """In the table of names."""
    assert f"`{mark.decode()}" in PAGE.partition("## Names that changed")[2]


@pytest.mark.parametrize("line", re.findall(r"^    dovetail (.+)$", EXAMPLE, re.MULTILINE))
def test_every_command_of_the_example_runs(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the root of the repository; with --check it ends with 1."""
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(line)) == ("--check" in line)
    assert capsys.readouterr().out
