"""Holds what Kubernetes serves and the schemas of its kinds, read from a file.

`tools/make_surface.py` has asked a real kube-apiserver for them. Schemas are decoded when somebody
asks for them; most never are.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

from dovetail.kube.seam import Json

_FILE: Final = "surface.json"


class Subresource(msgspec.Struct, frozen=True):
    """A subresource. Without a group and version it is of its resource's own."""

    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class Resource(msgspec.Struct, frozen=True, rename="camel"):
    """One of the server's own kinds, as discovery tells of it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    singular_name: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    parts: dict[str, Subresource] = {}


class Surface(msgspec.Struct, frozen=True):
    """All of it."""

    resources: tuple[Resource, ...]
    schemas: dict[str, msgspec.Raw]
    messages: dict[str, msgspec.Raw]


@cache
def surface() -> Surface:
    """What the file holds."""
    data = (files("dovetail.apiserver.http") / _FILE).read_bytes()
    return msgspec.json.decode(data, type=Surface)


@cache
def schema(name: str) -> dict[str, Json]:
    """What a type is made of; references are names of other types. Not to be changed."""
    raw = surface().schemas.get(name)
    result: dict[str, Json] = msgspec.json.decode(raw) if raw is not None else {}
    return result


@cache
def message(name: str) -> dict[int, tuple[str, str, str]] | None:
    """A message's fields by their numbers: name, type, and "repeated", "map" or "optional"."""
    raw = surface().messages.get(name)
    if raw is None:
        return None
    return msgspec.json.decode(raw, type=dict[int, tuple[str, str, str]])


@cache
def names_by_kind() -> dict[tuple[str, str, str], str]:
    """The name of each kind's type, by group, version and kind."""
    names: dict[tuple[str, str, str], str] = {}
    for name in surface().schemas:
        match schema(name).get("x-kubernetes-group-version-kind"):
            case [{"group": str(group), "version": str(version), "kind": str(kind)}]:
                names[group, version, kind] = name
            case _:
                pass  # no kind, or a type that many kinds share
    return names
