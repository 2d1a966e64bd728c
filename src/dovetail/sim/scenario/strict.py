"""Converts a tree to a scenario field by field, with a path in every error."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from dovetail import api
from dovetail.decide.hints import closest_key
from dovetail.errors import InputError
from dovetail.units import duration

S = TypeVar("S", bound=msgspec.Struct)

_SHOWN: Final = 40
_LONGEST: Final = timedelta(days=366)


class Share(float):
    """A part of something: 0.25, or "25%"."""

    __slots__ = ()


class Object(dict[str, api.Tree]):
    """A piece of Kubernetes, left to those who know its fields."""


class Place(msgspec.Struct, frozen=True):
    """Where in which file something stands."""

    file: str
    path: str = ""

    def of(self, field: str) -> Place:
        """One step further in."""
        return Place(self.file, f"{self.path}.{field}" if self.path else field)

    def at(self, index: int) -> Place:
        """An item of a list."""
        return Place(self.file, f"{self.path}[{index}]")

    def refuse(self, problem: str) -> NoReturn:
        """Complain. Raises InputError."""
        where = f"{self.file}: {self.path}: " if self.path else f"{self.file}: "
        raise InputError(where + problem)


def read(tree: api.Tree, kind: type[S], place: Place) -> S:
    """The struct that a tree stands for. Raises InputError."""
    if not isinstance(tree, dict):
        place.refuse(f"found {short_text(tree)}; expected {_fields(kind)}")
    known = fields(kind)
    for name in tree:
        if name not in known:
            place.of(name).refuse(_unknown(name, known))
    given: dict[str, Any] = {}
    for name, (attribute, hint, is_required) in known.items():
        if tree.get(name) is not None:
            given[attribute] = _value(tree[name], hint, place.of(name))
        elif is_required:
            place.of(name).refuse("missing; expected " + _expectation(hint))
    return kind(**given)


@cache
def fields(kind: type[msgspec.Struct]) -> Mapping[str, tuple[str, Any, bool]]:
    """For each word the attribute, its type, and whether it must be there."""
    hints = typing.get_type_hints(kind)
    return {
        field.encode_name: (field.name, hints[field.name], field.required)
        for field in msgspec.structs.fields(kind)
    }


def short_text(tree: api.Tree) -> str:
    """What was found, in a few words."""
    match tree:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:
            text = repr(tree)
            return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _unknown(name: str, known: Mapping[str, object]) -> str:
    near = closest_key(name, known)
    meant = f"; did you mean {near}?" if near else ""
    return f"unknown field{meant or '; expected one of ' + ', '.join(sorted(known))}"


def _value(tree: api.Tree, hint: Any, place: Place) -> Any:  # noqa: ANN401  hints have no type
    is_whole = isinstance(tree, dict | list)
    for arm in _arms(hint):
        result = _collection(tree, arm, place) if is_whole else _scalar(tree, arm)
        if result is not None:
            return result
    return place.refuse(f"found {short_text(tree)}; expected {_expectation(hint)}")


def _collection(tree: api.Tree, arm: Any, place: Place) -> Any:  # noqa: ANN401  as above
    """A list or a mapping, if that is what the type wants."""
    origin = typing.get_origin(arm) or arm
    if isinstance(tree, list):
        if origin is not tuple:
            return None
        item = typing.get_args(arm)[0]
        return tuple(_value(kind, item, place.at(at)) for at, kind in enumerate(tree))
    if not isinstance(tree, dict):
        return None
    if origin is dict:
        item = typing.get_args(arm)[1]
        return {name: _value(kind, item, place.of(name)) for name, kind in tree.items()}
    if origin is Object:
        return Object(tree)
    return read(tree, origin, place) if _is_struct(origin) else None


def _scalar(tree: api.Tree, arm: Any) -> Any:  # noqa: ANN401  as above
    """What stands alone, if the type wants that."""
    if arm in _LEAVES:
        return _LEAVES[arm][0](tree)
    if isinstance(arm, type) and issubclass(arm, StrEnum) and tree in list(arm):
        return arm(tree)
    return None


def _arms(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401  as above
    is_union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    arms = typing.get_args(hint) if is_union else (hint,)
    return tuple(arm for arm in arms if arm is not type(None))


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _expectation(hint: Any) -> str:  # noqa: ANN401  as above
    return " or ".join(dict.fromkeys(_arm_text(arm) for arm in _arms(hint)))


def _arm_text(arm: Any) -> str:  # noqa: ANN401  as above
    if arm in _LEAVES:
        return _LEAVES[arm][1]
    if isinstance(arm, type) and issubclass(arm, StrEnum):
        return "one of " + ", ".join(arm)
    if _is_struct(arm):
        return _fields(arm)
    return "a list" if typing.get_origin(arm) is tuple else "a mapping"


def _fields(kind: type[msgspec.Struct]) -> str:
    return "a mapping with " + ", ".join(fields(kind))


# ---- what stands alone: each reader gives nothing for what is not its own


def _text(tree: api.Tree) -> str | None:
    if isinstance(tree, bool):
        return None
    return str(tree) if isinstance(tree, str | int | float) else None


def _count(tree: api.Tree) -> int | None:
    return tree if isinstance(tree, int) and not isinstance(tree, bool) else None


def _number(tree: api.Tree) -> float | None:
    is_number = isinstance(tree, int | float) and not isinstance(tree, bool)
    return float(tree) if is_number and isinstance(tree, int | float) else None


def _share(tree: api.Tree) -> Share | None:
    if isinstance(tree, str) and tree.endswith("%"):
        try:
            share = float(tree[:-1]) / 100
        except ValueError:
            return None
    else:
        number = _number(tree)
        if number is None:
            return None
        share = number
    return Share(share) if 0 <= share <= 1_000 else None


def _span(tree: api.Tree) -> timedelta | None:
    if tree == 0:
        return timedelta(0)
    if not isinstance(tree, str):
        return None
    try:
        span = duration.parse_days(tree)
    except ValueError:
        return None
    return span if timedelta(0) <= span <= _LONGEST else None


def _instant(tree: api.Tree) -> datetime | None:
    try:
        at = datetime.fromisoformat(tree) if isinstance(tree, str) else None
    except ValueError:
        return None
    if at is None:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


_LEAVES: Final[Mapping[Any, tuple[typing.Callable[[api.Tree], Any], str]]] = {
    bool: (lambda tree: tree if isinstance(tree, bool) else None, "true or false"),
    int: (_count, "a whole number"),
    Share: (_share, "a share such as 25% or 0.25"),
    float: (_number, "a number"),
    timedelta: (_span, "a time such as 30m, 6h or 1d12h, up to 366d"),
    datetime: (_instant, "a moment such as 2026-01-05T00:00:00Z"),
    str: (_text, "text"),
}
