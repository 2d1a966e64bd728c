"""Writes a changed object as YAML: what did not change is copied from its source, comments too.

A value that is equal to that of the field it comes from is copied with its lines. Others are
written anew, in block style, with the comments above their keys and behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail import api
from dovetail.api.older.draft import NOWHERE, Path, value_at
from dovetail.kube.rewriting.layout import Block, Entry, YamlLayout
from dovetail.kube.rewriting.scalars import block_lines, scalar_text

_INDENT: Final = 2


def plain_lines(tree: dict[str, api.Tree]) -> list[str]:
    """An object without a source."""
    return Rendering(YamlLayout(""), None, None, {}).lines(tree)


class Rendering:
    """One object that is written. `source` is what the document `root` was read as, and `moves`
    say of fields where they come from; others come from the same place beside their siblings.
    """

    def __init__(
        self, layout: YamlLayout, root: Block | None, source: api.Tree, moves: Mapping[Path, Path]
    ) -> None:
        self._layout = layout
        self._root = root
        self._source = source
        self._moves = moves

    def lines(self, tree: dict[str, api.Tree]) -> list[str]:
        """The lines of the object."""
        return self._mapping(tree, (), ())

    def _mapping(self, tree: dict[str, api.Tree], path: Path, source: Path | None) -> list[str]:
        lines: list[str] = []
        for key, value in tree.items():
            inner = (*path, key)
            written = self._entry(f"{scalar_text(key)}:", value, inner, source)
            lines += written if lines else _without_blank_start(written)
        return [*lines, *self._tail(source)]

    def _list(self, values: list[api.Tree], path: Path, source: Path | None) -> list[str]:
        lines: list[str] = []
        for index, value in enumerate(values):
            written = self._entry("-", value, (*path, index), source)
            lines += written if lines else _without_blank_start(written)
        return [*lines, *self._tail(source)]

    def _entry(self, label: str, value: api.Tree, path: Path, outer: Path | None) -> list[str]:
        origin = self._origin(path, outer)
        entry = self._find(origin)
        if entry is None or origin is None:
            return self._write(label, value, path, origin)
        is_in_flow = self._holder(origin).is_flow
        head = [] if is_in_flow else self._head(entry)
        if not entry.value.is_shared and self._is_same(value, origin):
            is_renamed = label != "-" and path[-1] != origin[-1]
            copied = self._copy(label, entry, is_in_flow=is_in_flow, is_renamed=is_renamed)
            if copied:
                return [*head, *copied]
        behind = "" if is_in_flow else self._comment_of(entry)
        return [*head, *self._write(label + behind, value, path, origin)]

    def _origin(self, path: Path, outer: Path | None) -> Path | None:
        """Where a field comes from, None if it is new."""
        if path in self._moves:
            origin = self._moves[path]
            return None if origin == NOWHERE else origin
        return (*outer, path[-1]) if outer is not None else None

    def _write(self, label: str, value: api.Tree, path: Path, origin: Path | None) -> list[str]:
        name, _, note = label.partition(" ")
        behind = f" {note}" if note else ""
        if isinstance(value, str) and (block := block_lines(value)) is not None:
            header, body = block
            return [f"{name} {header}{behind}", *_indent_lines(body)]
        if isinstance(value, dict) and value:
            inner = self._mapping(value, path, origin)
        elif isinstance(value, list) and value:
            inner = self._list(value, path, origin)
        else:
            empty = "{}" if isinstance(value, dict) else "[]" if isinstance(value, list) else ""
            return [f"{name} {empty or scalar_text(value)}{behind}"]
        return _as_item(inner) if label == "-" else [label, *_indent_lines(inner)]

    def _find(self, origin: Path | None) -> Entry | None:
        if not origin or self._root is None:
            return None
        block, entry = self._root, None
        for step in origin:
            entry = block.entries.get(step)
            if entry is None:
                return None
            block = entry.value
        return entry

    def _holder(self, origin: Path) -> Block:
        outer = self._find(origin[:-1])
        return outer.value if outer is not None else self._root or Block.empty()

    def _is_same(self, value: api.Tree, origin: Path) -> bool:
        return api.encode(value_at(self._source, origin)) == api.encode(value)

    def _copy(self, label: str, entry: Entry, *, is_in_flow: bool, is_renamed: bool) -> list[str]:
        """The lines of an entry with this label; nothing where they cannot be copied."""
        lines, start, value = self._layout.lines, entry.start, entry.value
        if is_in_flow:
            is_short = value.start.line == value.end.line
            text = lines[value.start.line][value.start.column : value.end.column]
            return [f"{label} {text}"] if is_short and text else []
        first = lines[start.line][start.column :].rstrip()
        if is_renamed:
            behind = first[entry.key_end.column - start.column :].lstrip()
            first = label + behind.removeprefix(":")
        rest = lines[start.line + 1 : value.end.line + 1]
        return [
            first,
            *_dedent([*rest, *self._below(value.end.line, start.column + 1)], start.column),
        ]

    def _head(self, entry: Entry) -> list[str]:
        """The comments and blank lines above an entry."""
        lines, start = self._layout.lines, entry.start
        if self._root is None or lines[start.line][: start.column].strip():
            return []  # it is the first in its line behind a dash, which has them
        head: list[str] = []
        for at in range(start.line - 1, self._root.start.line, -1):
            text = lines[at].strip()
            if text and (not self._is_comment(at) or _indent(lines[at]) > start.column):
                break
            head.append(text)
        return head[::-1]

    def _tail(self, source: Path | None) -> list[str]:
        """The comments below the last entry of a list or mapping that are indented as it is."""
        entry = self._find(source)
        if entry is None or entry.value.is_flow or not entry.value.entries:
            return []
        column = entry.value.start.column
        deeper = self._below(entry.value.end.line, column + 1)
        below = self._below(entry.value.end.line, column)
        is_own = column > entry.start.column
        return [text.strip() for text in below[len(deeper) :]] if is_own else []

    def _below(self, line: int, column: int) -> list[str]:
        """Comments right below a line that are indented at least so far."""
        lines, last = self._layout.lines, self._root.end.line if self._root is not None else 0
        below: list[str] = []
        for at in range(line + 1, last):
            if not self._is_comment(at) or _indent(lines[at]) < column:
                break
            below.append(lines[at].rstrip())
        return below

    def _is_comment(self, line: int) -> bool:
        return self._layout.lines[line].lstrip().startswith("#") and bool(
            self._layout.comment(line)
        )

    def _comment_of(self, entry: Entry) -> str:
        """The comment behind a key, or behind a value in one line, with a blank before it."""
        line, value = entry.start.line, entry.value
        if value.start.line == line and value.entries and not value.is_flow:
            return ""  # it belongs to the first entry of the value
        comment = self._layout.comment(line)
        return f" {comment}" if comment else ""


def _without_blank_start(lines: list[str]) -> list[str]:
    return _without_blank_start(lines[1:]) if lines and not lines[0] else lines


def _as_item(lines: list[str]) -> list[str]:
    """The lines of a value behind a dash, comments above it."""
    n_head = next(at for at, line in enumerate(lines) if line and not line.startswith("#"))
    first, *rest = lines[n_head:]
    return [*lines[:n_head], f"- {first}", *_indent_lines(rest)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _indent_lines(lines: list[str]) -> list[str]:
    return [" " * _INDENT + line if line else "" for line in lines]


def _dedent(lines: list[str], column: int) -> list[str]:
    """The lines, so many columns to the left as there are blanks."""
    return [line[min(column, _indent(line)) :] for line in lines]
