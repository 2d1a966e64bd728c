"""The documentation says what was measured, and nothing else."""

from __future__ import annotations

import pytest

from benchmarks.written import DOCUMENT, SECTIONS, kept, updated


def test_figures_in_the_documentation_are_those_that_runs_have_kept() -> None:
    """`python -m benchmarks.written` puts them there."""
    found = kept()
    assert set(found) == set(SECTIONS)
    text = DOCUMENT.read_text(encoding="utf-8")
    assert updated(text, found) == text


def test_a_document_without_a_place_for_figures_is_told_so() -> None:
    """Rather than left without them."""
    with pytest.raises(ValueError, match="no place for growth"):
        updated("# nothing here\n", {"growth": kept()["growth"]})
