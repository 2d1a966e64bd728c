"""When is a row good enough beside the reference, and how is it shown?"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.peers.compared import Compared, by_clock
from benchmarks.peers.judging import Disagreement, Word
from benchmarks.peers.records import Run, write
from benchmarks.peers.reference import Answer, NotPlaced, PeerClaim, Seconds
from benchmarks.peers.rows import ROWS, PeerRow, selected
from benchmarks.peers.tables import disagreements, table
from benchmarks.results import Result

ROW = PeerRow("fleet", 5_000, speed=60, price=0.5, bound=1.03)
CLAIM = PeerClaim("default", "large", "a", "spot", 2.0, ("bench/p",))
THEIRS = Answer(seconds=Seconds(all=30.0), node_claims=(CLAIM,), peak_mb=200.0)
OURS = Result(
    "fleet-5000",
    {"seconds": 0.4, "$/h": 0.9, "price/bound": 1.02, "peak MB": 100.0},
)


def with_figures(**changed: float) -> Result:
    """Our result, with some figures changed."""
    names = {"seconds": "seconds", "usd": "$/h", "bound": "price/bound", "mb": "peak MB"}
    figures = {**OURS.figures, **{names[key]: value for key, value in changed.items()}}
    return msgspec.structs.replace(OURS, figures=figures)


def test_a_row_that_is_better_by_all_that_is_asked_passes() -> None:
    """Times as fast, part of the price."""
    found = Compared(ROW, THEIRS, OURS)
    assert found.speed == pytest.approx(75)
    assert found.price == pytest.approx(0.45)
    assert found.misses == ()
    assert table([found]).endswith("PASS")


@pytest.mark.parametrize(
    ("ours", "says"),
    [
        (with_figures(seconds=1.0), "30 times as fast instead of 60"),
        (with_figures(usd=1.2), "0.600 of the price instead of 0.5"),
        (with_figures(bound=1.04), "1.0400 of the bound instead of 1.03"),
        (with_figures(mb=300.0), "300 MB instead of 200 MB"),
        (msgspec.structs.replace(OURS, failures=("3 pods not placed",)), "3 pods not placed"),
    ],
    ids=["slow", "dear", "far from the bound", "large", "incomplete"],
)
def test_what_is_short_of_its_number_is_named(ours: Result, says: str) -> None:
    """In the table, too."""
    found = Compared(ROW, THEIRS, ours)
    assert found.misses == (says,)
    assert f"MISS: {says}" in table([found])


@pytest.mark.parametrize(
    ("theirs_seconds", "ours_seconds", "is_missed"),
    [(9.0, 0.29, False), (9.0, 0.31, True), (20.0, 0.39, False), (20.0, 0.41, True)],
)
def test_where_the_reference_is_fast_seconds_count_and_not_the_ratio(
    theirs_seconds: float, ours_seconds: float, *, is_missed: bool
) -> None:
    """Ten of its seconds are the border."""
    row = PeerRow("crowd", 2_170, speed=50, price=1.0, is_swift=True)
    theirs = msgspec.structs.replace(THEIRS, seconds=Seconds(all=theirs_seconds))
    found = Compared(row, theirs, with_figures(seconds=ours_seconds))
    assert bool(found.misses) == is_missed


@pytest.mark.parametrize(
    "theirs",
    [
        Answer(error="panic: index out of range"),
        msgspec.structs.replace(THEIRS, not_placed=(NotPlaced("p", "no"),)),
    ],
    ids=["an error", "pods left out"],
)
def test_what_the_reference_cannot_do_is_told_and_misses_nothing(theirs: Answer) -> None:
    """A price counts only where all pods have a place."""
    found = Compared(ROW, theirs, OURS)
    assert found.price is None
    assert found.misses == ()
    assert (theirs.error or "1") in table([found])


def test_a_plan_of_ours_that_would_not_be_bound_is_no_good() -> None:
    """However cheap it is."""
    found = Compared(ROW, THEIRS, OURS, Word(n_illegal=2))
    assert found.misses == ("2 pods that would not be bound",)


def test_what_the_two_do_not_agree_on_is_listed_with_who_is_right() -> None:
    """Below the table; pods of theirs that would not be bound are counted in it."""
    case = Disagreement(3, "Go places them", "spread over zone", "bench/p-1", "Dovetail")
    found = Compared(ROW, THEIRS, OURS, Word(0, 3, (case,)))
    assert table([found]).splitlines()[1].split()[-2] == "3"
    said = disagreements([found])
    assert said.startswith("fleet-5000: Go places them (3 pods, bench/p-1 for one)")
    assert said.endswith("Right by kube-scheduler's rules: Dovetail.")
    assert disagreements([Compared(ROW, THEIRS, OURS)]) == "They agree on what can be placed."


def test_figures_of_both_are_kept_without_the_plans(tmp_path: Path) -> None:
    """As a run that can be read again."""
    case = Disagreement(3, "Go places them", "spread over zone", "bench/p-1", "Dovetail")
    found = Compared(ROW, THEIRS, OURS, Word(0, 3, (case,)))
    write(tmp_path / "peers.json", {"cores": "2"}, [found], None)
    [row] = msgspec.json.decode((tmp_path / "peers.json").read_bytes(), type=Run).rows
    assert (row.name, row.times_as_fast, row.misses) == ("fleet-5000", found.speed, ())
    assert (row.go["all"], row.go["illegal"], row.dovetail["seconds"]) == (30.0, 3, 0.4)
    assert row.disagreements == (case,)


def test_beside_go_the_clock_counts_and_not_the_cpu_time() -> None:
    """Where no decision was timed, figures stay as they are."""
    both = msgspec.structs.replace(OURS, figures={"seconds": 0.4, "seconds by the clock": 0.7})
    assert by_clock(both).figures["seconds"] == 0.7
    assert by_clock(OURS) == OURS


def test_rows_are_chosen_by_name_or_scenario() -> None:
    """Or all of them; sizes differ within a scenario."""
    assert selected(None) == ROWS
    assert [row.name for row in selected("wide_plain")] == [
        "wide_plain-5000",
        "wide_plain-20000",
    ]
    assert [row.name for row in selected("gpus-2000")] == ["gpus-2000"]
    assert selected("nothing") == ()
    assert len({row.name for row in ROWS}) == len(ROWS)
