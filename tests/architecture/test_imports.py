"""Import rules that import-linter cannot state; the others are contracts in pyproject.toml."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dovetail"
# A cache outlives a decision. In the core only parsers have one: the same text, the same value.
CACHES = {"cache", "lru_cache"}
CACHED = {
    "units/cron.py": {"lru_cache"},
    "units/quantity.py": {"lru_cache"},
}


def imported(path: Path) -> set[tuple[str, str]]:
    """Every imported module with the name taken from it, if any, wherever in the file."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {(node.module, alias.name) for alias in node.names}
    return found


def modules(*packages: str) -> list[Path]:
    """All modules of these packages."""
    return sorted(path for package in packages for path in (SOURCE / package).rglob("*.py"))


def test_the_core_remembers_nothing_between_decisions_but_parsed_text() -> None:
    """No `functools.cache` but in the listed places; `functools` itself is imported by name."""
    got = {
        str(path.relative_to(SOURCE)): caches
        for path in modules("decide", "solve", "model", "units")
        if (
            caches := {
                name
                for module, name in imported(path)
                if module == "functools" and name in {*CACHES, ""}
            }
        )
    }
    assert got == CACHED


def test_the_oracle_shares_no_code_with_what_it_judges() -> None:
    """It may know the nouns of a decision, and nothing that decides."""
    may_know = ("dovetail.model", "dovetail.units", "dovetail.labels")
    guilty = {
        f"{path.name} imports {module}"
        for path in (ROOT / "tests" / "oracle").glob("*.py")
        if not path.name.startswith("test_")
        for module, name in imported(path)
        if module.startswith("dovetail") and not f"{module}.{name}".startswith(may_know)
    }
    assert guilty == set()


# Who may name the kind of a provider: simulations of kwok nodes, and shorthand for tests.
NAMING_KINDS = ("providers", "sim/demo", "testing/machines.py")


def test_generic_code_names_no_kind_of_a_provider() -> None:
    """Kinds come from plugins: what is written for one provider serves no other."""
    kinds = ("KWOKNodeClass", "EC2NodeClass")
    guilty = {
        f"{name} names {kind}"
        for path in SOURCE.rglob("*.py")
        for name in [path.relative_to(SOURCE).as_posix()]
        for kind in kinds
        if not name.startswith(NAMING_KINDS) and kind in path.read_text(encoding="utf-8")
    }
    assert guilty == set()
