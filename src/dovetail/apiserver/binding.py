"""Binds a pod to its node, once, through a Binding."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail import api
from dovetail.apiserver import refusals
from dovetail.apiserver.deletion import check_preconditions
from dovetail.apiserver.storage import ObjectStore
from dovetail.apiserver.trees import Obj, at, encoded, part, set_condition, text
from dovetail.kube.seam import Deletion, Ref

POD: Final = api.KINDS["", "Pod"]
_SUCCESS: Final[Obj] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


def is_binding(kind: api.Kind) -> bool:
    """Whether what is created is no object, but the word that binds a pod."""
    return (kind.group, kind.name) == ("", "Binding")


def bind(storage: ObjectStore, binding: Obj, namespace: str) -> msgspec.Raw:
    """Give a pod its node. Raises NotFoundError, ConflictError, InvalidError."""
    ref = Ref(POD, text(binding, "metadata", "name"), namespace)
    node = text(binding, "target", "name")
    if not node or text(binding, "target", "kind") not in ("", "Node"):
        problem = api.FieldProblem("target", "expected the kind Node and a name")
        raise refusals.invalid(ref, [problem])
    stored = storage.get(ref)
    metadata = at(binding, "metadata")
    version = text(metadata, "resourceVersion")
    wanted = Deletion(uid=text(metadata, "uid"), resource_version=version)
    check_preconditions(ref, stored, wanted)
    tree = stored.tree()
    why = _obstacle(ref, tree)
    if why:
        raise refusals.conflict(ref, why)
    part(tree, "spec")["nodeName"] = node
    part(tree, "status").pop("nominatedNodeName", None)
    for field in ("annotations", "labels"):
        added = at(metadata, field)
        if isinstance(added, dict) and added:
            part(tree, "metadata", field).update(added)
    set_condition(tree, {"type": "PodScheduled", "status": "True"}, storage.now())
    storage.write(ref, tree)
    return encoded(_SUCCESS)


def _obstacle(ref: Ref, pod: Obj) -> str:
    """Why a pod cannot be bound, if so."""
    if at(pod, "metadata", "deletionTimestamp") is not None:
        return f"pod {ref.name} is being deleted, cannot be assigned to a host"
    if text(pod, "spec", "nodeName"):
        return f'pod {ref.name} is already assigned to node "{text(pod, "spec", "nodeName")}"'
    if at(pod, "spec", "schedulingGates"):
        return f"pod {ref.name} has non-empty .spec.schedulingGates"
    return ""
