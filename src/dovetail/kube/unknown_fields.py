"""Finds fields of custom resources that their definitions do not have: slips of the hand.

The API server leaves such a field out, and what it was to say with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Final

from dovetail import api
from dovetail.api.checks import fields
from dovetail.api.schema import Schema, of_hint

_SPEC: Final = "spec"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_CUSTOM: Final = (api.NodePool, api.NodeClaim, api.NodeOverlay, api.CapacityBuffer, api.NodeClass)


def unknown_fields(kind: api.Kind, tree: api.Tree) -> Iterator[api.FieldProblem]:
    """Every unknown field of the object's spec; none of kinds that are not ours to define."""
    if isinstance(tree, Mapping) and issubclass(kind.wire_type, _CUSTOM):
        yield from _unknown(tree.get(_SPEC), _spec_of(kind.wire_type), _SPEC)


@cache
def _spec_of(wire_type: type[api.Object]) -> Schema:
    """The schema of the spec, as the definition has it."""
    hints = {field.name: field.hint for field in fields(wire_type)}
    return of_hint(hints[_SPEC]) if _SPEC in hints else {}


def _unknown(tree: api.Tree, described: api.Tree, at: str) -> Iterator[api.FieldProblem]:
    if not isinstance(described, Mapping):
        return
    if isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from _unknown(item, described.get("items"), f"{at}[{index}]")
    elif isinstance(tree, Mapping):
        known = described.get("properties")
        is_open = "properties" not in described or _PRESERVE in described
        for key, value in tree.items():
            if isinstance(known, Mapping) and key in known:
                yield from _unknown(value, known[key], f"{at}.{key}")
            elif not is_open and isinstance(known, Mapping):
                yield api.FieldProblem(f"{at}.{key}", _message(key, sorted(known)))
            else:
                yield from _unknown(value, described.get("additionalProperties"), f"{at}.{key}")


def _message(key: str, known: list[str]) -> str:
    """With the field that was probably meant, if one is alike."""
    close = get_close_matches(key, known, n=1)
    expected = close[0] if close else f"one of {', '.join(known)}"
    return f"is unknown; expected {expected}"
