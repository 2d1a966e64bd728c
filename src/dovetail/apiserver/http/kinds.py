"""Lists the kinds that are served, holds their schemas, and parses the paths of requests.

Served are the server's own kinds and those of CustomResourceDefinitions. The former and the schemas
are read from a file, for which `tools/make_surface.py` has asked a real kube-apiserver. Schemas are
decoded when somebody asks for them; most never are. A path names a kind, one namespace or all, one
object or many, a subresource.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final
from urllib.parse import unquote

import msgspec

from dovetail import api
from dovetail.api.crds import crds
from dovetail.apiserver.trees import items, mapping
from dovetail.cloud import registry
from dovetail.kube.seam import Json, Ref

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


_NO_PARTS: Final[Mapping[str, Subresource]] = {}
# Other views on objects of another kind, which nobody here translates.
_NOT_SERVED: Final = (("autoscaling", "v1"), ("events.k8s.io", "v1"))
_VERBS: Final = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
_OPEN: Final[Mapping[str, Json]] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_STATUS_VERBS: Final = ("get", "patch", "update")


class Offered(msgspec.Struct, frozen=True):
    """A kind as it is offered: its names, what can be done with it, its parts, and its definition,
    where it has one.
    """

    kind: api.Kind
    singular: str
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    parts: Mapping[str, Subresource] = _NO_PARTS
    columns: tuple[Mapping[str, Json], ...] = ()
    schema: Mapping[str, Json] | None = None


def _all_offered() -> Iterator[Offered]:
    for resource in surface().resources:
        if (resource.group, resource.version) not in _NOT_SERVED:
            yield _built_in(resource)
    added = registry.extensions()
    definitions = {_identity(definition): definition for definition in crds(added)}
    own = {(resource.group, resource.kind) for resource in surface().resources}
    for kind in sorted(api.all_kinds(added).values(), key=_sort_key):
        definition = definitions.get((kind.group, kind.name))
        if definition is not None:
            yield _custom(kind, definition)
        elif (kind.group, kind.name) not in own:
            parts = {"status": Subresource(kind.name, _STATUS_VERBS)}
            yield Offered(kind, kind.name.lower(), _VERBS, parts=parts, schema=_OPEN)


def _sort_key(kind: api.Kind) -> tuple[str, bool, str]:
    """As a real server lists what is defined: by group and name, versions for use first."""
    return kind.group, "alpha" in kind.version, kind.plural


def _built_in(resource: Resource) -> Offered:
    known = api.KINDS.get((resource.group, resource.kind))
    kind = known or api.Kind(
        resource.group,
        resource.version,
        resource.kind,
        resource.plural,
        api.Object,
        resource.namespaced,
    )
    return Offered(
        kind,
        resource.singular_name,
        resource.verbs,
        resource.short_names,
        resource.categories,
        resource.parts,
    )


def _identity(definition: Mapping[str, Json]) -> tuple[str, str]:
    spec = mapping(definition.get("spec"))
    return str(spec.get("group")), str(mapping(spec.get("names")).get("kind"))


def _custom(kind: api.Kind, definition: Mapping[str, Json]) -> Offered:
    spec = mapping(definition.get("spec"))
    names = mapping(spec.get("names"))
    version = mapping(next(iter(items(spec.get("versions"))), None))
    parts = {
        name: Subresource("Scale", _STATUS_VERBS, "autoscaling", "v1")
        if name == "scale"
        else Subresource(kind.name, _STATUS_VERBS)
        for name in mapping(version.get("subresources"))
    }
    return Offered(
        kind,
        str(names.get("singular")),
        _VERBS,
        tuple(str(item) for item in items(names.get("shortNames"))),
        tuple(str(item) for item in items(names.get("categories"))),
        parts,
        tuple(mapping(item) for item in items(version.get("additionalPrinterColumns"))),
        mapping(mapping(version.get("schema")).get("openAPIV3Schema")),
    )


OFFERED: Final = tuple(_all_offered())
BY_PATH: Final = {(item.kind.group, item.kind.version, item.kind.plural): item for item in OFFERED}


_NAMESPACES = "namespaces"


class Target(msgspec.Struct, frozen=True):
    """What is asked about. No `name`: all objects of the kind."""

    offered: Offered
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def kind(self) -> api.Kind:
        """Its kind."""
        return self.offered.kind

    @property
    def ref(self) -> Ref:
        """The one object."""
        return Ref(self.kind, self.name, self.namespace)


def target(raw_path: str) -> Target | None:
    """What a path means, still quoted; None if it means nothing."""
    steps = [unquote(step) for step in raw_path.strip("/").split("/")]
    match steps:
        case ["api", version, *rest]:
            return _target_of("", version, rest)
        case ["apis", group, version, *rest]:
            return _target_of(group, version, rest)
        case _:
            return None


def _target_of(group: str, version: str, steps: list[str]) -> Target | None:
    namespace = ""
    # A namespace has parts of its own, which are no kinds.
    if len(steps) > 2 and steps[0] == _NAMESPACES and (group, version, steps[2]) in BY_PATH:
        namespace, steps = steps[1], steps[2:]
    if not 1 <= len(steps) <= 3:
        return None
    offered = BY_PATH.get((group, version, steps[0]))
    if offered is None or (namespace and not offered.kind.is_namespaced):
        return None
    name, subresource = [*steps[1:], "", ""][:2]
    return Target(offered, namespace, name, subresource)
