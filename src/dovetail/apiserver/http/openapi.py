"""Makes OpenAPI documents, one for each version of a group, and one in the older format.

Clients read them to explain fields and to merge lists. They say no more than these need: schemas,
and for each kind that it can be read, made and patched, and that the server checks fields itself.

kubectl reads that in the older document, which it wants as protocol buffers. Here is just enough of
it, written by hand: for each kind the path at which it is patched, the parameters that are taken
there, and which kind it is.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from dovetail.apiserver.http.kinds import OFFERED, Offered, names_by_kind, schema
from dovetail.apiserver.trees import Obj
from dovetail.kube.seam import Json

CONTENT_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
PARAMETERS: Final = ("dryRun", "fieldValidation")
_GVK: Final = "x-kubernetes-group-version-kind"


def _with_size(number: int, data: bytes) -> bytes:
    """A field that says how long it is: text, or a message."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


@cache
def document_v2() -> bytes:
    """The whole document."""
    info = _with_size(1, b"Kubernetes") + _with_size(2, b"v1")
    paths = b"".join(_with_size(2, _path_v2(item)) for item in OFFERED)
    return _with_size(1, b"2.0") + _with_size(2, info) + _with_size(8, paths)


def _path_v2(offered: Offered) -> bytes:
    kind = offered.kind
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    within = "/namespaces/{namespace}" if kind.is_namespaced else ""
    name = f"{root}{within}/{kind.plural}/{{name}}"
    patch = b"".join(_with_size(8, _parameter(each)) for each in PARAMETERS) + _with_size(
        13, _kind_message(offered)
    )
    return _with_size(1, name.encode()) + _with_size(2, _with_size(8, patch))


def _parameter(name: str) -> bytes:
    """A parameter of the query, in the boxes that tell it from those of other places."""
    query = _with_size(2, b"query") + _with_size(4, name.encode())
    return _with_size(1, _with_size(2, _with_size(3, query)))


def _kind_message(offered: Offered) -> bytes:
    kind = offered.kind
    message = f'group: "{kind.group}"\nkind: {kind.name}\nversion: {kind.version}\n'
    return _with_size(1, _GVK.encode()) + _with_size(2, _with_size(2, message.encode()))


_ROOT: Final = "/openapi/v3"
_REFERENCE: Final = "#/components/schemas/"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_CHECKS: Final[Json] = [
    {"name": name, "in": "query", "schema": {"type": "string"}} for name in PARAMETERS
]
# Said in prose by nobody else, and shown by `kubectl explain` of every kind that is defined.
_IDENTITY: Final[Obj] = {
    "apiVersion": {"type": "string", "description": "Group and version of this kind."},
    "kind": {"type": "string", "description": "What this object is."},
}


def document(path: str) -> Obj | None:
    """What stands at a path below /openapi, if anything."""
    if path == _ROOT:
        return {"paths": {root: {"serverRelativeURL": f"{_ROOT}/{root}"} for root in _roots()}}
    version = _roots().get(path.removeprefix(f"{_ROOT}/"))
    return _document(version) if version is not None else None


@cache
def _roots() -> dict[str, tuple[str, str]]:
    """Groups and versions by the beginnings of their paths."""
    return {_root(item): (item.kind.group, item.kind.version) for item in OFFERED}


def _root(offered: Offered) -> str:
    kind = offered.kind
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


@cache
def _document(version: tuple[str, str]) -> Obj:
    paths: Obj = {}
    schemas: Obj = {}
    for item in OFFERED:
        if (item.kind.group, item.kind.version) == version:
            paths |= _paths(item)
            _gather(type_name(item), type_schema(item), schemas)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.0-dovetail"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def type_name(offered: Offered) -> str:
    """The name of a kind's type."""
    kind = offered.kind
    key = (kind.group, kind.version, kind.name)
    reversed_group = ".".join(reversed(kind.group.split(".")))
    return names_by_kind().get(key) or f"{reversed_group}.{kind.version}.{kind.name}"


def type_schema(offered: Offered) -> Obj:
    """What a kind is made of; references are names of other types."""
    if offered.schema is None:
        return schema(type_name(offered))
    own = offered.schema.get("properties")
    properties: Obj = {
        **(own if isinstance(own, dict) else {}),
        **_IDENTITY,
        "metadata": {"allOf": [{"$ref": _META}], "description": "Its names, labels and owners."},
    }
    meant: Json = [
        {"group": offered.kind.group, "version": offered.kind.version, "kind": offered.kind.name}
    ]
    return {**offered.schema, "properties": properties, "x-kubernetes-group-version-kind": meant}


def _paths(offered: Offered) -> Obj:
    kind = offered.kind
    meant: Json = {"group": kind.group, "version": kind.version, "kind": kind.name}
    within = "/namespaces/{namespace}" if kind.is_namespaced else ""
    all_of_them = f"/{_root(offered)}{within}/{kind.plural}"

    def _action_json(action: str) -> Json:
        return {
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": meant,
            "parameters": _CHECKS if action in {"post", "patch"} else [],
            "responses": {},
        }

    return {
        all_of_them: {"get": _action_json("list"), "post": _action_json("post")},
        f"{all_of_them}/{{name}}": {"get": _action_json("get"), "patch": _action_json("patch")},
    }


def _gather(name: str, tree: Obj, gathered: Obj) -> None:
    """Put a type and all that it is made of among those found."""
    if name in gathered:
        return
    gathered[name] = {}
    needed: list[str] = []
    gathered[name] = _with_references(tree, needed)
    for other in needed:
        _gather(other, schema(other), gathered)


def _with_references(tree: Json, needed: list[str]) -> Json:
    """The same with references as OpenAPI writes them; what they name is noted."""
    if isinstance(tree, list):
        return [_with_references(item, needed) for item in tree]
    if not isinstance(tree, dict):
        return tree
    made: Obj = {}
    for key, value in tree.items():
        if key == "$ref" and isinstance(value, str):
            needed.append(value)
            made[key] = _REFERENCE + value
        else:
            made[key] = _with_references(value, needed)
    return made
