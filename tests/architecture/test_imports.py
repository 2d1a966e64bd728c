"""Who may know what: rules about imports that no layer states."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dovetail"
ARRAYS = {"numpy", "highspy"}
OUTSIDE = {
    "asyncio",
    "http",
    "logging",
    "multiprocessing",
    "os",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "threading",
    "time",
    "urllib",
    "uuid",
}


def imported(path: Path) -> set[str]:
    """The top-level names of everything a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module.partition(".")[0])
    return found


def modules(*packages: str) -> list[Path]:
    """All modules of these packages."""
    return sorted(path for package in packages for path in (SOURCE / package).rglob("*.py"))


PURE = modules("decide", "solve", "model", "units")


def test_only_solve_knows_arrays() -> None:
    """NumPy and HiGHS stay behind one door, so that the rest starts fast and reads plainly."""
    elsewhere = [path for path in SOURCE.rglob("*.py") if path not in set(modules("solve"))]
    guilty = [str(path.relative_to(ROOT)) for path in elsewhere if imported(path) & ARRAYS]
    assert guilty == []


def test_the_core_cannot_see_the_outside() -> None:
    """No clock, no chance, no log, no process, no network."""
    guilty = {str(path.relative_to(ROOT)): sorted(imported(path) & OUTSIDE) for path in PURE}
    assert {path: names for path, names in guilty.items() if names} == {}
