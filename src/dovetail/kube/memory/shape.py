"""Does an object have the shape that its definition gives it? What is unknown goes, what has a
default is filled in, and what is required must be there.
"""

from __future__ import annotations

from typing import Final

from dovetail import api
from dovetail.kube.memory.trees import Obj, decoded, encoded, mapping, texts
from dovetail.kube.seam import Json

_IDENTITY: Final = ("apiVersion", "kind", "metadata")


def shaped(tree: Obj, schema: Obj) -> list[api.FieldProblem]:
    """Bring an object into shape, in place, and tell what is missing."""
    problems: list[api.FieldProblem] = []
    own = {key: value for key, value in tree.items() if key not in _IDENTITY}
    properties = mapping(schema.get("properties"))
    known = {key: value for key, value in properties.items() if key not in _IDENTITY}
    formed = _Shaper(problems).form(own, {**schema, "properties": known}, "")
    for key in own:
        del tree[key]
    tree.update(mapping(formed))
    return problems


class _Shaper:
    """Walks an object and its schema side by side."""

    def __init__(self, problems: list[api.FieldProblem]) -> None:
        self._problems = problems

    def form(self, value: Json, schema: Obj, at: str) -> Json:
        if isinstance(value, dict):
            return self._object(value, schema, at)
        if isinstance(value, list):
            inner = mapping(schema.get("items"))
            return [self.form(one, inner, f"{at}[{index}]") for index, one in enumerate(value)]
        return value

    def _object(self, value: Obj, schema: Obj, at: str) -> Json:
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return value
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            return {key: self.form(one, more, _join(at, key)) for key, one in value.items()}
        formed: Obj = {}
        for key, one in mapping(schema.get("properties")).items():
            inner = mapping(one)
            found = value.get(key)
            if found is None and "default" in inner:
                found = _copy(inner["default"])
            if found is not None:
                formed[key] = self.form(found, inner, _join(at, key))
        for key in texts(schema, "required"):
            if key not in formed:
                problem = api.FieldProblem(_join(at, key), "is missing; expected a value")
                self._problems.append(problem)
        return formed


def _copy(value: Json) -> Json:
    return decoded(encoded({"": value}))[""]


def _join(outer: str, inner: str) -> str:
    return f"{outer}.{inner}" if outer else inner
