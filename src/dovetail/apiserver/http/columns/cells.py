"""Makes the cells of a table: paths into objects, ages, and text for what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail.apiserver.trees import Obj, items, mapping
from dovetail.kube.seam import Json

Cell = Callable[[Obj, datetime], Json]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"
_STEP: Final = re.compile(
    r"\.(?P<field>(?:[^.\[\\]|\\.)+)|\[\?\(@\.(?P<key>\w+)==\"(?P<value>[^\"]*)\"\)\]|\[(?P<all>\*)\]"
)
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


class Column(msgspec.Struct, frozen=True):
    """One column; those of priority 1 are shown by `-o wide` only."""

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0


def wide(name: str, cell: Cell) -> Column:
    """A column that is shown by `-o wide` only."""
    return Column(name, cell, priority=1)


def count(name: str, path: str) -> Column:
    """A column of numbers; what is absent is 0."""
    return Column(name, at(path, 0), "integer")


def values_at(tree: Json, path: str) -> list[Json]:
    """What a JSON path leads to, as far as column definitions use them."""
    values = [tree]
    for step in _STEP.finditer(path):
        values = [inner for value in values for inner in _inner(value, step)]
    return values


def _inner(value: Json, step: re.Match[str]) -> list[Json]:
    if step["field"] is not None:
        field = step["field"].replace("\\", "")
        return [value[field]] if isinstance(value, dict) and field in value else []
    items = value if isinstance(value, list) else []
    if step["all"]:
        return list(items)
    return [item for item in items if mapping(item).get(step["key"]) == step["value"]]


def first(tree: Json, path: str, absent: Json = "") -> Json:
    """The first thing that a path leads to."""
    return next(iter(values_at(tree, path)), absent)


def word(tree: Json, path: str, absent: str = "") -> str:
    """The first text that a path leads to; an empty one is none."""
    value = first(tree, path)
    return value if isinstance(value, str) and value else absent


def number(tree: Json, path: str) -> int:
    """The first whole number that a path leads to, or 0."""
    value = first(tree, path, 0)
    return value if isinstance(value, int) else 0


def at(path: str, absent: Json = "") -> Cell:
    """A cell that shows what stands at a path."""
    return lambda tree, _: value_json(first(tree, path, absent))


def text_cell(path: str, absent: str = NONE) -> Cell:
    """A cell that shows a text, and a word where there is none."""
    return lambda tree, _: word(tree, path, absent)


def value_json(value: Json) -> Json:
    """A value as a table has it: truth in small letters, trees as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return value


def size(path: str) -> Cell:
    """A cell that counts what stands at a path."""

    def count_cell(tree: Obj, _: datetime) -> Json:
        value = first(tree, path, None)
        return len(value) if isinstance(value, dict | list) else 0

    return count_cell


def joined_texts(values: list[Json], absent: str = NONE) -> str:
    """Texts with commas between them."""
    return ",".join(str(value) for value in values) or absent


def joined_at(path: str, absent: str = NONE) -> Cell:
    """A cell of all that a path leads to."""
    return lambda tree, _: joined_texts(values_at(tree, path), absent)


def labels(path: str) -> Cell:
    """A cell of labels, in the order of their keys."""
    return lambda tree, _: labels_text(first(tree, path, None))


def labels_text(tree: Json) -> str:
    """Labels as a selector writes them."""
    pairs = sorted(mapping(tree).items())
    return ",".join(f"{key}={value}" for key, value in pairs) or NONE


def selector(path: str) -> Cell:
    """A cell that shows a label selector as kubectl would take it."""
    return lambda tree, _: selector_text(first(tree, path, None))


def selector_text(selector: Json) -> str:
    """A label selector in one line; nothing selected is none, all is none as well."""
    if selector is None:
        return NONE
    tree = mapping(selector)
    terms = {str(key): f"{key}={value}" for key, value in mapping(tree.get("matchLabels")).items()}
    said_by = [terms[key] for key in sorted(terms)]
    said_by += [_term(mapping(item)) for item in items(tree.get("matchExpressions"))]
    return ",".join(sorted(said_by)) or NONE


def _term(term: Mapping[str, Json]) -> str:
    key, how = str(term.get("key")), str(term.get("operator"))
    values = ",".join(sorted(str(value) for value in items(term.get("values"))))
    words = {"In": "in", "NotIn": "notin"}
    if how in words:
        return f"{key} {words[how]} ({values})"
    return key if how == "Exists" else f"!{key}"


def since(stamp: str, now: datetime) -> str:
    """How long ago a moment was."""
    if not stamp:
        return UNKNOWN
    return span((now - datetime.fromisoformat(stamp)).total_seconds())


def span(seconds: float) -> str:
    """How long, in one word; the longer, the rougher."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole >= -1 else "<invalid>"
    for unit, letter, part, part_letter, most in _SPANS:
        if whole < most:
            rest = whole % unit // part if part else 0
            more = f"{rest}{part_letter}" if rest else ""
            return f"{whole // unit}{letter}{more}"
    return f"{whole // _YEAR}y"


# Below so many seconds (last) it is told in these units, and the rest in those.
_SPANS: Final = (
    (1, "s", 0, "", 2 * _MINUTE),
    (_MINUTE, "m", 1, "s", 10 * _MINUTE),
    (_MINUTE, "m", 0, "", 3 * _HOUR),
    (_HOUR, "h", _MINUTE, "m", 8 * _HOUR),
    (_HOUR, "h", 0, "", 2 * _DAY),
    (_DAY, "d", _HOUR, "h", 8 * _DAY),
    (_DAY, "d", 0, "", 2 * _YEAR),
    (_YEAR, "y", _DAY, "d", 8 * _YEAR),
)

NAME: Final = Column("Name", at(".metadata.name"))
AGE: Final = Column("Age", lambda tree, now: since(word(tree, ".metadata.creationTimestamp"), now))
CREATED: Final = Column("Created At", text_cell(".metadata.creationTimestamp"))
