"""How `dovetail explain` finds a journal, and what it does with one that is damaged."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dovetail.cli import main
from dovetail.model.plan import Plan
from dovetail.observe.journal.writer import JournalWriter
from dovetail.testing import pod, snapshot
from tests.docs.story import write_story

NODE = "node/default-1772439601-1"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The story, written down."""
    write_story(tmp_path)
    return tmp_path


def test_the_variable_of_the_controller_names_the_journal(
    journal: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that one may just ask in its pod."""
    monkeypatch.setenv("DOVETAIL_JOURNAL", str(journal))
    assert main(["explain", NODE]) == 0
    assert "Why it was created" in capsys.readouterr().out


def test_scripts_have_history_birth_and_end_as_data(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside all that is said of a node that is there."""
    assert main(["explain", NODE, "--journal", str(journal), "-o", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["isGone"]
    assert whole["asOf"] == {"decision": 58, "at": "2026-03-02T09:11:06Z"}
    assert whole["created"]["decision"] == 27
    assert whole["created"]["nodeClaim"]["pods"][0] == "default/burst-1"
    assert (whole["removed"]["decision"], whole["removed"]["reason"]) == (36, "Underutilized")
    assert whole["removed"]["disruption"]["savingPerHour"] == 0.52
    assert whole["history"][-1] == {
        "at": "2026-03-02T08:28:15Z",
        "decision": 39,
        "what": "gone",
    }


def test_a_whole_second_means_all_that_was_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Since answers name decisions to the second."""
    writer = JournalWriter(tmp_path)
    at = datetime(2026, 1, 1, 0, 0, 5, 250_000, tzinfo=UTC)
    writer.add(snapshot((pod("web"),)), Plan(), at, 0.1)
    writer.close()
    words = ["explain", "pod/web", "--journal", str(tmp_path), "--at"]
    assert main([*words, "2026-01-01T00:00:05Z"]) == 0
    assert "decision 1 of 2026-01-01T00:00:05Z" in capsys.readouterr().out
    assert main([*words, "2026-01-01T00:00:05.1Z"]) == 2


def test_a_journal_that_was_cut_off_answers_as_far_as_it_goes(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is lost is said once, on stderr."""
    (file,) = journal.iterdir()
    os.truncate(file, file.stat().st_size - 10)
    assert main(["explain", NODE, "--journal", str(journal)]) == 0
    out, err = capsys.readouterr()
    assert "as of decision 57" in " ".join(out.split())
    assert err.count("\n") == 1
    assert "decision 58 is lost" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--at", "noon"], "--at", id="no moment"),
        pytest.param(["--at", "2020-01-01T00:00:00Z"], "no decision up to 2020", id="too early"),
        pytest.param(["--journal", "absent"], "absent: reading the journal", id="no journal"),
    ],
)
def test_what_cannot_be_answered_is_one_clear_message(
    journal: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """Exit 2, nothing on stdout."""
    given = [] if "--journal" in words else ["--journal", str(journal)]
    assert main(["explain", NODE, *given, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
