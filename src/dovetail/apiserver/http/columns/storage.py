"""Defines the columns of storage classes, volumes, claims and attachments."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dovetail.apiserver.http.columns.cells import (
    AGE,
    NAME,
    UNSET,
    Cell,
    Column,
    at,
    first,
    found,
    size,
    wide,
    word,
)
from dovetail.apiserver.trees import Obj
from dovetail.kube.seam import Json

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
    return lambda tree, _: ",".join(_MODES.get(str(item), str(item)) for item in found(tree, path))


def _claim(tree: Obj, _: datetime) -> str:
    place, name = word(tree, ".spec.claimRef.namespace"), word(tree, ".spec.claimRef.name")
    return f"{place}/{name}" if name else ""


def _phase(tree: Obj, _: datetime) -> Json:
    return (
        "Terminating"
        if found(tree, ".metadata.deletionTimestamp")
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
