"""The pages about looking at a cluster are complete, and what they show can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from dovetail.cli import main
from dovetail.cli.node_keys import SORTS
from dovetail.observe.shadow import ShadowMeters
from dovetail.present.board import NodeState

ROOT = Path(__file__).parents[2]
PAGES = {
    name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("cost", "nodes", "shadow")
}
# What needs no cluster.
SHOWN = [
    line
    for page in PAGES.values()
    for line in re.findall(r"^dovetail ([^|\n]+)", page, re.MULTILINE)
    if " -f " in line or line.startswith("install")
]


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_that_needs_no_cluster_runs(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the root of the repository, and prints what the page says it does."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(shlex.split(line)) == 0
    out = capsys.readouterr().out
    assert out
    first = out.splitlines()[0]
    for page in PAGES.values():
        for block in re.findall(r"^```\n(.+?)^```", page, re.MULTILINE | re.DOTALL):
            if block.startswith(first):
                assert block in out


def test_there_is_something_to_type() -> None:
    """And something to compare it with."""
    assert len(SHOWN) >= 3
    assert all(heading in PAGES[page] for page, heading in (("nodes", "NAME "), ("cost", "LABEL ")))


@pytest.mark.parametrize("command", ["nodes", "cost"])
def test_every_flag_is_documented(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds a flag says what it does."""
    assert main([command, "--help"]) == 0
    flags = re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert "--catalog" in flags
    assert [flag for flag in flags if flag not in {*PAGES[command].split("`"), "--help"}] == []


def test_every_key_and_every_state_is_documented() -> None:
    """What one can press, and what one can see."""
    page = PAGES["nodes"].split("`")
    assert [key for key in SORTS if key not in page] == []
    assert [state for state in NodeState if state not in page] == []


def test_every_metric_of_a_dry_run_is_documented() -> None:
    """With the page's own table."""
    registry = CollectorRegistry()
    ShadowMeters(registry)
    names = {
        f"{one.name}_total" if one.type == "counter" else one.name for one in registry.collect()
    }
    assert len(names) == 4
    assert set(re.findall(r"^\| `(dovetail_\w+)`", PAGES["shadow"], re.MULTILINE)) == names
