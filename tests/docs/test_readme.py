"""What the documents promise exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "designs/*.md", "scenarios/*.md")
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_make_target_that_is_mentioned_exists(path: Path) -> None:
    """A command in the documentation can be typed."""
    text = path.read_text(encoding="utf-8")
    mentioned = set(re.findall(r"`make ([a-z]+)", text))
    for block in text.split("```")[1::2]:
        mentioned |= set(re.findall(r"^make ([a-z]+)", block, re.MULTILINE))
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    assert sorted(mentioned - targets) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    """Relative links point at files of the repository."""
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if not (path.parent / link).exists()]
    assert missing == []


def test_the_two_commands_of_the_readme_are_there() -> None:
    """Whoever opens the README finds how to see it and how to test it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text
