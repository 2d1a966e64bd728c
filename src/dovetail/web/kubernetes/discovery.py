"""What can be asked for? The lists of groups, versions and kinds by which kubectl finds its way.

For `kubectl apply` there is also just enough of an OpenAPI document to say that the server itself
checks what it is given, so that no client need know the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail.kube.seam import Json
from dovetail.web.kubernetes.kinds import OFFERED, Offered

_VERBS: Final[tuple[Json, ...]] = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
_PART_VERBS: Final[Mapping[str, tuple[Json, ...]]] = {
    "status": ("get", "patch", "update"),
    "scale": ("get", "patch", "update"),
    "binding": ("create",),
    "eviction": ("create",),
}
_PART_KINDS: Final = {
    "scale": ("autoscaling", "v1", "Scale"),
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
}
_VERSION: Final[dict[str, Json]] = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0-dovetail",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}


def document(path: str) -> dict[str, Json] | None:
    """What stands at a path that is about the server itself, if anything."""
    return _DOCUMENTS.get(path.rstrip("/"))


def _resources(group: str, version: str) -> dict[str, Json]:
    found: list[Json] = []
    for one in _of(group, version):
        found.append(_resource(one))
        found += [_part(one, name) for name in one.subresources]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": found,
    }


def _resource(one: Offered) -> dict[str, Json]:
    kind = one.kind
    return {
        "name": kind.plural,
        "singularName": kind.name.lower(),
        "namespaced": kind.is_namespaced,
        "kind": kind.name,
        "verbs": ["create"] if kind.name == "Binding" else list(_VERBS),
        "shortNames": list(one.short_names),
        "categories": list(one.categories),
    }


def _part(one: Offered, name: str) -> dict[str, Json]:
    kind = one.kind
    group, version, part_kind = _PART_KINDS.get(name, (kind.group, kind.version, kind.name))
    return {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.is_namespaced,
        "group": group,
        "version": version,
        "kind": part_kind,
        "verbs": list(_PART_VERBS.get(name, ())),
    }


def _group(group: str) -> dict[str, Json]:
    versions: list[Json] = [
        {"groupVersion": f"{group}/{version}", "version": version} for version in _versions(group)
    ]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def _groups() -> list[str]:
    return list(dict.fromkeys(one.kind.group for one in OFFERED if one.kind.group))


def _versions(group: str) -> list[str]:
    return list(dict.fromkeys(one.kind.version for one in OFFERED if one.kind.group == group))


def _of(group: str, version: str) -> list[Offered]:
    return [one for one in OFFERED if (one.kind.group, one.kind.version) == (group, version)]


def _schema(group: str, version: str) -> dict[str, Json]:
    """The least of an OpenAPI document: each kind can be patched, and the server checks fields."""
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    checks: Json = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]
    paths: dict[str, Json] = {}
    for one in _of(group, version):
        meant: Json = {"group": group, "version": version, "kind": one.kind.name}
        within = "/namespaces/{namespace}" if one.kind.is_namespaced else ""
        paths[f"{root}{within}/{one.kind.plural}/{{name}}"] = {
            "patch": {
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": meant,
                "parameters": checks,
                "responses": {},
            }
        }
    info: Json = {"title": "dovetail", "version": "v1"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}


def _documents() -> dict[str, dict[str, Json]]:
    found: dict[str, dict[str, Json]] = {
        "/version": _VERSION,
        "/api": {"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"]},
        "/api/v1": _resources("", "v1"),
        "/apis": {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [_group(one) for one in _groups()],
        },
        "/openapi/v3/api/v1": _schema("", "v1"),
    }
    for group in _groups():
        found[f"/apis/{group}"] = _group(group)
        for version in _versions(group):
            found[f"/apis/{group}/{version}"] = _resources(group, version)
            found[f"/openapi/v3/apis/{group}/{version}"] = _schema(group, version)
    beginning = "/openapi/v3/"
    found["/openapi/v3"] = {
        "paths": {
            path.removeprefix(beginning): {"serverRelativeURL": path}
            for path in list(found)
            if path.startswith(beginning)
        }
    }
    return found


_DOCUMENTS: Final = _documents()
