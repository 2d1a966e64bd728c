"""The glossary has one line for every public class outside the wire types."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dovetail"
GLOSSARY = (ROOT / "GLOSSARY.md").read_text(encoding="utf-8")
# Wire types are Kubernetes' own words, documented there.
WIRE = SOURCE / "api"


def public_classes() -> list[str]:
    """The names of all public classes at the top of a module."""
    return sorted(
        node.name
        for path in SOURCE.rglob("*.py")
        if not path.is_relative_to(WIRE)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )


def entries() -> list[str]:
    """The names that the glossary explains."""
    return re.findall(r"^\| `(\w+)` \| \S", GLOSSARY, flags=re.MULTILINE)


def test_every_public_class_is_in_the_glossary() -> None:
    """Whoever adds a noun says in one line what it is."""
    assert sorted(set(public_classes()) - set(entries())) == []


def test_the_glossary_names_nothing_that_is_gone() -> None:
    """Whoever removes a noun removes its line."""
    assert sorted(set(entries()) - set(public_classes())) == []


def test_no_two_public_classes_share_a_name() -> None:
    """One name, one noun."""
    twice = [name for name, n_times in Counter(public_classes()).items() if n_times > 1]
    assert twice == []
