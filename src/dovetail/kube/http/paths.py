"""Builds paths and queries of requests, as Kubernetes spells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

from dovetail import api
from dovetail.kube.seam import Patch, PatchType, Ref, Scope

VERSION: Final = "/version"


def collection(kind: api.Kind, namespace: str = "") -> str:
    """All objects of a kind, of one namespace or of all."""
    root = f"/apis/{kind.group}" if kind.group else "/api"
    within = f"/namespaces/{_segment(namespace)}" if namespace and kind.is_namespaced else ""
    return f"{root}/{kind.version}{within}/{kind.plural}"


def single(ref: Ref, subresource: str = "") -> str:
    """One object, or a part of it."""
    path = f"{collection(ref.kind, ref.namespace)}/{_segment(ref.name)}"
    return f"{path}/{_segment(subresource)}" if subresource else path


def _segment(name: str) -> str:
    return quote(name, safe="")


def query(parameters: Mapping[str, str]) -> str:
    """The query with its question mark, without what is empty; nothing if all is."""
    given = {key: value for key, value in parameters.items() if value}
    return "?" + urlencode(given, quote_via=quote) if given else ""


def listing(scope: Scope, *, limit: int, token: str) -> str:
    """Path and query of one page."""
    parameters = {**_selectors(scope), "limit": str(limit) if limit else "", "continue": token}
    return collection(scope.kind, scope.namespace) + query(parameters)


def watching(scope: Scope, *, since: str, timeout_seconds: int) -> str:
    """Path and query of a watch that the server ends by itself; without a version to go on from,
    of one that streams everything first.
    """
    parameters = {
        **_selectors(scope),
        "watch": "1",
        "resourceVersion": since,
        "sendInitialEvents": "" if since else "true",
        "resourceVersionMatch": "" if since else "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(timeout_seconds),
    }
    return collection(scope.kind, scope.namespace) + query(parameters)


def _selectors(scope: Scope) -> dict[str, str]:
    return {"labelSelector": scope.labels, "fieldSelector": scope.fields}


def patching(ref: Ref, patch: Patch) -> str:
    """Path and query of a patch. Only server-side apply may be forced."""
    is_forced = patch.force and patch.type is PatchType.APPLY
    parameters = {"fieldManager": patch.manager, "force": "true" if is_forced else ""}
    return single(ref, patch.subresource) + query(parameters)
