"""The glossary explains words that are Dovetail's own, and names no class that is gone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dovetail"
GLOSSARY = (ROOT / "GLOSSARY.md").read_text(encoding="utf-8")
STYLE = (ROOT / "STYLE.md").read_text(encoding="utf-8")


def table_rows(text: str) -> list[tuple[str, str]]:
    """The rows of tables with two columns, without their headings."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", text, flags=re.MULTILINE)
    return [row for row in rows if not row[0].startswith("---")][1:]


def class_names() -> set[str]:
    """The public classes of all modules."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py"))
    return {
        node.name
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def test_the_classes_of_the_glossary_are_there() -> None:
    """A class that is renamed is renamed here too."""
    named = set(re.findall(r"`([A-Z]\w+)`", GLOSSARY))
    assert named
    assert sorted(named - class_names()) == []


def test_no_word_is_explained_twice() -> None:
    """One word, one line."""
    words = [word for word, _ in table_rows(GLOSSARY)]
    assert len(words) > 10
    assert sorted(words) == sorted(set(words))


def test_there_are_plain_words_for_fifty_others() -> None:
    """The table of plain words has one line for each, and none replaces a word by itself."""
    pairs = table_rows(STYLE)
    assert len(pairs) >= 50
    assert [seen for seen, plain in pairs if seen == plain] == []
