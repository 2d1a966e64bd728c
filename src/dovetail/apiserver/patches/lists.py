"""Says which lists are merged item by item, and by which keys.

Built-in kinds say so in their code, custom ones in their definitions. All other lists are one
value: whoever writes them writes them whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail.apiserver.traits import Traits
from dovetail.apiserver.trees import Obj, mapping, texts
from dovetail.kube.seam import Json

Keys = tuple[str, ...]
SET: Final[Keys] = ()  # items are their own keys

_BUILT_IN: Final[Mapping[str, Keys]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "hostIPs": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "podIPs": ("ip",),
    "resourceClaims": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "podCIDRs": SET,
}
_EVERYWHERE: Final[Mapping[str, Keys]] = {"finalizers": SET, "ownerReferences": ("uid",)}
_METADATA: Final = ("metadata",)


class Lists:
    """What of a kind's lists is merged."""

    def __init__(self, traits: Traits) -> None:
        self._by_path = dict(_from_schema(traits.schema)) if traits.schema is not None else None
        self._is_custom = traits.is_custom

    def keys(self, path: tuple[str, ...], items: list[Json]) -> Keys | None:
        """What tells a list's items apart, by the fields that lead to it; None: it is one value."""
        field = path[-1] if path else ""
        if path[:-1] == _METADATA and field in _EVERYWHERE:
            return _EVERYWHERE[field]
        if self._is_custom:
            return (self._by_path or {}).get(path)
        if field == "ports":
            is_service = not any("containerPort" in mapping(item) for item in items)
            return ("port", "protocol") if is_service else ("containerPort", "protocol")
        return _BUILT_IN.get(field)


def _from_schema(schema: Obj, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Keys]:
    result: dict[tuple[str, ...], Keys] = {}
    if schema.get("x-kubernetes-list-type") == "map":
        result[path] = tuple(texts(schema, "x-kubernetes-list-map-keys"))
    elif schema.get("x-kubernetes-list-type") == "set":
        result[path] = SET
    for name, inner in mapping(schema.get("properties")).items():
        result |= _from_schema(mapping(inner), (*path, name))
    if isinstance(schema.get("items"), dict):
        result |= _from_schema(mapping(schema["items"]), path)
    return result
