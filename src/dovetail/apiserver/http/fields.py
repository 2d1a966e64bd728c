"""Finds fields of an object that the schema of its kind does not have.

Unknown fields are refused, warned of or passed over, as the client asks; they are never kept. A
value of the wrong type is refused in any case, where the server would have to read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.apiserver.http.kinds import Offered, schema
from dovetail.apiserver.http.openapi import type_name, type_schema
from dovetail.apiserver.trees import Obj
from dovetail.kube.errors import ApiError, Cause, Details, InvalidError, UnavailableError
from dovetail.kube.seam import Json, Patch, PatchType

STRICT: Final = "Strict"
IGNORE: Final = "Ignore"
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"
_TYPES: Final = {dict: "object", list: "array", str: "string", bool: "bool"}
_GO: Final = {"string": "string", "boolean": "bool", "integer": "int64", "number": "float64"}


_APPLIED: Final = {
    "array": "list",
    "bool": "boolean",
    "integer": "numeric (int or float)",
    "number": "numeric (int or float)",
    "object": "map",
    "string": "string",
}


class FieldPath(msgspec.Struct, frozen=True):
    """Where in an object: the path, and the type that the field is part of."""

    path: str = ""
    owner: str = ""

    def field(self, name: str, owner: str) -> FieldPath:
        """A field of what is here."""
        return FieldPath(f"{self.path}.{name}" if self.path else name, owner)

    def item(self, index: int) -> FieldPath:
        """An item of the list that is here."""
        return FieldPath(f"{self.path}[{index}]", self.owner)


class Sifted(msgspec.Struct, frozen=True):
    """What is left of an object, and the paths of what was not known."""

    tree: Obj
    unknown: tuple[str, ...]


def sift(tree: Obj, offered: Offered) -> Sifted:
    """An object without what its kind does not know. Raises InvalidError."""
    sieve = _Sieve(offered)
    return Sifted(_walk(sieve, tree, offered), tuple(sieve.unknown))


def _walk(sieve: _Sieve, tree: Obj, offered: Offered) -> Obj:
    try:
        return sieve.object(tree, type_schema(offered), FieldPath(owner=type_name(offered)))
    except RecursionError:
        msg = "the object provided is unrecognized: it is nested too deeply"
        raise InvalidError(400, "BadRequest", msg) from None


class _Sieve:
    """Walks an object and its schema side by side."""

    def __init__(self, offered: Offered, *, applies: bool = False) -> None:
        self.unknown: list[str] = []
        self.mistyped: list[str] = []
        self._applies = applies
        self._offered = offered
        self._judges_types = offered.schema is None

    def object(self, tree: Obj, known: Obj, place: FieldPath) -> Obj:
        made: Obj = {}
        properties = known.get("properties")
        more = known.get("additionalProperties")
        for key, value in tree.items():
            if key.startswith("$"):  # a directive of a strategic merge patch
                made[key] = value
            elif isinstance(properties, dict) and isinstance(inner := properties.get(key), dict):
                made[key] = self._value(value, inner, place.field(key, place.owner))
            elif isinstance(more, dict):
                made[key] = self._value(value, more, place)
            elif more is True or known.get(_OPEN) or not isinstance(properties, dict):
                made[key] = value
            else:
                self.unknown.append(place.field(key, "").path)
        return made

    def _value(self, value: Json, tree_schema: Obj, place: FieldPath) -> Json:
        owner, known = _resolve(tree_schema)
        if value is None or "oneOf" in known or "anyOf" in known:
            return value
        self._check(value, known, place)
        if isinstance(value, dict):
            return self.object(value, known, FieldPath(place.path, owner or place.owner))
        inner = known.get("items")
        if isinstance(value, list) and isinstance(inner, dict):
            return [self._value(item, inner, place.item(at)) for at, item in enumerate(value)]
        return value

    def _check(self, value: Json, known: Obj, place: FieldPath) -> None:
        wanted = known.get("type")
        if self._applies:
            if isinstance(wanted, str) and not _is_a(value, wanted):
                got = _APPLIED.get(_TYPES.get(type(value), ""), "number")
                words = _APPLIED.get(wanted, wanted)
                self.mistyped.append(f".{place.path}: expected {words}, got {got}")
            return
        if not self._judges_types or not isinstance(wanted, str) or _is_a(value, wanted):
            return
        kind = self._offered.kind
        got = _TYPES.get(type(value), "number")
        go = str(known.get("format") or _GO.get(wanted, wanted))
        go = go if wanted == "integer" else _GO.get(wanted, wanted)
        struct = place.owner.rpartition(".")[2]
        msg = (
            f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: json: '
            f"cannot unmarshal {got} into Go struct field {struct}.{place.path} of type {go}"
        )
        raise InvalidError(400, "BadRequest", msg)


def _resolve(shape: Obj) -> tuple[str, Obj]:
    """The schema that is meant, and the name of its type."""
    parts = shape.get("allOf")
    first = parts[0] if isinstance(parts, list) and parts else shape
    reference = first.get("$ref") if isinstance(first, dict) else None
    return (reference, schema(reference)) if isinstance(reference, str) else ("", shape)


def _is_a(value: Json, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    match wanted:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "integer" | "number":
            return isinstance(value, int | float)
        case _:
            return False


def strictly(unknown: tuple[str, ...], offered: Offered) -> ApiError:
    """The refusal of an object that has unknown fields."""
    told = ", ".join(f'unknown field "{path}"' for path in unknown)
    kind = offered.kind
    msg = (
        f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: '
        f"strict decoding error: {told}"
    )
    return InvalidError(400, "BadRequest", msg)


def strict_patch_error(unknown: tuple[str, ...], asked: Patch) -> ApiError:
    """The refusal of a patch that has unknown fields; it is shown as the server has read it."""
    told = ", ".join(f'unknown field "{path}"' for path in unknown)
    is_tree = asked.type is PatchType.STRATEGIC
    body = _go_text(asked.body) if is_tree else msgspec.json.encode(asked.body).decode()
    shown = msgspec.json.encode(body).decode()
    cause = Cause(
        "FieldValueInvalid", f"Invalid value: {shown}: strict decoding error: {told}", "patch"
    )
    msg = f' "" is invalid: {cause.field}: {cause.message}'
    return InvalidError(422, "Invalid", msg, Details(causes=(cause,)))


def _go_text(tree: object) -> str:
    """A tree as Go prints it."""
    if isinstance(tree, Mapping):
        pairs = " ".join(f"{key}:{_go_text(tree[key])}" for key in sorted(tree))
        return f"map[{pairs}]"
    if isinstance(tree, list):
        return f"[{' '.join(map(_go_text, tree))}]"
    if isinstance(tree, bool):
        return "true" if tree else "false"
    return "<nil>" if tree is None else str(tree)


def undeclared_error(where: str, tree: Obj, offered: Offered) -> ApiError | None:
    """The refusal of an apply that names what its kind does not have, `where` it is applied."""
    sieve = _Sieve(offered, applies=True)
    _walk(sieve, tree, offered)
    problems = [f".{path}: field not declared in schema" for path in sieve.unknown] + sieve.mistyped
    if not problems:
        return None
    told = "\n".join(problems)
    about = f"{where}; {offered.kind.api_version}, Kind={offered.kind.name}"
    msg = f"failed to create typed patch object ({about}): {told}"
    return UnavailableError(500, "", msg)  # 500 without a reason is what a real server says
