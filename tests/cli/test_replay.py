"""What `dovetail replay` shows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from dovetail.cli import main
from dovetail.model.plan import Plan
from dovetail.observe.journal.writer import JournalWriter
from tests.unit.observe.journal.decisions import decided

DECISIONS = decided()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Four decisions, as they were made."""
    return written(tmp_path / "journal", [one.plan for one in DECISIONS])


def written(directory: Path, plans: list[Plan]) -> Path:
    """The same decisions with these plans."""
    writer = JournalWriter(directory)
    for one, plan in zip(DECISIONS, plans, strict=True):
        writer.add(one.snapshot, plan, one.now, one.seconds)
    writer.close()
    return directory


def test_decisions_that_come_out_the_same_take_one_line(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them, the last few, or those of one file."""
    assert main(["replay", str(journal)]) == 0
    assert capsys.readouterr() == ("4 decisions recomputed: no difference.\n", "")
    assert main(["replay", str(journal), "--last", "2"]) == 0
    assert capsys.readouterr().out == "2 decisions recomputed: no difference.\n"
    (file,) = journal.iterdir()
    assert main(["replay", str(file), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "decisions": 4,
        "different": 0,
        "differences": [],
    }


def tampered(directory: Path) -> Path:
    """A journal whose second plan launches something else, and leaves out what it says of cost."""
    plans = [one.plan for one in DECISIONS]
    (launch, *others) = plans[1].launches
    dearer = msgspec.structs.replace(launch, instance_type="huge", price_nanousd=10**9)
    cost = msgspec.structs.replace(plans[1].cost, new_nanousd=10**9)
    plans[1] = msgspec.structs.replace(plans[1], launches=(dearer, *others), cost=cost)
    plans[0] = msgspec.structs.replace(plans[0], disruptions=(), wake_at=None)
    return written(directory, plans)


def test_what_differs_is_shown_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 1: launches, disruptions, cost, and the rest."""
    assert main(["replay", str(tampered(tmp_path))]) == 1
    out = capsys.readouterr().out
    said = " ".join(out.split())
    assert "Decision 2 of 2026-01-01T00:00:01Z: WHAT NAME RECORDED NOW" in said
    assert "huge on-demand" in said
    assert "cost new $1.0000 $0." in said
    assert "disruption n1 - Empty, saves $0.1000 an hour" in said
    assert out.endswith("4 decisions recomputed: 2 differ.\n")


def test_scripts_have_the_differences_as_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Decision by decision."""
    assert main(["replay", str(tampered(tmp_path)), "-o", "json"]) == 1
    whole = json.loads(capsys.readouterr().out)
    assert (whole["decisions"], whole["different"]) == (4, 2)
    assert [one["number"] for one in whole["differences"]] == [1, 2]
    first = whole["differences"][1]["differences"][0]
    assert (first["what"], sorted(first)) == ("launch", ["name", "recomputed", "recorded", "what"])


def test_a_proof_that_is_another_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though it is not kept whole."""
    plans = [one.plan for one in DECISIONS]
    certificate = msgspec.structs.replace(plans[1].certificate, bound_nanousd=1)
    plans[1] = msgspec.structs.replace(plans[1], certificate=certificate)
    assert main(["replay", str(written(tmp_path, plans))]) == 1
    assert "proof" in capsys.readouterr().out


def test_fields_that_no_words_are_about_are_compared_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By their names."""
    plans = [one.plan for one in DECISIONS]
    (launch, *others) = plans[1].launches
    other = msgspec.structs.replace(launch, labels={"another": "label"})
    plans[1] = msgspec.structs.replace(plans[1], launches=(other, *others))
    assert main(["replay", str(written(tmp_path, plans))]) == 1
    assert "labels {'another': 'label'}" in capsys.readouterr().out


def test_a_journal_that_was_cut_off_is_replayed_as_far_as_it_goes(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is lost is said on stderr, in one line."""
    (file,) = journal.iterdir()
    os.truncate(file, file.stat().st_size - 3)
    assert main(["replay", str(journal)]) == 0
    out, err = capsys.readouterr()
    assert out == "3 decisions recomputed: no difference.\n"
    assert err.count("\n") == 1
    assert "decision 4 is lost, since it is cut off in the middle" in err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("absent", "absent: reading the journal: No such file", id="not there"),
        pytest.param("empty", "expected a journal, but there are no files", id="empty"),
        pytest.param("notes.txt", "is no file of a journal", id="another file"),
    ],
)
def test_what_is_no_journal_is_one_clear_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    """Exit 2, nothing on stdout."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("nothing of the sort")
    assert main(["replay", str(tmp_path / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
