"""Writes TOML with sorted keys, so that equal trees give equal text. Reading is `tomllib`'s."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Final

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_NAMED_ESCAPES: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def toml_text(tree: Mapping[str, object]) -> str:
    """The document. Raises TypeError for values that TOML has not."""
    return "\n".join(_tables(tree, ())).removeprefix("\n") + "\n"


def _tables(tree: Mapping[str, object], path: tuple[str, ...]) -> Iterator[str]:
    """The values of a table, then the tables in it. A table of tables alone needs no header."""
    tables = {key: value for key, value in tree.items() if isinstance(value, Mapping)}
    values = sorted(tree.keys() - tables.keys())
    if path and (values or not tables):
        yield f"\n[{'.'.join(_key(name) for name in path)}]"
    for key in values:
        yield f"{_key(key)} = {_value(tree[key])}"
    for key in sorted(tables):
        yield from _tables(tables[key], (*path, key))


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quote(value)
        case float() if math.isnan(value):
            return "nan"
        case int() | float():
            return repr(value)
        case datetime() | date() | time():
            return value.isoformat()
        case list() | tuple():
            return "[" + ", ".join(_value(item) for item in value) + "]"
        case Mapping():
            pairs = (f"{_key(key)} = {_value(value[key])}" for key in sorted(value))
            return "{" + ", ".join(pairs) + "}"
        case _:
            msg = f"{value!r} cannot be written as TOML"
            raise TypeError(msg)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _quote(key)


def _quote(text: str) -> str:
    return '"' + "".join(_escape(character) for character in text) + '"'


def _escape(character: str) -> str:
    if character in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[character]
    if character < " " or character == "\x7f":
        return f"\\u{ord(character):04x}"
    return character
