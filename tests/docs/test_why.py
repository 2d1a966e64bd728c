"""Questions of the form "why ...?" are answered from a journal."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from dovetail.cli import main
from tests.docs.story import write_story


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked, of which object, at which moment, and what must be said of it."""

    ask: str
    of: str
    says: tuple[str, ...]
    at: datetime | None = None
    says_not: tuple[str, ...] = ()


QUESTIONS = msgspec.yaml.decode(
    (Path(__file__).parent / "why.yaml").read_bytes(), type=tuple[Question, ...]
)


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story, written down."""
    directory = tmp_path_factory.mktemp("journal")
    write_story(directory)
    return directory


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.ask)
def test_the_answer_says_why(
    question: Question, journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that it must say, whatever else it says."""
    moment = [] if question.at is None else ["--at", question.at.isoformat()]
    assert main(["explain", question.of, "--journal", str(journal), *moment]) == 0
    out, err = capsys.readouterr()
    said = " ".join(out.split())
    assert [part for part in question.says if part not in said] == []
    assert [part for part in question.says_not if part in said] == []
    assert err == ""


def test_there_are_questions_about_everything() -> None:
    """Twenty at least, about pods, nodes, claims and pools, now and at earlier moments."""
    assert len(QUESTIONS) >= 20
    kinds = {one.of.partition("/")[0] for one in QUESTIONS}
    assert kinds == {"pod", "node", "nodeclaim", "nodepool"}
    assert len({one.at for one in QUESTIONS}) > 5
    assert len({one.ask for one in QUESTIONS}) == len(QUESTIONS)
    assert all(one.ask.startswith("Why") for one in QUESTIONS)
    assert all(one.says for one in QUESTIONS)
