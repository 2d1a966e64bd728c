"""The glossary has one line for every noun that more than one package uses."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dovetail"
GLOSSARY = (ROOT / "GLOSSARY.md").read_text(encoding="utf-8")
# Packages whose classes are words for everybody. Of the others, only what `__init__` passes on.
VOCABULARY = ("cloud", "model", "settings", "testing", "units")
WORKSHOPS = ("actuate", "controllers", "decide", "observe", "present", "sim", "solve", "state")


def tree(path: Path) -> ast.Module:
    """A module's syntax."""
    return ast.parse(path.read_text(encoding="utf-8"))


def classes(path: Path) -> list[str]:
    """The public classes at the top of a module."""
    found = [node.name for node in tree(path).body if isinstance(node, ast.ClassDef)]
    return [name for name in found if not name.startswith("_")]


def passed_on(package: Path) -> set[str]:
    """The names that a package's `__init__` imports from its own modules."""
    return {
        alias.asname or alias.name
        for node in tree(package / "__init__.py").body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def nouns() -> list[str]:
    """Every public class that somebody outside its module may meet, once for each definition."""
    shared = [path for package in VOCABULARY for path in (SOURCE / package).rglob("*.py")]
    found = [name for path in (*shared, *SOURCE.glob("*.py")) for name in classes(path)]
    for package in WORKSHOPS:
        home = SOURCE / package
        if home.exists():
            shown = passed_on(home)
            found += [
                name for path in home.rglob("*.py") for name in classes(path) if name in shown
            ]
    return sorted(found)


def entries() -> list[str]:
    """The nouns that the glossary explains."""
    return re.findall(r"^\| `(\w+)` \| \S", GLOSSARY, flags=re.MULTILINE)


def test_every_noun_is_in_the_glossary() -> None:
    """Whoever adds a noun says in one line what it is."""
    assert sorted(set(nouns()) - set(entries())) == []


def test_the_glossary_names_nothing_that_is_gone() -> None:
    """Whoever removes a noun removes its line."""
    assert sorted(set(entries()) - set(nouns())) == []


def test_no_two_nouns_share_a_name() -> None:
    """One name, one noun."""
    assert [name for name, n_times in Counter(nouns()).items() if n_times > 1] == []
