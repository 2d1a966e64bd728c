"""Reads a request from a tree of plain values, with everything that is wrong with its fields."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

import msgspec

from dovetail import api
from dovetail.api.checks import Field, Hint, check, fields
from dovetail.api.decoding import join
from dovetail.api.meta import Wire
from dovetail.errors import InputError
from dovetail.generator.request import NodePoolRequest
from dovetail.units import quantity

_TEXT: Final = Hint(str)
_MOST_DIGITS: Final = 18  # of a number of 64 bits
_KINDS: Final = {
    "str": "text",
    "bool": "true or false",
    "list": "a list",
    "dict": "a map",
    "int": "a number",
    "float": "a number",
    "NoneType": "nothing",
}


class RequestError(InputError):
    """A request cannot be met. The message has one line for each problem."""

    def __init__(self, problems: tuple[api.FieldProblem, ...], file: str = "") -> None:
        start = f"{file}: " if file else ""
        super().__init__("\n".join(f"{start}{problem}" for problem in problems))
        self.problems = problems


class ReadRequest(msgspec.Struct, frozen=True):
    """A request and the problems of its fields. Fields with a problem have their default."""

    request: NodePoolRequest
    problems: tuple[api.FieldProblem, ...]


def read_request(tree: api.Tree) -> ReadRequest:
    """The request that a file holds."""
    if not isinstance(tree, Mapping):
        problem = api.FieldProblem("", f"found {_kind(tree)}; expected the fields of a request")
        return ReadRequest(NodePoolRequest(), (problem,))
    problems: list[api.FieldProblem] = []
    request = api.decode(NodePoolRequest, _readable(tree, NodePoolRequest, "", problems))
    known = {problem.field for problem in problems}
    problems += (problem for problem in check(request) if problem.field not in known)
    return ReadRequest(request, tuple(problems))


def _readable(
    tree: Mapping[str, api.Tree], struct: type[Wire], at: str, problems: list[api.FieldProblem]
) -> dict[str, api.Tree]:
    """The fields that can be read."""
    known = {field.name: field for field in fields(struct)}
    problems += (
        api.FieldProblem(join(at, key), _unknown(key, known)) for key in tree if key not in known
    )
    read = {
        name: _value(tree[name], field.hint, join(at, name), problems)
        for name, field in known.items()
        if name in tree
    }
    return {name: value for name, value in read.items() if value is not None}


def _unknown(key: str, known: Mapping[str, Field]) -> str:
    close = get_close_matches(key, known, n=1)
    expected = close[0] if close else f"one of {', '.join(known)}"
    return f"is unknown; expected {expected}"


def _value(tree: api.Tree, hint: Hint, at: str, problems: list[api.FieldProblem]) -> api.Tree:
    """A value of the right type; None where there is none, or one of another type."""
    match tree:
        case None:
            return None
        case dict() if hint.struct is not None:
            return _readable(tree, hint.struct, at, problems)
        case dict() if hint.base is dict:
            read = {key: _value(tree[key], _TEXT, join(at, key), problems) for key in sorted(tree)}
            return {key: value for key, value in read.items() if value is not None}
        case list() if hint.base is tuple and hint.item is not None:
            return _items(tree, hint.item, at, problems)
        case str() if hint.base is str:
            return tree
        case int() if hint.base is int and not isinstance(tree, bool) and _is_small(tree):
            return tree
        case str() | int() | float() if hint.is_quantity and not isinstance(tree, bool):
            return _amount(tree)
        case _:
            message = f"found {_kind(tree)}; expected {_expected(hint)}"
            problems.append(api.FieldProblem(at, message))
            return None


def _amount(written: str | float) -> api.Tree:
    """The same amount is the same request, whether it is a whole number or text."""
    text = str(written)
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else text


def _is_small(number: float) -> bool:
    """Whether it is a whole number of 64 bits."""
    return isinstance(number, int) and abs(number) <= quantity.MAX


def _items(
    tree: list[api.Tree], item: Hint, at: str, problems: list[api.FieldProblem]
) -> list[api.Tree]:
    # What cannot be read keeps its place, so that the others keep their index.
    missing: api.Tree = "" if item.struct is None else {}
    read = [_value(member, item, f"{at}[{index}]", problems) for index, member in enumerate(tree)]
    return [missing if value is None else value for value in read]


def _expected(hint: Hint) -> str:
    if hint.struct is not None:
        return f"a map of {', '.join(field.name for field in fields(hint.struct))}"
    if hint.is_quantity:
        return "an amount such as 64 or 256Gi"
    by_type = {
        str: "text, in quotes if it looks like something else",
        int: "a whole number",
        tuple: "a list",
        dict: "a map of texts",
    }
    return next(words for base, words in by_type.items() if hint.base is base)


def _kind(tree: api.Tree) -> str:
    return _KINDS.get(type(tree).__name__, "something else")
