"""The documentation of commands is complete, and what it shows can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dovetail.cli import main
from dovetail.providers.aws import plugin as aws
from dovetail.providers.kwok import plugin as kwok
from dovetail.settings.flags import TABLE
from dovetail.sim.scenario import strict, written

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PLAN_PAGE = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^\.venv/bin/dovetail (.+)$", README, re.MULTILINE)


def test_every_flag_of_plan_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds a flag says what it does."""
    assert main(["plan", "--help"]) == 0
    flags = re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert "--catalog" in flags
    assert [flag for flag in flags if flag not in PLAN_PAGE] == []


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_of_the_readme_runs(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the README shows works from the root of the repository."""
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(line)) == 0
    assert capsys.readouterr().out


def test_the_readme_shows_commands() -> None:
    """The test above has something to run."""
    assert len(SHOWN) >= 3


def test_every_flag_of_run_and_of_its_providers_is_documented_as_it_is() -> None:
    """With its variable, its default and what it does, word for word."""
    page = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]]
        for line in page.splitlines()
        if line.startswith("| `--")
    ]
    want = [
        [f"--{flag.name}", flag.environment, table.default(flag).replace(",", ", "), flag.help]
        for table in (TABLE, kwok.PLUGIN.settings, aws.PLUGIN.settings)
        for flag in table.flags
    ]
    assert rows == want


SIMULATE_PAGE = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
SIMULATED = re.findall(r"^dovetail (simulate .*simulations/.+)$", SIMULATE_PAGE, re.MULTILINE)


def test_every_flag_of_simulate_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever adds a flag says what it does."""
    assert main(["simulate", "--help"]) == 0
    flags = re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert "--compare" in flags
    assert [flag for flag in flags if flag not in SIMULATE_PAGE] == []


@pytest.mark.parametrize("line", SIMULATED)
def test_every_simulation_of_the_page_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half an hour of each, with whatever it writes."""
    (tmp_path / "simulations").symlink_to(ROOT / "simulations")
    monkeypatch.chdir(tmp_path)
    shorter = ["--set", "lasts=30m", "--set", "warmUp=0s", "--workers", "1"]
    assert main([*shlex.split(line), *shorter]) == 0
    assert capsys.readouterr().out


def test_the_page_of_simulate_shows_commands() -> None:
    """The test above has something to run."""
    assert len(SIMULATED) >= 3


def test_every_word_of_a_scenario_is_documented() -> None:
    """Whoever adds a field says what it means."""
    kinds = [one for one in vars(written).values() if isinstance(one, type)]
    words = {
        word for kind in kinds if issubclass(kind, written.Written) for word in strict.fields(kind)
    }
    assert len(words) > 50
    assert sorted(word for word in words if not re.search(rf"\b{word}\b", SIMULATE_PAGE)) == []


def test_the_frontier_of_the_page_is_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Price against nodes, word for word."""
    [line] = re.findall(r"`dovetail (plan .*--frontier)` prints", PLAN_PAGE)
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(line)) == 0
    shown = PLAN_PAGE.partition("--frontier` prints:\n\n```\n")[2].partition("```")[0]
    assert capsys.readouterr().out.endswith(shown)
