"""Defines the columns of Nodes."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dovetail.apiserver.http.columns.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    Column,
    Obj,
    at,
    first,
    found,
    mapping,
    said,
    wide,
    word,
)

_ROLE: Final = "node-role.kubernetes.io/"


def _status(tree: Obj, _: datetime) -> str:
    ready = found(tree, '.status.conditions[?(@.type=="Ready")].status')
    words = ["Ready" if said == "True" else "NotReady" for said in ready] or ["Unknown"]
    if found(tree, ".spec.unschedulable") == [True]:
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(tree: Obj, _: datetime) -> str:
    held = mapping(first(tree, ".metadata.labels", None))
    roles = {key.removeprefix(_ROLE) for key in held if key.startswith(_ROLE)}
    if held.get("kubernetes.io/role"):
        roles.add(str(held["kubernetes.io/role"]))
    return ",".join(sorted(role for role in roles if role)) or NONE


def _kernel(tree: Obj, _: datetime) -> str:
    kernel = word(tree, ".status.nodeInfo.kernelVersion", UNKNOWN)
    architecture = word(tree, ".status.nodeInfo.architecture")
    return f"{kernel} ({architecture})" if architecture else kernel


def _address(kind: str) -> Cell:
    return said(f'.status.addresses[?(@.type=="{kind}")].address')


NODES: Final = (
    NAME,
    Column("Status", _status),
    Column("Roles", _roles),
    AGE,
    Column("Version", at(".status.nodeInfo.kubeletVersion")),
    wide("Internal-IP", _address("InternalIP")),
    wide("External-IP", _address("ExternalIP")),
    wide("OS-Image", said(".status.nodeInfo.osImage", UNKNOWN)),
    wide("Kernel-Version", _kernel),
    wide("Container-Runtime", said(".status.nodeInfo.containerRuntimeVersion", UNKNOWN)),
)
