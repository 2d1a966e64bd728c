"""Writes YAML in block style, with sorted keys, so that equal trees give equal text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

# What every reader of YAML 1.1 and 1.2 takes for text, in a list or as a value.
_PLAIN: Final = re.compile(r"(?:--)?[A-Za-z/](?:[A-Za-z0-9_./:=,@+-]*[A-Za-z0-9_/=+])?")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"})
_NAMED_ESCAPES: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def block_yaml(tree: Mapping[str, object]) -> str:
    """The document. Raises TypeError for values that JSON has not."""
    return "".join(f"{line}\n" for line in _mapping(tree))


def _mapping(tree: Mapping[str, object]) -> Iterator[str]:
    for key in sorted(tree):
        value = tree[key]
        name = _text(key)
        if _is_block(value):
            yield f"{name}:"
            yield from (f"  {line}" for line in _block(value))
        else:
            yield f"{name}: {_scalar(value)}"


def _sequence(values: Sequence[object]) -> Iterator[str]:
    for value in values:
        lines = _block(value) if _is_block(value) else iter((_scalar(value),))
        for at, line in enumerate(lines):
            yield f"{'  ' if at else '- '}{line}"


def _block(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        return _mapping(value)
    return _sequence(value) if isinstance(value, list | tuple) else iter(())


def _is_block(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple) and len(value) > 0


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return _text(value)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
        case _:
            msg = f"{value!r} cannot be written as YAML"
            raise TypeError(msg)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(_escape(character) for character in text) + '"'


def _escape(character: str) -> str:
    if character in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[character]
    if " " <= character <= "~":
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
