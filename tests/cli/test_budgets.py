"""What `dovetail budgets` shows of when nodes may be disrupted."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.cli import main
from tests.cli.test_disruptions import MACHINE, POOL

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "07-budgets")
NOW = ("--now", "2026-03-02T00:00:00Z")


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A pool of three nodes that may lose a tenth of them."""
    path = tmp_path / "cluster.yaml"
    machines = [MACHINE.replace("NAME", name) for name in ("n1", "n2", "n3")]
    path.write_text(POOL.replace('nodes: "1"', "nodes: 10%") + "".join(machines))
    return str(path)


def read(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """The calendar as a script reads it."""
    assert main(["budgets", "-o", "json", *NOW, *argv]) == 0
    whole: dict[str, Any] = json.loads(capsys.readouterr().out)
    return whole


def test_a_week_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    """From the moment that --now names."""
    whole = read(capsys, "-f", EXAMPLE)
    assert (whole["from"], whole["until"]) == ("2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z")
    assert [one["name"] for one in whole["nodePools"]] == ["night-shift", "office-hours"]


@pytest.mark.parametrize(
    ("span", "until"),
    [("36h", "2026-03-03T12:00:00Z"), ("1d12h30m", "2026-03-03T12:30:00Z")],
)
def test_next_says_how_far_to_look(
    capsys: pytest.CaptureFixture[str], span: str, until: str
) -> None:
    """In hours, in days, or in both."""
    whole = read(capsys, "-f", EXAMPLE, "--next", span)
    assert whole["until"] == until
    assert {one["until"] <= until for pool in whole["nodePools"] for one in pool["allowed"]} == {
        True
    }


def test_no_consolidation_in_office_hours(capsys: pytest.CaptureFixture[str]) -> None:
    """The example keeps its promise."""
    _, office = read(capsys, "-f", EXAMPLE)["nodePools"]
    closed = [
        (one["from"], one["until"], one["reason"]) for one in office["allowed"] if one["count"] == 0
    ]
    assert closed == [
        (f"2026-03-0{day}T08:00:00Z", f"2026-03-0{day}T18:00:00Z", "Underutilized")
        for day in range(2, 7)
    ]
    assert office["warnings"] == []


def test_budgets_that_cannot_be_meant_are_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    """In every form; they are no error."""
    night, _ = read(capsys, "-f", EXAMPLE)["nodePools"]
    assert [(one["warning"], one["budgets"]) for one in night["warnings"]] == [
        ("NeverAllows", [0]),
        ("NeverBegins", [1]),
    ]
    assert main(["budgets", "-f", EXAMPLE, *NOW]) == 0
    out, err = capsys.readouterr()
    assert [f"Warning: {one['message']}." in out for one in night["warnings"]] == [True, True]
    assert err == ""


def test_percentages_are_counts_where_nodes_are_known(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rounded up."""
    [pool] = read(capsys, "-f", cluster)["nodePools"]
    assert (pool["nodes"], pool["disrupting"]) == (3, 0)
    assert {(one["percent"], one["nodes"]) for one in pool["allowed"]} == {(10, 1)}
    assert main(["budgets", "-f", cluster]) == 0
    out = capsys.readouterr().out
    assert "NodePool default: 3 nodes" in out
    assert "1 of 3 (10%)" in out


def test_yaml_says_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Field for field."""
    whole = read(capsys, "-f", EXAMPLE)
    assert main(["budgets", "-f", EXAMPLE, *NOW, "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == whole


def test_several_files_and_standard_input_are_one_cluster(
    cluster: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """-f as often as needed."""
    text = POOL.replace("name: default}\nspec", "name: piped}\nspec", 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    whole = read(capsys, "-f", cluster, "-f", "-", EXAMPLE)
    names = [one["name"] for one in whole["nodePools"]]
    assert names == ["default", "night-shift", "office-hours", "piped"]


def test_a_scenario_has_its_own_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless another is given."""
    path = tmp_path / "scenario.yaml"
    path.write_text(
        "{because: x, given: {pools: {a: {}}}, now: 2026-05-01T00:00:00Z, want: {nodes: 0}}"
    )
    assert main(["budgets", "-f", str(path), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["from"] == "2026-05-01T00:00:00Z"


def test_an_input_without_pools_is_said_to_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr; the data is an empty list."""
    path = tmp_path / "namespace.yaml"
    path.write_text("{apiVersion: v1, kind: Namespace, metadata: {name: web}}")
    assert main(["budgets", "-f", str(path), "-o", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["nodePools"] == []
    assert err == "No NodePool in the input.\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        pytest.param([], "-f", id="no file"),
        pytest.param(["-f", "not-there.yaml"], "not-there.yaml", id="a missing file"),
        pytest.param(["-f", EXAMPLE, "--next", "soon"], "--next", id="no span"),
        pytest.param(["-f", EXAMPLE, "--next", "0s"], "'0s'", id="no time"),
        pytest.param(["-f", EXAMPLE, "--next", "-1h"], "'-1h'", id="back in time"),
        pytest.param(["-f", EXAMPLE, "--next", "367d"], "366d", id="too far"),
        pytest.param(["-f", EXAMPLE, "--now", "soon"], "--now", id="no moment"),
        pytest.param(["-f", EXAMPLE, "--now", "9999-12-31T00:00:00Z"], "9999", id="too late"),
        pytest.param(["-f", EXAMPLE, "-o", "xml"], "xml", id="no such form"),
    ],
)
def test_bad_usage_is_one_clear_message(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, nothing on stdout."""
    assert main(["budgets", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        pytest.param('{nodes: "1", schedule: "0 25 * * *", duration: 1h}', "schedule", id="hour"),
        pytest.param('{nodes: "1", schedule: sometimes, duration: 1h}', "schedule", id="cron"),
        pytest.param("{nodes: 101%}", "nodes", id="over 100 %"),
        pytest.param('{nodes: "-1"}', "nodes", id="below nothing"),
        pytest.param('{nodes: "99999999999"}', "nodes", id="more than can be counted"),
        pytest.param('{nodes: "1", schedule: "@daily", duration: -1h}', "duration", id="negative"),
        pytest.param('{nodes: "1", duration: 1h}', "schedule and duration", id="no schedule"),
        pytest.param('{nodes: "1", schedule: "@daily"}', "schedule and duration", id="no end"),
        pytest.param('{nodes: "1", reasons: [Expired]}', "reasons[0]", id="no such reason"),
    ],
)
@pytest.mark.parametrize("command", ["validate", "budgets"])
def test_a_budget_that_makes_no_sense_is_refused_by_its_field(
    command: str, budget: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file, the document and the field."""
    path = tmp_path / "pool.yaml"
    path.write_text(POOL.replace('{nodes: "1"}', f'{{nodes: "1"}}, {budget}'))
    assert main([command, "-f", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "pool.yaml, document 1: spec.disruption.budgets[1]" in err
    assert words in err
