"""The modules of a source tree: their folders, lines, imports and public classes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dovetail"
WIRE_TYPES = "dovetail.api"


class Module(NamedTuple):
    """A module by its dotted name. `imports` holds modules of the same tree, wherever in the file
    they are imported.
    """

    name: str
    path: Path
    n_lines: int
    imports: frozenset[str]
    classes: tuple[str, ...]


def modules(package: Path = PACKAGE) -> dict[str, Module]:
    """Every module of a package, by name."""
    paths = {_name(path, package): path for path in sorted(package.rglob("*.py"))}
    return {name: _module(name, path, paths) for name, path in paths.items()}


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _module(name: str, path: Path, paths: Mapping[str, Path]) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    imports = frozenset(_imports(tree, paths)) - {name}
    classes = tuple(
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return Module(name, path, len(text.splitlines()), imports, classes)


def _imports(tree: ast.Module, paths: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in paths)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module in paths:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in paths else node.module


def folder_sizes(found: Mapping[str, Module]) -> dict[str, int]:
    """How many modules each folder holds, `__init__` aside."""
    n_modules = Counter(
        str(module.path.parent.relative_to(PACKAGE.parent))
        for module in found.values()
        if module.path.name != "__init__.py"
    )
    return dict(sorted(n_modules.items(), key=lambda item: (-item[1], item[0])))


def single_importers(found: Mapping[str, Module]) -> dict[str, str]:
    """Modules that exactly one other module imports, and which; packages are left out."""
    importers: dict[str, list[str]] = {name: [] for name in found}
    for module in found.values():
        for name in module.imports:
            importers[name].append(module.name)
    return {
        name: users[0]
        for name, users in importers.items()
        if len(users) == 1 and found[name].path.name != "__init__.py"
    }


def shared_class_names(found: Mapping[str, Module]) -> dict[str, list[str]]:
    """Names that more than one module gives to a public class. Wire types are left out: they wear
    their module (`api.Pod`).
    """
    homes: dict[str, list[str]] = {}
    for module in found.values():
        if module.name.startswith(WIRE_TYPES):
            continue
        for name in module.classes:
            homes.setdefault(name, []).append(module.name)
    return {name: where for name, where in sorted(homes.items()) if len(where) > 1}
