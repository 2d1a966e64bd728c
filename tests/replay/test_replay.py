"""Recorded decisions are complete, and differences are told by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.replay.__main__ import CASES, RECORD, differences, main, recorded, write
from tests.replay.digests import Digest

SAMPLE = (
    "scenarios/reasons/",
    "fuzz/plans/000",
    "fuzz/placed/000",
    "fuzz/rest/0001",
    "fuzz/budgets/0001",
    "fuzz/kills/0001",
    "benchmarks/tiny/000",
)
OLD, NEW = Digest("a", "a"), Digest("b", "b")


def test_every_case_is_recorded() -> None:
    """A new scenario is recorded with the commit that adds it."""
    assert sorted(recorded(RECORD)) == sorted(CASES)


@pytest.mark.parametrize("prefix", SAMPLE)
def test_a_sample_of_decisions_is_as_recorded(prefix: str) -> None:
    """The command line compares all of them."""
    before = recorded(RECORD)
    chosen = [name for name in CASES if name.startswith(prefix)]
    assert chosen
    want = {name: before[name] for name in chosen}
    assert {name: CASES[name].make() for name in chosen} == want


def test_differences_are_told_by_name() -> None:
    """A change of wording is told apart from a change of the decision."""
    before = {"same": OLD, "worded": OLD, "decided": OLD, "gone": OLD}
    after = {"same": OLD, "worded": OLD._replace(text="b"), "decided": NEW, "new": NEW}
    assert differences(before, after) == [
        "another decision: decided",
        "no such case any more: gone",
        "not recorded: new",
        "another wording: worded",
    ]


def test_what_is_recorded_is_read_again(tmp_path: Path) -> None:
    """In the order of names, whatever the order of the cases."""
    path = tmp_path / "recorded.txt"
    write(path, {"b": NEW, "a": OLD})
    assert path.read_text() == "a a a\nb b b\n"
    assert recorded(path) == {"a": OLD, "b": NEW}


def test_the_command_fails_where_a_decision_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not once the decision is recorded again."""
    path, case = tmp_path / "recorded.txt", "benchmarks/tiny/0001"
    chosen = ("--only", case, "--file", str(path), "--jobs", "1")
    write(path, {case: NEW, "benchmarks/tiny/other": OLD})
    assert main(chosen) == 1
    assert f"another decision: {case}" in capsys.readouterr().out
    assert main((*chosen, "--record")) == 0
    assert main(chosen) == 0
    assert recorded(path)["benchmarks/tiny/other"] == OLD
