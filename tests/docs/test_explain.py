"""What the page about questions shows can be typed, and prints what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dovetail.cli import main
from tests.docs.story import write_story

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^dovetail ([^|\n]+)$", PAGE, re.MULTILINE)
BLOCKS = re.findall(r"^```\w*\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the journal of the story in it."""
    write_story(tmp_path / "journal")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_of_the_page_runs(
    line: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the journal is."""
    assert (place / "journal").is_dir()
    assert main(shlex.split(line)) == 0
    assert capsys.readouterr().out


def test_what_the_page_tells_of_a_node_is_told(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Word for word."""
    assert (place / "journal").is_dir()
    [first, *_] = [line for line in SHOWN if line.startswith("explain node")]
    assert main(shlex.split(first)) == 0
    [printed] = [text for text in BLOCKS if text.startswith("node/")]
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("command", ["explain", "replay"])
def test_every_flag_is_documented(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds a flag says what it does."""
    assert main([command, "--help"]) == 0
    flags = re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert "--output" in flags
    assert [flag for flag in flags if flag not in {*PAGE.split("`"), "--help"}] == []
