"""What the page about disruption shows of budgets can be typed, and prints what it says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from dovetail.cli import main
from dovetail.decide.disrupt.flaws import FlawKind

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "disruption.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^dovetail ([^|\n]+)$", PAGE, re.MULTILINE)
BLOCKS = re.findall(r"^```(\w*)\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_of_the_page_runs(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the root of the repository."""
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(line)) == 0
    assert capsys.readouterr().out


def test_what_the_page_prints_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line for line."""
    monkeypatch.chdir(ROOT)
    [first, *_] = [line for line in SHOWN if line.startswith("budgets")]
    assert main(shlex.split(first)) == 0
    out = capsys.readouterr().out
    printed = [text for _, text in BLOCKS if text.startswith(("FROM", "    "))]
    assert len(printed) == 2
    assert [text for text in printed if text not in out] == []


def test_what_the_page_tells_of_a_node_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Word for word."""
    monkeypatch.chdir(ROOT)
    [first, *_] = [line for line in SHOWN if line.startswith("explain node")]
    assert main(shlex.split(first)) == 0
    [printed] = [text for _, text in BLOCKS if text.startswith("node/")]
    assert capsys.readouterr().out == printed


def test_every_flag_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds a flag says what it does."""
    assert main(["budgets", "--help"]) == 0
    flags = re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert "--next" in flags
    assert [flag for flag in flags if flag not in {*PAGE.split("`"), "--help"}] == []


@pytest.mark.parametrize("kind", list(FlawKind))
def test_every_warning_is_documented(kind: FlawKind) -> None:
    """With what it means."""
    assert f"\n- `{kind}`: " in PAGE


def test_the_json_has_the_fields_that_the_page_promises(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At every level."""
    monkeypatch.chdir(ROOT)
    [promised] = [json.loads(text) for language, text in BLOCKS if language == "json"]
    assert main(["budgets", "-f", "examples/07-budgets", "-o", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert list(whole) == list(promised)
    [pool] = promised["nodePools"]
    warned, _ = whole["nodePools"]
    assert list(warned) == list(pool)
    for name in ("allowed", "warnings"):
        assert list(warned[name][0]) == list(pool[name][0])
