"""What does `kubectl get` print? Tables, made by the server, with the columns of each kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail.kube.seam import Json
from dovetail.web.kubernetes.kinds import Offered

Obj = dict[str, Json]
_Column = tuple[str, Callable[[Obj, datetime], Json], int]  # name, cell, priority

_decoder: Final = msgspec.json.Decoder(dict)
_STEP: Final = re.compile(
    r"\.(?P<field>(?:[^.\[\\]|\\.)+)|\[\?\(@\.(?P<key>\w+)==\"(?P<value>[^\"]*)\"\)\]|\[(?P<all>\*)\]"
)
_SPANS: Final = ((86400 * 2, 86400, "d"), (3600 * 3, 3600, "h"), (60 * 2, 60, "m"))


def is_wanted(accept: str) -> bool:
    """Whether a client would rather have a table."""
    return "as=Table" in accept


def encoded(
    offered: Offered, raws: Iterable[msgspec.Raw], *, now: datetime, meta: Obj | None = None
) -> bytes:
    """The objects as the rows of a table."""
    columns = _columns(offered)
    rows: list[Json] = []
    version = ""
    for raw in raws:
        tree: Obj = _decoder.decode(raw)
        held = _mapping(tree.get("metadata"))
        version = str(held.get("resourceVersion") or "")
        shown: Json = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": held,
        }
        rows.append({"cells": [cell(tree, now) for _, cell, _ in columns], "object": shown})
    table: Obj = {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": meta or {"resourceVersion": version},
        "columnDefinitions": [
            {
                "name": name,
                "type": "string",
                "format": "name" if name == "Name" else "",
                "description": "",
                "priority": priority,
            }
            for name, _, priority in columns
        ],
        "rows": rows,
    }
    return msgspec.json.encode(table)


def _columns(offered: Offered) -> list[_Column]:
    if offered.columns:
        return [_NAME, *map(_defined, offered.columns)]
    return [_NAME, *_BY_PLURAL.get(offered.kind.plural, ()), _AGE]


def _defined(column: Mapping[str, Json]) -> _Column:
    """A column as a custom resource definition says it."""
    path = str(column.get("jsonPath") or "")
    priority = column.get("priority")
    show = _age_at(path) if column.get("type") == "date" else _at(path)
    return str(column.get("name")), show, priority if isinstance(priority, int) else 0


def found(tree: Json, path: str) -> list[Json]:
    """What a JSON path leads to, as far as column definitions use them."""
    values = [tree]
    for step in _STEP.finditer(path):
        values = [inner for value in values for inner in _inner(value, step)]
    return values


def _inner(value: Json, step: re.Match[str]) -> list[Json]:
    if step["field"] is not None:
        field = step["field"].replace("\\", "")
        return [value[field]] if isinstance(value, dict) and field in value else []
    items = value if isinstance(value, list) else []
    if step["all"]:
        return list(items)
    return [one for one in items if _mapping(one).get(step["key"]) == step["value"]]


def _at(path: str) -> Callable[[Obj, datetime], Json]:
    return lambda tree, _: ",".join(str(one) for one in found(tree, path))


def _age_at(path: str) -> Callable[[Obj, datetime], Json]:
    def age(tree: Obj, now: datetime) -> Json:
        said = next(iter(found(tree, path)), None)
        if not isinstance(said, str):
            return "<unknown>"
        return span((now - datetime.fromisoformat(said)).total_seconds())

    return age


def span(seconds: float) -> str:
    """How long, in one word."""
    whole = max(int(seconds), 0)
    for least, unit, letter in _SPANS:
        if whole >= least:
            return f"{whole // unit}{letter}"
    return f"{whole}s"


def _ready_containers(tree: Obj, _: datetime) -> Json:
    ready = [one is True for one in found(tree, ".status.containerStatuses[*].ready")]
    return f"{sum(ready)}/{len(found(tree, '.spec.containers[*].name'))}"


def _pod_status(tree: Obj, _: datetime) -> Json:
    if found(tree, ".metadata.deletionTimestamp"):
        return "Terminating"
    return next(iter(found(tree, ".status.phase")), "")


def _node_status(tree: Obj, _: datetime) -> Json:
    said = found(tree, '.status.conditions[?(@.type=="Ready")].status')
    words = ["Ready" if said == ["True"] else "NotReady"]
    if found(tree, ".spec.unschedulable") == [True]:
        words.append("SchedulingDisabled")
    return ",".join(words)


def _fraction(part: str, whole: str) -> Callable[[Obj, datetime], Json]:
    def shown(tree: Obj, _: datetime) -> Json:
        has, wants = ([*found(tree, path), 0][0] for path in (part, whole))
        return f"{has}/{wants}"

    return shown


def _mapping(tree: Json) -> Obj:
    return tree if isinstance(tree, dict) else {}


_NAME: Final[_Column] = ("Name", _at(".metadata.name"), 0)
_AGE: Final[_Column] = ("Age", _age_at(".metadata.creationTimestamp"), 0)
_REPLICAS: Final[tuple[_Column, ...]] = (
    ("Ready", _fraction(".status.readyReplicas", ".spec.replicas"), 0),
)
_BY_PLURAL: Final[Mapping[str, tuple[_Column, ...]]] = {
    "pods": (
        ("Ready", _ready_containers, 0),
        ("Status", _pod_status, 0),
        ("Node", _at(".spec.nodeName"), 0),
    ),
    "nodes": (
        ("Status", _node_status, 0),
        ("Type", _at(".metadata.labels.node\\.kubernetes\\.io/instance-type"), 0),
        ("Zone", _at(".metadata.labels.topology\\.kubernetes\\.io/zone"), 0),
        ("Version", _at(".status.nodeInfo.kubeletVersion"), 0),
    ),
    "deployments": _REPLICAS,
    "replicasets": _REPLICAS,
    "statefulsets": _REPLICAS,
    "jobs": (("Succeeded", _at(".status.succeeded"), 0),),
    "poddisruptionbudgets": (
        ("Min Available", _at(".spec.minAvailable"), 0),
        ("Max Unavailable", _at(".spec.maxUnavailable"), 0),
        ("Allowed Disruptions", _at(".status.disruptionsAllowed"), 0),
    ),
    "events": (
        ("Type", _at(".type"), 0),
        ("Reason", _at(".reason"), 0),
        ("Object", _at(".involvedObject.name"), 0),
        ("Message", _at(".message"), 0),
    ),
}
