"""Which kinds are served, and under which names? Those that decisions read, and those around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from dovetail import api
from dovetail.api.crds import crds
from dovetail.kube.seam import Json


def _more(group: str, version: str, name: str, *, is_namespaced: bool = True) -> api.Kind:
    """A kind of which nothing but its metadata is read."""
    plural = name.lower() + ("es" if name.endswith("s") else "s")
    return api.Kind(group, version, name, plural, api.Object, is_namespaced)


_RBAC: Final = "rbac.authorization.k8s.io"
_MORE: Final = (
    _more("", "v1", "ConfigMap"),
    _more("", "v1", "Secret"),
    _more("", "v1", "Event"),
    _more("", "v1", "ServiceAccount"),
    _more("", "v1", "Binding"),
    _more("coordination.k8s.io", "v1", "Lease"),
    _more(_RBAC, "v1", "Role"),
    _more(_RBAC, "v1", "RoleBinding"),
    _more(_RBAC, "v1", "ClusterRole", is_namespaced=False),
    _more(_RBAC, "v1", "ClusterRoleBinding", is_namespaced=False),
    _more("apiextensions.k8s.io", "v1", "CustomResourceDefinition", is_namespaced=False),
)
_SHORT: Final[Mapping[str, tuple[str, ...]]] = {
    "configmaps": ("cm",),
    "customresourcedefinitions": ("crd", "crds"),
    "cronjobs": ("cj",),
    "daemonsets": ("ds",),
    "deployments": ("deploy",),
    "events": ("ev",),
    "limitranges": ("limits",),
    "namespaces": ("ns",),
    "nodes": ("no",),
    "persistentvolumeclaims": ("pvc",),
    "persistentvolumes": ("pv",),
    "poddisruptionbudgets": ("pdb",),
    "pods": ("po",),
    "priorityclasses": ("pc",),
    "replicasets": ("rs",),
    "replicationcontrollers": ("rc",),
    "serviceaccounts": ("sa",),
    "services": ("svc",),
    "statefulsets": ("sts",),
    "storageclasses": ("sc",),
}
_SCALED: Final = frozenset({"deployments", "replicasets", "statefulsets", "replicationcontrollers"})
_ALL: Final = frozenset({"pods", "services", "jobs", "cronjobs", "daemonsets"}) | _SCALED


class Offered(msgspec.Struct, frozen=True):
    """A kind as it is offered: its other names, its subresources, and the columns of its table."""

    kind: api.Kind
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    columns: tuple[Mapping[str, Json], ...] = ()


def _offered() -> Iterator[Offered]:
    definitions = {_identity(one): one for one in crds()}
    for kind in (*api.KINDS.values(), *_MORE):
        definition = definitions.get((kind.group, kind.name))
        yield _built_in(kind) if definition is None else _custom(kind, definition)


def _identity(definition: Mapping[str, Json]) -> tuple[str, str]:
    spec = _mapping(definition.get("spec"))
    return str(spec.get("group")), str(_mapping(spec.get("names")).get("kind"))


def _built_in(kind: api.Kind) -> Offered:
    parts = ["status"] if kind.wire_type is not api.Object else []
    if kind.plural in _SCALED:
        parts.append("scale")
    if kind.plural == "pods":
        parts += ["binding", "eviction"]
    categories = ("all",) if kind.plural in _ALL else ()
    return Offered(kind, _SHORT.get(kind.plural, ()), categories, tuple(parts))


def _custom(kind: api.Kind, definition: Mapping[str, Json]) -> Offered:
    spec = _mapping(definition.get("spec"))
    names = _mapping(spec.get("names"))
    version = _mapping(next(iter(_list(spec.get("versions"))), None))
    return Offered(
        kind,
        tuple(str(one) for one in _list(names.get("shortNames"))),
        tuple(str(one) for one in _list(names.get("categories"))),
        tuple(sorted(_mapping(version.get("subresources")))),
        tuple(_mapping(one) for one in _list(version.get("additionalPrinterColumns"))),
    )


def _mapping(tree: Json) -> dict[str, Json]:
    return tree if isinstance(tree, dict) else {}


def _list(tree: Json) -> list[Json]:
    return tree if isinstance(tree, list) else []


OFFERED: Final = tuple(_offered())
BY_PATH: Final = {(one.kind.group, one.kind.version, one.kind.plural): one for one in OFFERED}
