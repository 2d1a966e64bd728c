"""Changes an object by a patch, in any of the four formats and for each subresource."""

from __future__ import annotations

import msgspec

from dovetail import api
from dovetail.apiserver import refusals
from dovetail.apiserver.creation import check_identity, create, readable
from dovetail.apiserver.patches.applying import apply, check_appliable
from dovetail.apiserver.patches.json_patch import apply_json_patch
from dovetail.apiserver.patches.ownership import Stamp
from dovetail.apiserver.patches.strategic import Strategic
from dovetail.apiserver.storage import ObjectStore
from dovetail.apiserver.table import Stored
from dovetail.apiserver.trees import Obj, at, decode, encode, labels_of, number, part, text
from dovetail.apiserver.updating import STATUS, update
from dovetail.kube.seam import Json, Patch, PatchType, Ref

SCALE = "scale"


def scale_of(storage: ObjectStore, ref: Ref, stored: Stored) -> Obj:
    """An object as its scale shows it. Raises NotFoundError for kinds that have none."""
    scale = storage.traits(ref.kind).scale
    if scale is None:
        raise refusals.no_such_resource()
    tree = stored.tree()
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
    return encode(scale_of(storage, ref, update(storage, ref, tree, SCALE, manager)))


_NO_STRATEGIC = (
    "the body of the request was in an unknown format - accepted media types include: "
    f"{PatchType.JSON}, {PatchType.MERGE}, {PatchType.APPLY}"
)


def patch(storage: ObjectStore, ref: Ref, asked: Patch) -> msgspec.Raw:
    """Change an object. Raises NotFoundError, ConflictError, InvalidError."""
    if asked.subresource not in ("", STATUS, SCALE):
        raise refusals.no_such_resource()
    if asked.type is PatchType.APPLY:
        return _apply(storage, ref, asked)
    stored = storage.get(ref)
    if asked.subresource == SCALE:
        wanted = _patch(storage, ref, scale_of(storage, ref, stored), asked)
        return rescale(storage, ref, wanted, asked.manager)
    made = _patch(storage, ref, stored.tree(), asked)
    return update(storage, ref, made, asked.subresource, asked.manager).raw


def _patch(storage: ObjectStore, ref: Ref, tree: Obj, asked: Patch) -> Obj:
    traits = storage.traits(ref.kind)
    made: Json = None
    if asked.type is PatchType.MERGE:
        made = merge(tree, _mapping(asked))
    elif asked.type is PatchType.JSON:
        made = apply_json_patch(tree, _operations(asked))
    elif traits.is_custom:
        raise refusals.unsupported_patch(_NO_STRATEGIC)
    else:
        made = Strategic(storage.lists(ref.kind)).merge(tree, _mapping(asked))
    if not isinstance(made, dict):
        msg = "the patch leaves no object"
        raise refusals.bad_request(msg)
    return made


def merge(target: Json, patch: Json) -> Json:
    """The target with a JSON merge patch laid over it (RFC 7386): null takes away, lists are
    replaced. Neither is changed.
    """
    if not isinstance(patch, dict):
        return patch
    made: Obj = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merge(made.get(key), value)
    return made


def _apply(storage: ObjectStore, ref: Ref, asked: Patch) -> msgspec.Raw:
    wanted = readable(_mapping(asked))
    check_appliable(wanted)
    check_identity(ref.kind, wanted)
    traits = storage.traits(ref.kind)
    stored = storage.find(ref)
    if stored is None and asked.subresource:
        raise refusals.not_found_error(ref)
    if traits.has_status and not asked.subresource:
        wanted.pop("status", None)
    elif asked.subresource == STATUS:
        wanted = {key: value for key, value in wanted.items() if key in ("metadata", "status")}
        wanted["metadata"] = {}
    stamp = Stamp(storage.now(), ref.kind.api_version)
    if stored is None:
        if not text(wanted, "metadata", "name"):
            msg = "name must be provided"
            raise refusals.bad_request(msg)
        made = apply({"metadata": {}}, wanted, asked, storage.lists(ref.kind), stamp)
        managed = part(made, "metadata")["managedFields"]
        return create(storage, ref.kind, made, ref.namespace, managed).raw
    version = text(wanted, "metadata", "resourceVersion")
    if version and version != str(stored.version):
        raise refusals.modified_error(ref)
    made = apply(stored.tree(), wanted, asked, storage.lists(ref.kind), stamp)
    return update(storage, ref, made, asked.subresource).raw


def _mapping(asked: Patch) -> Obj:
    if isinstance(asked.body, list):
        msg = f"a patch of type {asked.type} is an object, not a list"
        raise refusals.bad_request(msg)
    return decode(encode(asked.body))


def _operations(asked: Patch) -> list[Json]:
    if not isinstance(asked.body, list):
        msg = f"a patch of type {asked.type} is a list of operations"
        raise refusals.bad_request(msg)
    return asked.body
