"""No rule of disruption without a scenario or a test that shows it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.coverage.rules import MISSING, RULES, SECTIONS

ROOT = Path(__file__).parents[2]
PLACES = sorted({place for places in RULES.values() for place in places})


@cache
def named_tests(path: Path) -> frozenset[str]:
    """The names of all tests of a file."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(one.name for one in ast.walk(tree) if isinstance(one, functions))


@pytest.mark.parametrize("place", PLACES)
def test_what_shows_a_rule_is_there(place: str) -> None:
    """A scenario file, or a test under its name."""
    file, _, name = place.partition("::")
    if name:
        assert name in named_tests(ROOT / "tests" / file)
    else:
        assert (ROOT / "scenarios" / f"{file}.yaml").is_file()


def test_every_section_has_its_rules() -> None:
    """Shown, or said to be missing."""
    assert {section for section, _ in (*RULES, *MISSING)} == SECTIONS


@pytest.mark.parametrize("rule", sorted(RULES), ids=" ".join)
def test_every_rule_is_shown_somewhere(rule: tuple[str, str]) -> None:
    """At least once."""
    assert RULES[rule]
