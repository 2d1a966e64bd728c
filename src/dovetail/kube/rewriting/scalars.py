"""Writes single values as YAML text that is read back as the same value."""

from __future__ import annotations

import re
from typing import Final

from dovetail import api
from dovetail.kube.yaml_trees import plain_value

_PLAIN: Final = re.compile(r"[A-Za-z_/.$][A-Za-z0-9_/.@:+*$-]*")
_COUNTED: Final = re.compile(r"[0-9]+[A-Za-z]+")  # durations and quantities, and no dates
_AMBIGUOUS: Final = frozenset({".", "y", "n"})  # some readers take letters for truth values
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_BYTE, _SHORT = 0x100, 0x10000


def scalar_text(value: api.Tree) -> str:
    """Text, a number, a truth value or null in one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if is_plain(value) else quote(value)
    return repr(value)


def is_plain(text: str) -> bool:
    """Whether the text can stand without quotes."""
    shape = _COUNTED if text[:1].isdigit() else _PLAIN
    is_safe = shape.fullmatch(text) is not None and not text.endswith(":")
    return is_safe and plain_value(text) == text and text.lower() not in _AMBIGUOUS


def quote(text: str) -> str:
    """The text in double quotes."""
    return f'"{"".join(_escape(character) for character in text)}"'


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < _BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _SHORT else f"\\U{code:08x}"


def block_lines(text: str) -> tuple[str, list[str]] | None:
    """A text of several lines as a literal block: its header and lines. None if it cannot be."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    is_simple = (
        "\n" in text
        and lines[0][:1] not in {"", " "}
        and lines[-1] != ""
        and all(not line or line.strip() for line in lines)
        and all(line.replace("\t", "").isprintable() for line in lines)
    )
    if not is_simple:
        return None
    return ("|" if text.endswith("\n") else "|-"), lines
