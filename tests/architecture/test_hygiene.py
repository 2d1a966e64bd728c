"""Nothing is left undone in secret."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
# Put together here, so that this file does not accuse itself.
UNDONE = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
SKIPPED = re.compile(r"pytest\.(mark\.)?(skip|skipif|xfail|importor" + r"skip)\b")
SUPPRESSED = re.compile(r"#\s*(noqa(:\s*[A-Z0-9, ]+)?|type:\s*ignore(\[[a-z, -]+\])?)")


def found(pattern: re.Pattern[str], paths: list[Path]) -> list[tuple[str, str, str]]:
    """Every match: the file, what was found, and what follows it on the line."""
    return [
        (str(path.relative_to(ROOT)), match[0], line[match.end() :])
        for path in paths
        for line in path.read_text(encoding="utf-8").splitlines()
        for match in pattern.finditer(line)
    ]


def test_nothing_is_left_to_do_in_the_source() -> None:
    """What is not built is not hinted at either."""
    assert found(UNDONE, SOURCES) == []


def test_no_test_is_skipped() -> None:
    """A test that does not run proves nothing."""
    assert found(SKIPPED, TESTS) == []


def test_every_suppressed_warning_gives_its_reason() -> None:
    """A `noqa` or `type: ignore` says on its own line why it is right."""
    suppressed = found(SUPPRESSED, [*SOURCES, *TESTS])
    assert [one for one in suppressed if not re.search(r"\w{3,}", one[2])] == []
