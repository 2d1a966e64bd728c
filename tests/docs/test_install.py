"""The page about installing is complete, and what it shows can be typed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.api.rbac import PolicyRule
from dovetail.cli import main
from dovetail.present.installation import rights
from tests import installing

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
VALUES = ROOT / "charts" / "dovetail" / "values.yaml"
SHOWN = re.findall(r"^ *dovetail ([^|>\n]+)", PAGE, re.MULTILINE)


def rows(values: Path = VALUES) -> Iterator[str]:
    """A row for each value: its name, its default, and what its comment says."""
    tree = yaml.safe_load(values.read_text(encoding="utf-8"))
    path: list[tuple[int, str]] = []
    said: list[str] = []
    for line in values.read_text(encoding="utf-8").splitlines():
        comment = re.fullmatch(r"\s*# (-- )?(.+)", line)
        key = re.match(r"( *)(\w+):", line)
        if comment and (comment[1] or said):
            said.append(comment[2])
        elif key:
            path = [(indent, name) for indent, name in path if indent < len(key[1])]
            path.append((len(key[1]), key[2]))
            if said:
                names = [name for _, name in path]
                yield f"| `{'.'.join(names)}` | `{default(tree, names)}` | {' '.join(said)} |"
            said = []


def default(tree: Any, names: list[str]) -> str:
    """The value that holds unless another is given."""
    for name in names:
        tree = tree[name]
    return json.dumps(tree, separators=(",", ":"))


def test_every_value_of_the_chart_is_documented() -> None:
    """With its default and what it means, as the file of values says."""
    wanted = list(rows())
    assert len(wanted) > 60
    assert [row for row in wanted if row not in PAGE] == []
    assert len(re.findall(r"^\| `[\w.]+` \| `", PAGE, re.MULTILINE)) == len(wanted)


@pytest.mark.parametrize(
    "rule",
    [
        *rights.CORE,
        *rights.HOME,
        *installing.RIGHTS_WITH_KUBELETS,
        *rights.node_leases(kubelets=True),
    ],
    ids=lambda rule: f"{','.join(rule.resources)} {','.join(rule.verbs)}",
)
def test_every_right_is_explained(rule: PolicyRule) -> None:
    """No rule that the page does not give a reason for."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    for resource in rule.resources:
        about = [line for line in lines if f"`{resource}`" in line]
        assert [verb for verb in rule.verbs if not any(verb in line for line in about)] == []


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_of_the_page_runs(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What comes before the pipe to kubectl."""
    assert main(shlex.split(line)) == 0
    assert capsys.readouterr().out


def test_every_flag_of_install_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds a flag says what it does."""
    assert len(SHOWN) >= 3
    assert main(["install", "--help"]) == 0
    flags = re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert "--kubelets" in flags
    assert [flag for flag in flags if flag not in {*PAGE.split("`"), "--help"}] == []


def test_the_manifests_of_the_page_are_sound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever copies them has nothing to mend."""
    blocks = re.findall(r"^```yaml\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    path = tmp_path / "page.yaml"
    path.write_text(blocks[0])
    assert main(["validate", "-f", str(path)]) == 0, capsys.readouterr()
