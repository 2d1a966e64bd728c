"""The documentation says what was measured, and nothing else."""

from __future__ import annotations

import pytest

from benchmarks.written import DOCUMENT, SECTIONS, kept, updated


def test_figures_in_the_documentation_are_those_that_runs_have_kept() -> None:
    """`python -m benchmarks.written` puts them there."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert updated(text, kept()) == text


@pytest.mark.parametrize("name", SECTIONS)
def test_what_no_run_has_kept_is_not_in_the_documentation(name: str) -> None:
    """Its place stays empty."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert (f"<!-- {name} -->\n<!-- end of {name} -->\n" in text) == (name not in kept())


def test_a_document_without_a_place_for_figures_is_told_so() -> None:
    """Rather than left without them."""
    with pytest.raises(ValueError, match="no place for growth"):
        updated("# nothing here\n", {"growth": b"{}"})
