"""Builds an object of v1 from an older one, and notes where each of its fields came from.

What came from where is kept for whoever writes the result: comments go along with their fields.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Final

import msgspec

from dovetail.api.decoding import Tree

Fields = dict[str, Tree]
Path = tuple[str | int, ...]
Where = str | Path

NOWHERE: Final[Path] = ("",)  # the source of what stood nowhere


class Notice(msgspec.Struct, frozen=True):
    """What has no equal in v1, and what to do about it. An error means: not converted."""

    field: str
    message: str
    is_error: bool = False


class Draft:
    """An object of v1 in the making. Paths are dotted; a key with dots needs a tuple."""

    def __init__(self, source: Fields, tree: Fields | None = None) -> None:
        self.source = source
        self.tree: Fields = {} if tree is None else copy.deepcopy(tree)
        self.moves: dict[Path, Path] = {}
        self.notices: list[Notice] = []
        self.kubelet: Fields = {}  # of a pool: it belongs to the node class
        self.kubelet_field = ""

    @property
    def name(self) -> str:
        """The name of the object."""
        name = value_at(self.tree, ("metadata", "name"))
        return name if isinstance(name, str) else ""

    def source_value(self, where: Where) -> Tree:
        """The value of a field of the source, None if it is absent."""
        return value_at(self.source, path_of(where))

    def fields(self, where: Where) -> Fields:
        """The same for a mapping, empty if it is absent."""
        return as_fields(self.source_value(where))

    def put(self, target: Where, value: Tree, source: Where = NOWHERE) -> None:
        """Set a field, with the field of the source that it comes from."""
        path = path_of(target)
        _put(self.tree, path, copy.deepcopy(value))
        self.moves[path] = path_of(source)

    def copy(self, source: Where, target: Where = "") -> None:
        """Carry a field of the source over, if it is there."""
        value = self.source_value(source)
        if value is not None:
            self.put(target or source, value, source)

    def move(self, source: Where, target: Where) -> None:
        """Move a field within the tree, if it is there."""
        value = value_at(self.tree, path_of(source))
        self.remove(source)
        if value is not None:
            self.put(target, value, source)

    def remove(self, where: Where) -> None:
        """Take a field out of the tree, if it is there."""
        *outer, last = path_of(where)
        holder = value_at(self.tree, tuple(outer))
        if isinstance(holder, dict) and isinstance(last, str):
            holder.pop(last, None)

    def has(self, where: Where) -> bool:
        """Whether the tree has the field."""
        return value_at(self.tree, path_of(where)) is not None

    def at(self, where: Where) -> Tree:
        """The value of a field of the tree, None if it is absent."""
        return value_at(self.tree, path_of(where))

    def tell(self, where: Where, message: str) -> None:
        """Note what has no equal in v1."""
        self.notices.append(Notice(path_text(path_of(where)), message))

    def refuse(self, where: Where, message: str) -> None:
        """Note what cannot be converted; the object stays as it is."""
        self.notices.append(Notice(path_text(path_of(where)), message, is_error=True))

    def leave_out(self, where: Where, message: str) -> None:
        """Note a field of the source that is dropped, if it is there."""
        if self.source_value(where) is not None:
            self.tell(where, message)


def path_of(where: Where) -> Path:
    """The steps of a path."""
    if isinstance(where, tuple):
        return where
    return tuple(where.split(".")) if where else ()


def path_text(path: Path) -> str:
    """A path as messages name it."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def value_at(tree: Tree, path: Path) -> Tree:
    """The value at a path, None if there is none."""
    for step in path:
        if isinstance(tree, dict) and isinstance(step, str):
            tree = tree.get(step)
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        else:
            return None
    return tree


def as_fields(value: Tree) -> Fields:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Tree) -> list[Fields]:
    """The mappings of a list, empty if it is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(value: Tree) -> Iterator[tuple[str, str]]:
    """The entries of a mapping of texts."""
    for key, entry in as_fields(value).items():
        if isinstance(entry, str):
            yield key, entry


def is_deeper(tree: Tree, most: int) -> bool:
    """Whether lists and mappings are nested deeper than so many levels."""
    layer: list[Tree] = [tree]
    for _ in range(most):
        layer = [
            inner
            for value in layer
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not layer:
            return False
    return True


def _put(tree: Fields, path: Path, value: Tree) -> None:
    *outer, last = path
    holder = tree
    for step in outer:
        inner = holder.get(str(step))
        if not isinstance(inner, dict):
            inner = holder[str(step)] = {}
        holder = inner
    holder[str(last)] = value
