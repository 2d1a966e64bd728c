"""Which shape does a definition give an object? What is unknown goes, and what has a default is
filled in.
"""

from __future__ import annotations

from typing import Final

from dovetail.apiserver.trees import Obj, decoded, encoded, mapping
from dovetail.kube.seam import Json

_IDENTITY: Final = ("apiVersion", "kind", "metadata")


def shape(tree: Obj, schema: Obj) -> None:
    """Bring an object into shape, in place."""
    own = {key: value for key, value in tree.items() if key not in _IDENTITY}
    properties = mapping(schema.get("properties"))
    known = {key: value for key, value in properties.items() if key not in _IDENTITY}
    formed = _formed(own, {**schema, "properties": known})
    for key in own:
        del tree[key]
    tree.update(mapping(formed))


def _formed(value: Json, schema: Obj) -> Json:
    if isinstance(value, dict):
        return _object(value, schema)
    if isinstance(value, list):
        inner = mapping(schema.get("items"))
        return [_formed(one, inner) for one in value]
    return value


def _object(value: Obj, schema: Obj) -> Json:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        return {key: _formed(one, more) for key, one in value.items()}
    formed: Obj = {}
    for key, one in mapping(schema.get("properties")).items():
        inner = mapping(one)
        found = value.get(key)
        if found is None and "default" in inner:
            found = _copy(inner["default"])
        if found is not None:
            formed[key] = _formed(found, inner)
    return formed


def _copy(value: Json) -> Json:
    return decoded(encoded({"": value}))[""]
