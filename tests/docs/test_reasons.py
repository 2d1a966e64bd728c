"""The documentation of reasons is complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.model.verdict import Blocker, Reason

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reasons.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_documented(reason: Reason) -> None:
    """Each reason has a row that says what it means and what helps."""
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith(f"| `{reason}` |")]
    assert len(rows) == 1
    _, _, means, helps, _ = rows[0]
    assert means.strip()
    assert helps.strip()


def test_no_row_is_about_a_reason_that_does_not_exist() -> None:
    """A reason that was renamed takes its row along."""
    named = {line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")}
    assert named == set(Reason)


def test_every_blocker_is_documented_and_no_other() -> None:
    """Each reason for which a node stays has a row that says what it means and what helps."""
    page = (ROOT / "docs" / "disruption.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    assert sorted(cells[1].strip(" `") for cells in rows) == sorted(Blocker)
    assert all(cells[2].strip() and cells[3].strip() for cells in rows)
