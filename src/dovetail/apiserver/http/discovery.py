"""Lists groups, versions and kinds, by which kubectl finds its way."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from dovetail.apiserver.http import openapi
from dovetail.apiserver.http.kinds import OFFERED, Offered, Subresource
from dovetail.kube.seam import Json

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


def document(path: str) -> Mapping[str, Json] | None:
    """What stands at a path that is about the server itself, if anything."""
    path = path.rstrip("/")
    return openapi.document(path) if path.startswith("/openapi") else _documents().get(path)


def _resources(group: str, version: str) -> dict[str, Json]:
    resources: list[Json] = []
    for item in OFFERED:
        if (item.kind.group, item.kind.version) == (group, version):
            resources.append(_resource(item))
            resources += [_part(item, name, part) for name, part in item.parts.items()]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": resources,
    }


def _resource(offered: Offered) -> dict[str, Json]:
    kind = offered.kind
    result: dict[str, Json] = {
        "name": kind.plural,
        "singularName": offered.singular,
        "namespaced": kind.is_namespaced,
        "kind": kind.name,
        "verbs": list(offered.verbs),
    }
    if offered.short_names:
        result["shortNames"] = list(offered.short_names)
    if offered.categories:
        result["categories"] = list(offered.categories)
    return result


def _part(offered: Offered, name: str, part: Subresource) -> dict[str, Json]:
    result: dict[str, Json] = {
        "name": f"{offered.kind.plural}/{name}",
        "singularName": "",
        "namespaced": offered.kind.is_namespaced,
        "kind": part.kind,
        "verbs": list(part.verbs),
    }
    if part.version:
        result |= {"group": part.group, "version": part.version}
    return result


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
    return list(dict.fromkeys(item.kind.group for item in OFFERED if item.kind.group))


def _versions(group: str) -> list[str]:
    return list(dict.fromkeys(item.kind.version for item in OFFERED if item.kind.group == group))


@cache
def _documents() -> dict[str, dict[str, Json]]:
    documents: dict[str, dict[str, Json]] = {
        "/version": _VERSION,
        "/api": {"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"]},
        "/api/v1": _resources("", "v1"),
        "/apis": {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [_group(item) for item in _groups()],
        },
    }
    for group in _groups():
        documents[f"/apis/{group}"] = _group(group)
        for version in _versions(group):
            documents[f"/apis/{group}/{version}"] = _resources(group, version)
    return documents
