"""Describes what is special about each kind, which a real server has in its code.

That includes which lists are merged item by item, and by which keys. Built-in kinds say so in their
code, custom ones in their definitions. All other lists are one value: whoever writes them writes
them whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from dovetail import api
from dovetail.apiserver.trees import Obj, at, items, mapping, text, texts
from dovetail.kube.seam import Json

_NOTHING: Final[Mapping[str, str]] = {}


class Traits(msgspec.Struct, frozen=True):
    """How objects of a kind are treated. What is not said holds for kinds nobody has heard of."""

    has_status: bool = False
    has_generation: bool = False
    keeps_status_when_created: bool = False
    is_custom: bool = False
    unwritten_zeros: tuple[str, ...] = ()  # of the status
    schema: Obj | None = None
    rule_messages: frozenset[str] = frozenset()  # of the schema's rules in CEL
    extensions: tuple[api.Extension, ...] = ()  # whose rules the schema may have
    scale: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # wanted, counted
    # Fields that selectors may name besides name and namespace, with what they are when absent.
    fields: Mapping[str, str] = _NOTHING


_REPLICAS: Final = (("spec", "replicas"), ("status", "replicas"))
_STATUS: Final = Traits(has_status=True)
_SPEC_AND_STATUS: Final = Traits(has_status=True, has_generation=True)
_WORKLOAD: Final = Traits(has_status=True, has_generation=True, scale=_REPLICAS)
_EVENT: Final = Traits(
    fields={
        **{
            f"involvedObject.{field}": ""
            for field in (
                "kind",
                "namespace",
                "name",
                "uid",
                "apiVersion",
                "resourceVersion",
                "fieldPath",
            )
        },
        "reason": "",
        "reportingComponent": "",
        "source": "",
        "type": "",
    }
)
_POD: Final = Traits(
    has_status=True,
    has_generation=True,
    fields={
        "spec.nodeName": "",
        "spec.restartPolicy": "",
        "spec.schedulerName": "",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "false",
        "status.phase": "",
        "status.podIP": "",
        "status.nominatedNodeName": "",
    },
)

_READY_ONES: Final = ("readyReplicas", "availableReplicas")
BUILT_IN: Final[Mapping[tuple[str, str], Traits]] = {
    ("", "Pod"): _POD,
    ("", "Node"): Traits(
        has_status=True, keeps_status_when_created=True, fields={"spec.unschedulable": "false"}
    ),
    ("", "Namespace"): Traits(has_status=True, fields={"status.phase": ""}),
    ("", "PersistentVolume"): _STATUS,
    ("", "PersistentVolumeClaim"): _STATUS,
    ("", "Service"): Traits(has_status=True, fields={"spec.clusterIP": "", "spec.type": ""}),
    ("", "ReplicationController"): msgspec.structs.replace(
        _WORKLOAD, fields={"status.replicas": "0"}
    ),
    ("", "Event"): _EVENT,
    ("", "Secret"): Traits(fields={"type": ""}),
    ("apps", "Deployment"): msgspec.structs.replace(
        _WORKLOAD,
        unwritten_zeros=("replicas", "updatedReplicas", "unavailableReplicas", *_READY_ONES),
    ),
    ("apps", "ReplicaSet"): msgspec.structs.replace(
        _WORKLOAD,
        fields={"status.replicas": "0"},
        unwritten_zeros=("fullyLabeledReplicas", *_READY_ONES),
    ),
    ("apps", "StatefulSet"): msgspec.structs.replace(
        _WORKLOAD, unwritten_zeros=("currentReplicas", "updatedReplicas", "readyReplicas")
    ),
    ("apps", "DaemonSet"): msgspec.structs.replace(
        _SPEC_AND_STATUS,
        unwritten_zeros=("updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
    ),
    ("batch", "Job"): msgspec.structs.replace(
        _SPEC_AND_STATUS,
        fields={"status.successful": "0"},
        unwritten_zeros=("active", "succeeded", "failed"),
    ),
    ("batch", "CronJob"): _SPEC_AND_STATUS,
    ("policy", "PodDisruptionBudget"): _SPEC_AND_STATUS,
    ("storage.k8s.io", "VolumeAttachment"): _STATUS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _SPEC_AND_STATUS,
}


def of_kind(kind: api.Kind, custom: Mapping[tuple[str, str], Traits]) -> Traits:
    """What is known of a kind: built in, defined, or told by its wire type alone."""
    key = (kind.group, kind.name)
    known = BUILT_IN.get(key) or custom.get(key)
    if known is not None:
        return known
    has_status = "status" in kind.wire_type.__struct_fields__
    is_custom = "." in kind.group and not kind.group.endswith(".k8s.io")
    return Traits(has_status=has_status, has_generation=is_custom, is_custom=is_custom)


def from_definitions(
    definitions: Iterable[Mapping[str, Json]], extensions: tuple[api.Extension, ...]
) -> dict[tuple[str, str], Traits]:
    """What custom resource definitions say, by group and kind."""
    return {
        (text(crd, "spec", "group"), text(crd, "spec", "names", "kind")): _traits_of(
            crd, extensions
        )
        for crd in map(dict, definitions)
    }


def _traits_of(definition: Obj, extensions: tuple[api.Extension, ...]) -> Traits:
    versions = [mapping(version) for version in items(at(definition, "spec", "versions"))]
    stored = next((version for version in versions if version.get("storage")), {})
    subresources = mapping(stored.get("subresources"))
    scale = subresources.get("scale")
    schema = mapping(at(stored, "schema", "openAPIV3Schema"))
    return Traits(
        has_status="status" in subresources,
        has_generation=True,
        is_custom=True,
        schema=schema,
        rule_messages=_rule_messages(schema),
        extensions=extensions,
        scale=(_path(scale, "specReplicasPath"), _path(scale, "statusReplicasPath"))
        if scale is not None
        else None,
        fields={
            text(selectable_field, "jsonPath").removeprefix("."): ""
            for selectable_field in items(stored.get("selectableFields"))
        },
    )


def _path(scale: Json, name: str) -> tuple[str, ...]:
    return tuple(text(scale, name).removeprefix(".").split("."))


def _rule_messages(schema: Json) -> frozenset[str]:
    """What rules in CEL say, wherever they stand in a schema."""
    if isinstance(schema, list):
        return frozenset().union(*map(_rule_messages, schema))
    tree = mapping(schema)
    own = [text(item, "message") for item in items(tree.get("x-kubernetes-validations"))]
    inner = [_rule_messages(item) for item in tree.values() if isinstance(item, dict | list)]
    return frozenset(own).union(*inner)


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
