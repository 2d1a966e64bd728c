"""Files stay small enough to be read in one go."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))
LONGEST_MODULE = 400
LONGEST_FUNCTION = 40


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function with the number of lines of its code, docstring and signature apart."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body:
                yield node.name, (node.end_lineno or 0) - body[0].lineno + 1


def test_no_module_is_longer_than_it_should_be() -> None:
    """Past 400 lines a second law is hiding in the first."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    long = [(str(path.relative_to(ROOT)), n) for path, n in lengths.items() if n > LONGEST_MODULE]
    assert long == []


def test_no_function_is_longer_than_it_should_be() -> None:
    """A long law becomes a table or a list of small laws."""
    long = [
        (str(path.relative_to(ROOT)), name, n_lines)
        for path in MODULES
        for name, n_lines in functions(path)
        if n_lines > LONGEST_FUNCTION
    ]
    assert long == []


def test_every_module_opens_with_what_it_is_about() -> None:
    """A reader learns from the first line which question a module answers."""
    silent = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []
