"""Text that users read uses the words of Kubernetes, not private ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dovetail"

# What not to write, and what to write instead.
PHRASES: Final = {
    "pods that wait": "pending pods",
    "pod that waits": "pending pod",
    "waiting pod": "pending pod",
    "it waits": "it is pending",
    "bought": "capacity type, or provisioned",
    "asked for": "requested",
    "asks for": "requests or requires",
    "nobody": "no pods, or unknown",
    "whoever": "anyone who, or users who",
    "came to nothing": "failed",
    "comes to nothing": "fails",
    "taken away": "removed",
    "take away": "remove",
    "takes away": "removes",
    "took it away": "removed it",
    "on its way out": "being removed",
    "on their way out": "terminating",
    "may not be disturbed": "may not be disrupted",
    "what it costs": "price",
    "how full it is": "requested",
    "let it go": "allow its removal",
    "in its way": "blocks its removal",
    "would do as well": "would also fit",
    "thought away": "removed",
    "in vain": "failed, or unused",
    "mend": "correct",
    "dearer": "more expensive",
    "dearest": "most expensive",
    "put up with": "tolerate",
    "made up": "simulated",
    "pretended": "simulated",
    "without hope": "unschedulable",
    "infirmary": "node repair",
    "talk to stderr": "progress and warnings go to stderr",
}
# File and phrase that may stay, with the reason.
EXCEPTIONS: Final[dict[tuple[str, str], str]] = {}
PROSE = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((SOURCE / "web" / "dashboard" / "pages").glob("*.js")),
    *sorted((SOURCE / "web" / "dashboard" / "pages").glob("*.html")),
    ROOT / "charts" / "dovetail" / "values.yaml",
)
CODE = (
    *(
        path
        for folder in ("present", "cli", "observe", "settings", "decide")
        for path in sorted((SOURCE / folder).rglob("*.py"))
    ),
    *(SOURCE / "sim" / "report").glob("*.py"),
    SOURCE / "sim" / "demo" / "story.py",
    SOURCE / "app.py",
)


def _literals(path: Path) -> Iterator[str]:
    """String literals of a module without its docstrings; an f-string without its expressions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in bare:
            yield one.value
        elif isinstance(one, ast.JoinedStr):
            parts = (part.value for part in one.values if isinstance(part, ast.Constant))
            yield "{}".join(str(part) for part in parts)


def _found(path: Path, texts: Iterator[str]) -> list[str]:
    """The phrases of the table that occur in these texts, line breaks counting as blanks."""
    name = path.relative_to(ROOT).as_posix()
    said = "\n".join(" ".join(text.lower().split()) for text in texts)
    return [
        f"{name}: {phrase!r}; write {instead}"
        for phrase, instead in PHRASES.items()
        if re.search(rf"\b{re.escape(phrase)}", said) and (name, phrase) not in EXCEPTIONS
    ]


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_pages_use_plain_words(path: Path) -> None:
    """README, documentation, the dashboard and the values of the chart."""
    assert _found(path, iter([path.read_text(encoding="utf-8")])) == []


def test_messages_use_plain_words() -> None:
    """Whatever a command, a condition, an event or a metric says."""
    assert [line for path in CODE for line in _found(path, _literals(path))] == []


def test_exceptions_are_needed() -> None:
    """An exception is removed with the text that it was for."""
    for name, phrase in EXCEPTIONS:
        text = " ".join((ROOT / name).read_text(encoding="utf-8").lower().split())
        assert phrase in text, (name, phrase)
