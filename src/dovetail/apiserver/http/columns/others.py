"""Defines the columns of storage, budgets, events, services, settings and rights."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dovetail.apiserver.http.columns.cells import (
    AGE,
    CREATED,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
    at,
    count,
    first,
    joined_at,
    joined_texts,
    labels,
    number,
    selector,
    since,
    size,
    text_cell,
    value_json,
    values_at,
    wide,
    word,
)
from dovetail.apiserver.trees import Obj
from dovetail.kube.seam import Json


def _or_not_applicable(path: str) -> Cell:
    return lambda tree, _: str(first(tree, path, "N/A"))


def _last_seen(tree: Obj, now: datetime) -> str:
    series = word(tree, ".series.lastObservedTime")
    moment = series or word(tree, ".lastTimestamp") or word(tree, ".eventTime")
    return since(moment, now)


def _first_seen(tree: Obj, now: datetime) -> str:
    return since(word(tree, ".firstTimestamp") or word(tree, ".eventTime"), now)


def _object(tree: Obj, _: datetime) -> str:
    kind, name = word(tree, ".involvedObject.kind"), word(tree, ".involvedObject.name")
    return f"{kind.lower()}/{name}" if kind else name


def _source(tree: Obj, _: datetime) -> str:
    component = word(tree, ".source.component") or word(tree, ".reportingComponent")
    host = word(tree, ".source.host")
    return f"{component}, {host}" if host else component


def _ports(tree: Obj, _: datetime) -> str:
    told = []
    for item in values_at(tree, ".spec.ports[*]"):
        node_port = number(item, ".nodePort")
        middle = f":{node_port}" if node_port else ""
        told.append(f"{number(item, '.port')}{middle}/{word(item, '.protocol')}")
    return joined_texts(list(told))


def _external(tree: Obj, _: datetime) -> str:
    if word(tree, ".spec.type") == "ExternalName":
        return word(tree, ".spec.externalName")
    balanced = values_at(tree, ".status.loadBalancer.ingress[*].ip")
    balanced += values_at(tree, ".status.loadBalancer.ingress[*].hostname")
    outside = joined_texts(balanced + values_at(tree, ".spec.externalIPs[*]"))
    is_waiting = outside == NONE and word(tree, ".spec.type") == "LoadBalancer"
    return "<pending>" if is_waiting else outside


def _subjects(kind: str) -> Cell:
    def names_cell(tree: Obj, _: datetime) -> str:
        told = []
        for item in values_at(tree, f'.subjects[?(@.kind=="{kind}")]'):
            place = word(item, ".namespace")
            told.append(f"{place}/{word(item, '.name')}" if place else word(item, ".name"))
        return ", ".join(told)

    return names_cell


def _quota(kind: str) -> Cell:
    def lines_cell(tree: Obj, _: datetime) -> str:
        hard, used = (first(tree, f".status.{field}", None) for field in ("hard", "used"))
        if not isinstance(hard, dict):
            return ""
        spent = used if isinstance(used, dict) else {}
        lines = [
            f"{name}: {spent.get(name, 0)}/{hard[name]}"
            for name in sorted(hard)
            if name.startswith("limits.") is (kind == "limits")
        ]
        return ", ".join(lines)

    return lines_cell


EVENTS: Final = (
    Column("Last Seen", _last_seen),
    Column("Type", at(".type")),
    Column("Reason", at(".reason")),
    Column("Object", _object),
    wide("Subobject", at(".involvedObject.fieldPath")),
    wide("Source", _source),
    Column("Message", lambda tree, _: word(tree, ".message").strip()),
    wide("First Seen", _first_seen),
    wide("Count", lambda tree, _: number(tree, ".series.count") or number(tree, ".count") or 1),
    wide("Name", at(".metadata.name")),
)
BUDGETS: Final = (
    NAME,
    Column("Min Available", _or_not_applicable(".spec.minAvailable")),
    Column("Max Unavailable", _or_not_applicable(".spec.maxUnavailable")),
    count("Allowed Disruptions", ".status.disruptionsAllowed"),
    AGE,
)
NAMESPACES: Final = (NAME, Column("Status", at(".status.phase")), AGE)
CONFIG_MAPS: Final = (NAME, Column("Data", size(".data"), "integer"), AGE)
SECRETS: Final = (NAME, Column("Type", at(".type")), Column("Data", size(".data"), "integer"), AGE)
ACCOUNTS: Final = (NAME, AGE)
LEASES: Final = (NAME, Column("Holder", at(".spec.holderIdentity")), AGE)
SERVICES: Final = (
    NAME,
    Column("Type", at(".spec.type")),
    Column("Cluster-IP", text_cell(".spec.clusterIP")),
    Column("External-IP", _external),
    Column("Port(s)", _ports),
    AGE,
    wide("Selector", labels(".spec.selector")),
)
PRIORITY_CLASSES: Final = (
    NAME,
    count("Value", ".value"),
    Column("Global-Default", at(".globalDefault", False), "boolean"),
    AGE,
    Column("PreemptionPolicy", at(".preemptionPolicy")),
)
RUNTIME_CLASSES: Final = (NAME, Column("Handler", at(".handler")), AGE)
QUOTAS: Final = (
    NAME, Column("Request", _quota("requests")), Column("Limit", _quota("limits")), AGE
)  # fmt: skip
ROLES: Final = (NAME, CREATED)
BINDINGS: Final = (
    NAME,
    Column("Role", lambda tree, _: f"{word(tree, '.roleRef.kind')}/{word(tree, '.roleRef.name')}"),
    AGE,
    wide("Users", _subjects("User")),
    wide("Groups", _subjects("Group")),
    wide("ServiceAccounts", _subjects("ServiceAccount")),
)
TEMPLATES: Final = (
    NAME,
    Column("Containers", joined_at(".template.spec.containers[*].name", "")),
    Column("Images", joined_at(".template.spec.containers[*].image", "")),
    Column("Pod Labels", labels(".template.metadata.labels")),
)
POLICIES: Final = (NAME, Column("Pod-Selector", selector(".spec.podSelector")), AGE)
INGRESSES: Final = (
    NAME,
    Column("Class", text_cell(".spec.ingressClassName")),
    Column("Hosts", joined_at(".spec.rules[*].host", "*")),
    Column("Address", joined_at(".status.loadBalancer.ingress[*].ip", "")),
    Column("Ports", lambda tree, _: "80, 443" if values_at(tree, ".spec.tls[*]") else "80"),
    AGE,
)
REVISIONS: Final = (
    NAME,
    Column(
        "Controller", lambda tree, _: value_json(first(tree, ".metadata.ownerReferences[*].name"))
    ),
    Column("Revision", at(".revision")),
    AGE,
)


_DEFAULT_CLASS: Final = r".metadata.annotations.storageclass\.kubernetes\.io/is-default-class"
_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _class_name(tree: Obj, _: datetime) -> str:
    is_default = word(tree, _DEFAULT_CLASS) == "true"
    return word(tree, ".metadata.name") + (" (default)" if is_default else "")


def _access(path: str) -> Cell:
    return lambda tree, _: ",".join(
        _MODES.get(str(item), str(item)) for item in values_at(tree, path)
    )


def _claim(tree: Obj, _: datetime) -> str:
    place, name = word(tree, ".spec.claimRef.namespace"), word(tree, ".spec.claimRef.name")
    return f"{place}/{name}" if name else ""


def _phase(tree: Obj, _: datetime) -> Json:
    return (
        "Terminating"
        if values_at(tree, ".metadata.deletionTimestamp")
        else first(tree, ".status.phase")
    )


STORAGE_CLASSES: Final = (
    Column("Name", _class_name),
    Column("Provisioner", at(".provisioner")),
    Column("ReclaimPolicy", at(".reclaimPolicy")),
    Column("VolumeBindingMode", at(".volumeBindingMode")),
    Column("AllowVolumeExpansion", at(".allowVolumeExpansion", "false")),
    AGE,
)
VOLUMES: Final = (
    NAME,
    Column("Capacity", at(".spec.capacity.storage")),
    Column("Access Modes", _access(".spec.accessModes[*]")),
    Column("Reclaim Policy", at(".spec.persistentVolumeReclaimPolicy")),
    Column("Status", _phase),
    Column("Claim", _claim),
    Column("StorageClass", at(".spec.storageClassName")),
    Column("VolumeAttributesClass", at(".spec.volumeAttributesClassName", UNSET)),
    Column("Reason", at(".status.reason")),
    AGE,
    wide("VolumeMode", at(".spec.volumeMode", UNSET)),
)
CLAIMS: Final = (
    NAME,
    Column("Status", _phase),
    Column("Volume", at(".spec.volumeName")),
    Column("Capacity", at(".status.capacity.storage")),
    Column("Access Modes", _access(".status.accessModes[*]")),
    Column("StorageClass", at(".spec.storageClassName")),
    Column("VolumeAttributesClass", at(".spec.volumeAttributesClassName", UNSET)),
    AGE,
    wide("VolumeMode", at(".spec.volumeMode", UNSET)),
)
ATTACHMENTS: Final = (
    NAME,
    Column("Attacher", at(".spec.attacher")),
    Column("PV", at(".spec.source.persistentVolumeName")),
    Column("Node", at(".spec.nodeName")),
    Column("Attached", at(".status.attached", False), "boolean"),
    AGE,
)
CSI_NODES: Final = (NAME, Column("Drivers", size(".spec.drivers"), "integer"), AGE)
