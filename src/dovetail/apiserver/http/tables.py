"""Makes the tables that `kubectl get` prints, with the columns of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from dovetail.apiserver.http.columns import others, pods
from dovetail.apiserver.http.columns.cells import (
    CREATED,
    NAME,
    Cell,
    Column,
    since,
    value_json,
    values_at,
)
from dovetail.apiserver.http.kinds import Offered
from dovetail.apiserver.trees import Obj, mapping
from dovetail.kube.seam import Json

_decoder: Final = msgspec.json.Decoder(dict)


class Inclusion(StrEnum):
    """What comes along with each row."""

    NOTHING = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


def is_wanted(accept: str) -> bool:
    """Whether a client would rather have a table."""
    return "as=Table" in accept


class TablePrinter:
    """Makes the tables of one kind, at one moment."""

    def __init__(self, offered: Offered, now: datetime, included: str) -> None:
        self._columns = columns_of(offered)
        self._now = now
        self._included = included or Inclusion.METADATA

    def encode(self, raws: Iterable[msgspec.Raw], meta: Obj | None = None) -> bytes:
        """The objects as the rows of a table."""
        trees: list[Obj] = [_decoder.decode(raw) for raw in raws]
        version = mapping(trees[-1].get("metadata")).get("resourceVersion") if trees else ""
        table: Obj = {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta or {"resourceVersion": version},
            "columnDefinitions": [_definition(column) for column in self._columns],
            "rows": [self._row(tree) for tree in trees],
        }
        return msgspec.json.encode(table)

    def _row(self, tree: Obj) -> Obj:
        row: Obj = {"cells": [column.cell(tree, self._now) for column in self._columns]}
        if self._included == Inclusion.OBJECT:
            row["object"] = tree
        elif self._included == Inclusion.METADATA:
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": tree.get("metadata"),
            }
        return row


def _definition(column: Column) -> Obj:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column.name == "Name" else "",
        "description": "",
        "priority": column.priority,
    }


def columns_of(offered: Offered) -> tuple[Column, ...]:
    """The columns of a kind."""
    if offered.columns:
        return (NAME, *map(_of_definition, offered.columns))
    return _BY_KIND.get((offered.kind.group, offered.kind.plural), (NAME, CREATED))


def _of_definition(column: Mapping[str, Json]) -> Column:
    """A column as a custom resource definition says it."""
    path, kind = str(column.get("jsonPath") or ""), str(column.get("type"))
    priority = column.get("priority")
    return Column(
        str(column.get("name")),
        _age_cell(path) if kind == "date" else _first_cell(path),
        kind,
        priority if isinstance(priority, int) else 0,
    )


def _first_cell(path: str) -> Cell:
    """Of several things only the first is shown."""
    return lambda tree, _: value_json(next(iter(values_at(tree, path)), None))


def _age_cell(path: str) -> Cell:
    def age(tree: Obj, now: datetime) -> Json:
        value = next(iter(values_at(tree, path)), None)
        return since(value, now) if isinstance(value, str) else None

    return age


_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "others.k8s.io"
_BY_KIND: Final[Mapping[tuple[str, str], tuple[Column, ...]]] = {
    ("", "configmaps"): others.CONFIG_MAPS,
    ("", "events"): others.EVENTS,
    ("", "limitranges"): others.ROLES,
    ("", "namespaces"): others.NAMESPACES,
    ("", "nodes"): pods.NODES,
    ("", "persistentvolumeclaims"): others.CLAIMS,
    ("", "persistentvolumes"): others.VOLUMES,
    ("", "pods"): pods.PODS,
    ("", "podtemplates"): others.TEMPLATES,
    ("", "replicationcontrollers"): pods.REPLICATION_CONTROLLERS,
    ("", "resourcequotas"): others.QUOTAS,
    ("", "secrets"): others.SECRETS,
    ("", "serviceaccounts"): others.ACCOUNTS,
    ("", "services"): others.SERVICES,
    ("apps", "controllerrevisions"): others.REVISIONS,
    ("apps", "daemonsets"): pods.DAEMON_SETS,
    ("apps", "deployments"): pods.DEPLOYMENTS,
    ("apps", "replicasets"): pods.REPLICA_SETS,
    ("apps", "statefulsets"): pods.STATEFUL_SETS,
    ("autoscaling", "horizontalpodautoscalers"): pods.AUTOSCALERS,
    ("batch", "cronjobs"): pods.CRON_JOBS,
    ("batch", "jobs"): pods.JOBS,
    ("coordination.k8s.io", "leases"): others.LEASES,
    ("networking.k8s.io", "ingresses"): others.INGRESSES,
    ("networking.k8s.io", "networkpolicies"): others.POLICIES,
    ("node.k8s.io", "runtimeclasses"): others.RUNTIME_CLASSES,
    ("policy", "poddisruptionbudgets"): others.BUDGETS,
    (_RBAC, "clusterrolebindings"): others.BINDINGS,
    (_RBAC, "clusterroles"): others.ROLES,
    (_RBAC, "rolebindings"): others.BINDINGS,
    (_RBAC, "roles"): others.ROLES,
    ("scheduling.k8s.io", "priorityclasses"): others.PRIORITY_CLASSES,
    (_STORAGE, "csinodes"): others.CSI_NODES,
    (_STORAGE, "storageclasses"): others.STORAGE_CLASSES,
    (_STORAGE, "volumeattachments"): others.ATTACHMENTS,
}
