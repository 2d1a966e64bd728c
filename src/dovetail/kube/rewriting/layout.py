"""Finds where each value of a YAML stream stands, from the marks of the parser's events.

Only for text that `yaml_trees` has read: it is bounded there. Aliases are not followed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_KEEPS: Final = "+"


class TextPosition:
    """A place in the text: line and column, from 0."""

    __slots__ = ("column", "line")

    def __init__(self, line: int, column: int) -> None:
        self.line = line
        self.column = column


class Block:
    """A value in the text, and its entries: by key of a mapping, by number of a list.

    `is_shared` says that there is an anchor, an alias or a tag in it: it means more than it says.
    """

    __slots__ = ("end", "entries", "is_flow", "is_list", "is_shared", "start")

    def __init__(self, event: Event) -> None:
        self.start, self.end = _marks(event)
        self.entries: dict[str | int, Entry] = {}
        self.is_list = isinstance(event, SequenceStartEvent)
        self.is_flow = isinstance(event, ScalarEvent) or bool(getattr(event, "flow_style", False))
        self.is_shared = isinstance(event, AliasEvent) or (
            isinstance(event, NodeEvent)
            and (event.anchor is not None or getattr(event, "tag", None) is not None)
        )

    @staticmethod
    def empty() -> Block:
        """A value that stands nowhere."""
        return Block(Event())


class Entry:
    """A key and its value, or an item of a list. `start` is that of the key or of the dash."""

    __slots__ = ("key_end", "start", "value")

    def __init__(self, start: TextPosition, key_end: TextPosition, value: Block) -> None:
        self.start = start
        self.key_end = key_end
        self.value = value


class Document:
    """A document: its value, and the line at which the next one begins."""

    __slots__ = ("end_line", "root")

    def __init__(self, root: Block) -> None:
        self.root = root
        self.end_line = sys.maxsize


class YamlLayout:
    """The documents of a stream, its lines without their breaks, and its comments by line."""

    def __init__(self, text: str) -> None:
        self.lines = _BREAK.split(text)
        self.documents: list[Document] = []
        self._covered: dict[int, int] = {}  # up to which column of a line no comment can begin
        self._events = self._parse(text)
        self._read()

    def comment(self, line: int) -> str:
        """The comment of a line, empty if it has none."""
        text = self.lines[line]
        at = self._covered.get(line, 0)
        if at < 0:  # inside of a text of several lines
            return ""
        at = text.find("#", at)
        is_comment = at == 0 or (at > 0 and text[at - 1] in " \t")
        return text[at:].rstrip() if is_comment else ""

    def comments(self) -> list[str]:
        """All comments."""
        return [text for text in map(self.comment, range(len(self.lines))) if text]

    def _parse(self, text: str) -> Iterator[Event]:
        loader = yaml.CSafeLoader(text)
        yield from iter(loader.get_event, None)

    def _read(self) -> None:
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                self._end_document(event)
                self._cover(event)
                self.documents.append(Document(self._block(next(self._events))))
            elif isinstance(event, DocumentEndEvent) and event.explicit:
                self._end_document(event)
        for document in self.documents:
            document.end_line = min(document.end_line, len(self.lines))

    def _end_document(self, event: Event) -> None:
        """The document before ends where this begins, unless it has ended."""
        if self.documents and event.start_mark is not None:
            last = self.documents[-1]
            last.end_line = min(last.end_line, event.start_mark.line)

    def _block(self, event: Event) -> Block:
        block = Block(event)
        if isinstance(event, ScalarEvent):
            self._cover_scalar(event, block)
        if not isinstance(event, CollectionStartEvent):
            return block
        is_mapping = isinstance(event, MappingStartEvent)
        end = self._mapping(block) if is_mapping else self._list(block)
        if block.is_flow:
            block.end = _marks(end)[1]
            self._cover(end)
        elif block.entries:
            block.end = next(reversed(block.entries.values())).value.end
        block.is_shared |= any(entry.value.is_shared for entry in block.entries.values())
        return block

    def _mapping(self, block: Block) -> Event:
        while True:
            event = next(self._events)
            if not isinstance(event, NodeEvent):
                return event
            key = self._block(event)
            value = self._block(next(self._events))
            name = event.value if isinstance(event, ScalarEvent) else ""
            block.entries[name] = Entry(key.start, key.end, value)
            block.is_shared |= key.is_shared or name == "<<"

    def _list(self, block: Block) -> Event:
        before = block.start.line
        while True:
            event = next(self._events)
            if isinstance(event, SequenceEndEvent):
                return event
            value = self._block(event)
            dash = value.start if block.is_flow else self._dash_at(block, value, before)
            before = value.end.line
            block.entries[len(block.entries)] = Entry(dash, dash, value)

    def _dash_at(self, block: Block, value: Block, after: int) -> TextPosition:
        """Where the dash of an item stands."""
        column = block.start.column
        for line in range(value.start.line, after - 1, -1):
            if self.lines[line][column : column + 1] == "-":
                behind = self.lines[line][column + 1 : column + 2]
                if behind in {"", " ", "\t"}:
                    return TextPosition(line, column)
        return TextPosition(value.start.line, column)

    def _cover(self, event: Event) -> None:
        end = event.end_mark
        if end is not None:
            self._covered[end.line] = max(self._covered.get(end.line, 0), end.column)

    def _cover_scalar(self, event: ScalarEvent, block: Block) -> None:
        first = block.start.line
        if event.style in {"|", ">"}:
            header = self.lines[first][block.start.column :].partition("#")[0]
            last = block.end.line - (block.end.column == 0)
            if _KEEPS not in header:
                while last > first and not self.lines[last].strip():
                    last -= 1
            block.end = TextPosition(last, len(self.lines[last]))
            for line in range(first + 1, last + 1):
                self._covered[line] = -1
            self._covered[first] = max(self._covered.get(first, 0), block.start.column + 1)
            return
        for line in range(first, block.end.line):
            self._covered[line] = -1
        self._covered[block.end.line] = max(self._covered.get(block.end.line, 0), block.end.column)


def _marks(event: Event) -> tuple[TextPosition, TextPosition]:
    start, end = event.start_mark, event.end_mark
    if start is None or end is None:
        return TextPosition(0, 0), TextPosition(0, 0)
    return TextPosition(start.line, start.column), TextPosition(end.line, end.column)
