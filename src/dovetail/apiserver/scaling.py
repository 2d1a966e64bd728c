"""How many replicas are wanted? The scale subresource: the same question for every kind."""

from __future__ import annotations

import msgspec

from dovetail import api
from dovetail.apiserver import refusals
from dovetail.apiserver.record import Stored
from dovetail.apiserver.storage import ObjectStore
from dovetail.apiserver.trees import Obj, at, encoded, labels_of, number, part, text
from dovetail.apiserver.updating import update
from dovetail.kube.seam import Json, Ref

SCALE = "scale"


def scale_of(storage: ObjectStore, ref: Ref, held: Stored) -> Obj:
    """An object as its scale shows it. Raises NotFoundError for kinds that have none."""
    scale = storage.traits(ref.kind).scale
    if scale is None:
        raise refusals.no_such_resource()
    tree = held.tree()
    metadata: Obj = {
        key: at(tree, "metadata", key)
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if at(tree, "metadata", key) is not None
    }
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": {"replicas": number(tree, *scale[0])},
        "status": {"replicas": number(tree, *scale[1]), **_selector(tree, ref)},
    }


def _selector(tree: Obj, ref: Ref) -> Obj:
    """Which pods are counted, as kubectl would select them; definitions here do not say."""
    selector = at(tree, "spec", "selector")
    if ref.kind.wire_type is api.Object or not isinstance(selector, dict):
        return {}
    chosen = labels_of(selector, "matchLabels") or labels_of(selector)
    return {"selector": ",".join(f"{key}={chosen[key]}" for key in sorted(chosen))}


def rescale(storage: ObjectStore, ref: Ref, wanted: Json, manager: str) -> msgspec.Raw:
    """Set how many replicas are wanted, and show the scale. Raises InvalidError, ConflictError."""
    scale = storage.traits(ref.kind).scale
    replicas = at(wanted, "spec", "replicas")
    if scale is None:
        raise refusals.no_such_resource()
    if not isinstance(replicas, int) or replicas < 0:
        problem = api.FieldProblem("spec.replicas", "expected a whole number, 0 or more")
        raise refusals.invalid(ref, [problem])
    tree = storage.get(ref).tree()
    version = text(wanted, "metadata", "resourceVersion")
    if version:
        part(tree, "metadata")["resourceVersion"] = version
    part(tree, *scale[0][:-1])[scale[0][-1]] = replicas
    return encoded(scale_of(storage, ref, update(storage, ref, tree, SCALE, manager)))
