"""The schema of a custom resource definition: pruning, defaults and validation by it.

Problems are worded as a real server words them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dovetail import api
from dovetail.apiserver.refusals import INVALID, REQUIRED
from dovetail.apiserver.trees import Obj, decode, encode, items, mapping, texts
from dovetail.kube.seam import Json

_IDENTITY: Final = ("apiVersion", "kind", "metadata")
UNCHECKED: Final = api.FieldProblem(
    "<nil>",
    f"{INVALID}null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_NAMES: Final = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer"}


def schema_problems(value: Json, schema: Obj, at: str = "") -> Iterator[api.FieldProblem]:
    """Everything wrong with a value by its schema, rules in CEL aside."""
    if schema.get("x-kubernetes-int-or-string"):
        yield from _int_or_string(value, schema, at)
        return
    wanted = str(schema.get("type", ""))
    if wanted in _TYPES and not _is_a(value, wanted):
        name = _NAMES.get(type(value), "number")
        message = f'{INVALID}"{name}": {at} in body must be of type {wanted}: "{name}"'
        yield api.FieldProblem(at, message)
        return
    match value:
        case dict():
            yield from _object(value, schema, at)
        case list():
            yield from _list(value, schema, at)
        case str():
            yield from _text(value, schema, at)
        case bool() | None:
            return
        case _:
            yield from _number(value, schema, at)


def _int_or_string(value: Json, schema: Obj, at: str) -> Iterator[api.FieldProblem]:
    if isinstance(value, str):
        yield from _text(value, schema, at)
    elif isinstance(value, int):
        yield from _number(value, schema, at)


def blocks_rules(problem: api.FieldProblem) -> bool:
    """Whether rules in CEL cannot be asked after this."""
    is_type = " in body must be of type " in problem.message
    return is_type or not problem.message.startswith(INVALID)


def _is_a(value: Json, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES[wanted])


def _object(value: Obj, schema: Obj, at: str) -> Iterator[api.FieldProblem]:
    properties = mapping(schema.get("properties"))
    more = schema.get("additionalProperties")
    for key in texts(schema, "required"):
        if key not in value:
            yield api.FieldProblem(_join(at, key), REQUIRED)
    for key, item in sorted(value.items()):
        inner = properties.get(key, more)
        if isinstance(inner, dict) and not (not at and key in ("apiVersion", "kind", "metadata")):
            yield from schema_problems(item, inner, _join(at, key))
    most = schema.get("maxProperties")
    if isinstance(most, int) and len(value) > most:
        yield api.FieldProblem(at, f"Too many: {len(value)}: must have at most {most} items")


def _list(value: list[Json], schema: Obj, at: str) -> Iterator[api.FieldProblem]:
    most = schema.get("maxItems")
    if isinstance(most, int) and len(value) > most:
        yield api.FieldProblem(at, f"Too many: {len(value)}: must have at most {most} items")
        return
    inner = mapping(schema.get("items"))
    for index, item in enumerate(value):
        yield from schema_problems(item, inner, f"{at}[{index}]")
        if schema.get("x-kubernetes-list-type") == "set" and item in value[:index]:
            yield api.FieldProblem(f"{at}[{index}]", f'Duplicate value: "{item}"')


def _text(value: str, schema: Obj, at: str) -> Iterator[api.FieldProblem]:
    allowed = items(schema.get("enum"))
    least, most = schema.get("minLength"), schema.get("maxLength")
    pattern = schema.get("pattern")
    if allowed and value not in allowed:
        known = ", ".join(f'"{item}"' for item in allowed)
        yield api.FieldProblem(at, f'Unsupported value: "{value}": supported values: {known}')
    if isinstance(least, int) and len(value) < least:
        message = f'{INVALID}"{value}": {at} in body should be at least {least} chars long'
        yield api.FieldProblem(at, message)
    if isinstance(most, int) and len(value) > most:
        yield api.FieldProblem(at, f"Too long: may not be more than {most} bytes")
    elif isinstance(pattern, str) and not re.search(pattern, value, re.ASCII):
        message = f"{INVALID}\"{value}\": {at} in body should match '{pattern}'"
        yield api.FieldProblem(at, message)


def _number(value: float, schema: Obj, at: str) -> Iterator[api.FieldProblem]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, int | float) and value < least:
        message = f"{INVALID}{value}: {at} in body should be greater than or equal to {least}"
        yield api.FieldProblem(at, message)
    if isinstance(most, int | float) and value > most:
        message = f"{INVALID}{value}: {at} in body should be less than or equal to {most}"
        yield api.FieldProblem(at, message)


def _join(outer: str, inner: str) -> str:
    return f"{outer}.{inner}" if outer else inner


# ------------------------------------------------------------------ pruning and defaults


def shape(tree: Obj, schema: Obj) -> None:
    """Remove unknown fields and fill in defaults, in place."""
    own = {key: value for key, value in tree.items() if key not in _IDENTITY}
    properties = mapping(schema.get("properties"))
    known = {key: value for key, value in properties.items() if key not in _IDENTITY}
    formed = _with_defaults(own, {**schema, "properties": known})
    for key in own:
        del tree[key]
    tree.update(mapping(formed))


def _with_defaults(value: Json, schema: Obj) -> Json:
    if isinstance(value, dict):
        return _formed_object(value, schema)
    if isinstance(value, list):
        inner = mapping(schema.get("items"))
        return [_with_defaults(item, inner) for item in value]
    return value


def _formed_object(value: Obj, schema: Obj) -> Json:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        return {key: _with_defaults(item, more) for key, item in value.items()}
    formed: Obj = {}
    for key, item in mapping(schema.get("properties")).items():
        inner = mapping(item)
        member = value.get(key)
        if member is None and "default" in inner:
            member = decode(encode({"": inner["default"]}))[""]
        if member is not None:
            formed[key] = _with_defaults(member, inner)
    return formed
