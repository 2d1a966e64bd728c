from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.growth import __main__ as command
from benchmarks.growth import axes
from benchmarks.growth.axes import AXES, Axis, grown, measured_at
from benchmarks.growth.measure import measure
from benchmarks.growth.tables import document, table
from benchmarks.results import Result
from benchmarks.runs import Trials

ONCE = Trials(1, 1)
SMALL = tuple(
    axis._replace(sizes=sizes, quick=sizes[:2])
    for axis, sizes in zip(AXES, ((40, 80, 160), (2, 4, 8), (60, 90, 120)), strict=True)
)


def sham(axis: Axis, size: int, trials: Trials) -> Result:
    """A measurement that takes no time: a square root, a megabyte each."""
    figures = {
        "seconds": size**0.5 * trials.repeat,
        "peak MB": size + 50.0,
        "idle MB": 50.0,
        "MB above idle": float(size),
    }
    return Result(axis.name, figures)


def failing(axis: Axis, size: int, trials: Trials) -> Result:
    """As above, but one size leaves pods without a place."""
    found = sham(axis, size, trials)
    return Result(axis.name, found.figures, failures=("3 pods not placed",) if size == 4 else ())


@pytest.fixture(name="places")
def fixture_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the command writes; small axes, measured by no process."""
    monkeypatch.setattr(command, "AXES", SMALL)
    monkeypatch.setattr(command, "measured_at", sham)
    monkeypatch.setattr(command, "_JSON", tmp_path / "growth.json")
    monkeypatch.setattr(command, "_SVG", tmp_path / "growth.svg")
    return tmp_path


def test_a_whole_run_is_written_as_json_and_svg(places: Path) -> None:
    """With the machine, every point and the exponents."""
    assert command.main([]) == 0
    told = json.loads((places / "growth.json").read_bytes())
    assert told["machine"]["commit"]
    assert [one["name"] for one in told["axes"]] == ["pods", "nodes", "types"]
    assert [point["size"] for point in told["axes"][1]["points"]] == [2, 4, 8]
    laws = told["axes"][0]["laws"]
    assert laws["seconds"]["exponent"] == pytest.approx(0.5)
    assert laws["MB above idle"]["exponent of the upper half"] == pytest.approx(1.0)
    assert (places / "growth.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize("arguments", [["--quick"], ["--only", "nodes"]])
def test_a_partial_run_replaces_nothing_unasked(places: Path, arguments: list[str]) -> None:
    """It writes only where it is told to."""
    assert command.main(arguments) == 0
    assert list(places.iterdir()) == []
    assert command.main([*arguments, "--json", str(places / "part.json")]) == 0
    assert [path.name for path in places.iterdir()] == ["part.json"]


def test_a_run_that_failed_somewhere_replaces_nothing_and_says_so(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half a plot would be half a truth."""
    monkeypatch.setattr(command, "measured_at", failing)
    assert command.main([]) == 1
    assert "MISS: 4 nodes: 3 pods not placed" in capsys.readouterr().out
    assert list(places.iterdir()) == []


@pytest.mark.parametrize(("axis", "size"), [("pods", 60), ("nodes", 3), ("types", 150)])
def test_a_decision_about_a_cluster_gives_every_pod_a_place(axis: str, size: int) -> None:
    """Time and memory are there, and memory counts from an idle process."""
    result = measure(axis, size, repeat=1, seed=1)
    assert result.failures == ()
    figures = result.figures
    assert figures["seconds"] > 0
    assert figures["peak MB"] >= figures["peak MB before planning"] >= figures["idle MB"] > 0
    assert figures["MB above idle"] > 0


def test_a_point_is_measured_in_a_process_of_its_own() -> None:
    """Whose memory is its own: far less than that of a process that has done much."""
    result = measured_at(SMALL[0], 40, ONCE)
    assert result.failures == ()
    assert result.figures["waiting"] == 40


def test_a_process_that_breaks_is_a_failure_of_its_size() -> None:
    """And leaves nothing to fit."""
    broken = SMALL[0]._replace(name="colours")
    found = grown(broken, {40: measured_at(broken, 40, ONCE)})
    assert found.failures[0].startswith("40 colours: usage")
    assert found.law("seconds") is None
    assert "MISS: 40 colours" in table([found])
    assert json.loads(document([found], {}))["axes"][0]["laws"] == {}


def test_the_axes_span_what_was_promised() -> None:
    """1,000 to 200,000 pods, 10 to 5,000 nodes, 100 to 5,000 types."""
    spans = {axis.name: (axis.sizes[0], axis.sizes[-1]) for axis in axes.AXES}
    assert spans == {"pods": (1_000, 200_000), "nodes": (10, 5_000), "types": (100, 5_000)}
