"""Parses YAML text to plain trees, one for each document, from the parser's events.

The parser is libyaml; the trees are built here rather than by PyYAML, because manifests need other
rules: text that looks like a time stays text, keys are text, a key may occur once, and input that
is built to exhaust memory (aliases of aliases, endless nesting) is refused while it is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from dovetail import api

DEEPEST: Final = 100
MOST_ALIASED: Final = 100_000  # values that aliases may stand for in one document
_CACHED: Final = 1 << 16
_YAML_TAG: Final = "tag:yaml.org,2002:"

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
# YAML 1.1, as the C loader and kubectl read it; times and base 60 stay text, as in Kubernetes.
_BOOLS: Final = {
    spelling: truth
    for truth, words in ((True, ("yes", "true", "on")), (False, ("no", "false", "off")))
    for word in words
    for spelling in (word, word.capitalize(), word.upper())
}
_STARTS_NUMBER: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(
    r"(?P<sign>[+-]?)(?:0b(?P<two>[01_]+)|0x(?P<sixteen>[0-9a-fA-F_]+)|0o?(?P<eight>[0-7_]+)"
    r"|(?P<ten>0|[1-9][0-9_]*))"
)
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER: Final = 64
_BASES: Final = (("two", 2), ("sixteen", 16), ("eight", 8), ("ten", 10))


class YamlError(Exception):
    """What is wrong, in which document."""

    def __init__(self, document: int, message: str) -> None:
        super().__init__(message)
        self.document = document
        self.message = message


def trees(data: bytes | bytearray) -> Iterator[tuple[int, api.Tree]]:
    """Every document that is not empty, with its number from 1. Raises YamlError."""
    document = 1
    try:
        loader = yaml.CSafeLoader(data.decode())
        for event in iter(loader.get_event, None):
            if isinstance(event, StreamEndEvent):
                return
            if isinstance(event, DocumentStartEvent):
                tree = _Builder(document, loader).tree()
                if tree is not None:
                    yield document, tree
                document += 1
    except yaml.MarkedYAMLError as error:
        raise YamlError(document, _syntax(error)) from None
    except yaml.reader.ReaderError as error:
        raise YamlError(document, f"not text: {error.reason}; expected YAML in UTF-8") from None
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}; expected YAML in UTF-8"
        raise YamlError(document, message) from None


def _syntax(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    stated = ", ".join(part for part in (error.context, error.problem) if part)
    return f"{where}malformed YAML ({stated}); expected well-formed YAML"


class _Open:
    """A list or mapping that is being filled."""

    __slots__ = (
        "anchor",
        "is_mapping",
        "is_merge",
        "items",
        "key",
        "mapping",
        "merged",
        "n_before",
    )

    def __init__(self, *, is_mapping: bool, anchor: str | None, n_before: int) -> None:
        self.is_mapping = is_mapping
        self.anchor = anchor
        self.n_before = n_before
        self.items: list[api.Tree] = []
        self.mapping: dict[str, api.Tree] = {}
        self.key: str | None = None
        self.is_merge = False  # whether the key is an unquoted <<
        self.merged: list[dict[str, api.Tree]] = []

    def close(self) -> api.Tree:
        """What it came to. Merged mappings fill in only what is not there, the first one first."""
        if not self.is_mapping:
            return self.items
        for more in self.merged:
            self.mapping = {**more, **self.mapping}
        return self.mapping


class _Builder:
    """Builds one document's tree with an explicit stack, so that depth is counted, not suffered."""

    def __init__(self, document: int, loader: yaml.CSafeLoader) -> None:
        self._document = document
        self._loader = loader
        self._stack: list[_Open] = []
        self._anchored: dict[str, tuple[api.Tree, int]] = {}
        self._opened: set[str] = set()
        self._n_values = 0  # aliases counted as what they stand for
        self._n_aliased = 0
        self._root: api.Tree = None

    def tree(self) -> api.Tree:
        """The document, up to its end event."""
        get_event = self._loader.get_event
        while True:
            event = get_event()
            if isinstance(event, ScalarEvent):
                self._scalar(event)
            elif isinstance(event, MappingStartEvent | SequenceStartEvent):
                self._open(event)
            elif isinstance(event, MappingEndEvent | SequenceEndEvent):
                self._close(event)
            elif isinstance(event, AliasEvent):
                self._alias(event)
            elif isinstance(event, DocumentEndEvent):
                return self._root

    def _scalar(self, event: ScalarEvent) -> None:
        self._n_values += 1
        stack = self._stack
        if stack and stack[-1].is_mapping and stack[-1].key is None:
            stack[-1].key = self._key(event)
            return
        value = self._value(event)
        if event.anchor:
            self._anchored[event.anchor] = (value, 1)
        self._put(value, event)

    def _key(self, event: ScalarEvent) -> str:
        """Keys are text in Kubernetes, whatever YAML takes them for."""
        self._stack[-1].is_merge = event.implicit[0] and event.value == "<<"
        if event.anchor:
            self._anchored[event.anchor] = (event.value, 1)
        if event.implicit[0] and event.value in _BOOLS:
            return "true" if _BOOLS[event.value] else "false"
        return str(event.value)

    def _value(self, event: ScalarEvent) -> api.Tree:
        text: str = event.value
        if event.tag and event.tag != "!":
            return self._tagged_value(event, event.tag.removeprefix(_YAML_TAG))
        return plain_value(text) if event.implicit[0] else text

    def _tagged_value(self, event: ScalarEvent, tag: str) -> api.Tree:
        value = event.value if tag == "str" else plain_value(event.value)
        fits = {
            "str": isinstance(value, str),
            "int": type(value) is int,
            "float": type(value) in (int, float),
            "bool": isinstance(value, bool),
            "null": value is None,
        }
        if not fits.get(tag, False):
            self._refuse(event, f"tag {event.tag} does not fit here; expected plain YAML")
        return value

    def _open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        is_mapping = isinstance(event, MappingStartEvent)
        if len(self._stack) >= DEEPEST:
            self._refuse(event, f"nested deeper than {DEEPEST} levels; expected a manifest")
        if event.tag and event.tag not in ("!", _YAML_TAG + ("map" if is_mapping else "seq")):
            self._refuse(event, f"tag {event.tag} does not fit here; expected plain YAML")
        if self._stack and self._stack[-1].is_mapping and self._stack[-1].key is None:
            self._refuse(event, "a key that is not text; expected text before the colon")
        if event.anchor:
            self._opened.add(event.anchor)
            self._anchored.pop(event.anchor, None)
        self._n_values += 1
        self._stack.append(
            _Open(is_mapping=is_mapping, anchor=event.anchor, n_before=self._n_values)
        )

    def _close(self, event: Event) -> None:
        frame = self._stack.pop()
        value = frame.close()
        if frame.anchor:
            self._opened.discard(frame.anchor)
            self._anchored[frame.anchor] = (value, self._n_values - frame.n_before + 1)
        self._put(value, event)

    def _alias(self, event: AliasEvent) -> None:
        anchored = self._anchored.get(event.anchor or "")
        if anchored is None:
            own = "refers to itself" if event.anchor in self._opened else "refers to nothing"
            self._refuse(event, f"alias *{event.anchor} {own}; expected an anchor before it")
            return
        value, weight = anchored
        self._n_values += weight
        self._n_aliased += weight
        if self._n_aliased > MOST_ALIASED:
            message = f"aliases stand for more than {MOST_ALIASED} values; expected a manifest"
            self._refuse(event, message)
        stack = self._stack
        if stack and stack[-1].is_mapping and stack[-1].key is None:
            if not isinstance(value, str):
                self._refuse(event, "a key that is not text; expected text before the colon")
            stack[-1].key = str(value)
            return
        self._put(value, event)

    def _put(self, value: api.Tree, event: Event) -> None:
        if not self._stack:
            self._root = value
            return
        frame = self._stack[-1]
        if not frame.is_mapping:
            frame.items.append(value)
            return
        key, frame.key = frame.key, None
        if frame.is_merge:
            frame.is_merge = False
            self._merge(frame, value, event)
        elif key is not None:
            if key in frame.mapping:
                self._refuse(event, f"key {key!r} occurs twice; expected it once")
            frame.mapping[key] = value

    def _merge(self, frame: _Open, value: api.Tree, event: Event) -> None:
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                self._refuse(
                    event, "<< merges something else; expected a mapping or a list of them"
                )
                return
            frame.merged.append(item)

    def _refuse(self, event: Event, message: str) -> None:
        mark = event.start_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise YamlError(self._document, where + message)


_plain_values: dict[str, api.Tree] = {}


def plain_value(text: str) -> api.Tree:
    """The value of an unquoted scalar."""
    if text in _plain_values:
        return _plain_values[text]
    value = _resolve(text)
    if len(_plain_values) < _CACHED and len(text) < 128:
        _plain_values[text] = value
    return value


def _resolve(text: str) -> api.Tree:
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if text[0] in _STARTS_NUMBER and len(text) <= _LONGEST_NUMBER:
        return _number(text)
    return text


def _number(text: str) -> api.Tree:
    whole = _INTEGER.fullmatch(text)
    if whole is not None:
        for group, base in _BASES:
            digits = (whole[group] or "").replace("_", "")
            if digits:
                return int(whole["sign"] + digits, base)
    if _FLOAT.fullmatch(text):
        number = float(text.replace("_", ""))
        return number if math.isfinite(number) else text
    return text
