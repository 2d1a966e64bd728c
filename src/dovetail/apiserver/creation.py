"""Creates objects: name, uid, creation timestamp and default values."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail import api
from dovetail.api.decoding import without_nulls
from dovetail.apiserver import refusals
from dovetail.apiserver.admission.defaults import complete, count_templates
from dovetail.apiserver.admission.plugins import admit, identify
from dovetail.apiserver.admission.validation import object_problems
from dovetail.apiserver.patches import ownership
from dovetail.apiserver.patches.ownership import UPDATE, Owner, Stamp
from dovetail.apiserver.storage import ObjectStore
from dovetail.apiserver.table import Stored
from dovetail.apiserver.traits import Traits
from dovetail.apiserver.trees import Obj, decode, encode, items, mapping, part, put, text
from dovetail.kube.seam import Body, Json, Ref

_EMPTY: Final[tuple[Json, ...]] = ([], {}, "")
NAMESPACE: Final = api.KINDS["", "Namespace"]
_SERVER_OWNED: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
)


def create(
    storage: ObjectStore, kind: api.Kind, body: Body, namespace: str, managed: Json = None
) -> Stored:
    """Make an object. Raises AlreadyExistsError, InvalidError, NotFoundError, ForbiddenError."""
    tree = readable(body)
    if text(tree, "metadata", "resourceVersion"):
        msg = "resourceVersion should not be set on objects to be created"
        raise refusals.server_error(msg)  # 500 is what a real server says
    if storage.traits(kind).is_custom:
        check_says_kind(tree)
    ref = _name_object(storage, kind, tree, namespace)
    _check_namespace(storage, ref)
    _prepare(storage, ref, tree)
    traits = storage.traits(kind)
    problems = object_problems(kind, traits, tree)
    if problems:
        raise refusals.invalid(ref, problems)
    if storage.find(ref) is not None:
        raise refusals.already_exists(ref)
    metadata = part(tree, "metadata")
    metadata["uid"] = storage.new_uid()
    metadata["creationTimestamp"] = storage.now()
    identify(ref, tree)
    put(metadata, "managedFields", managed)
    if managed is None and storage.manner.manager:
        owner: Owner = (storage.manner.manager, UPDATE, "")
        stamp = Stamp(storage.now(), kind.api_version)
        ownership.begin(tree, owner, storage.lists(kind), stamp)
    if traits.has_generation:
        metadata["generation"] = 1
    return storage.write(ref, tree)


def readable(body: Body) -> Obj:
    """A tree of the server's own; what is null is absent."""
    try:
        return mapping(without_nulls(decode(encode(body))))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        msg = f"the object provided is unrecognized: {error}"
        raise refusals.bad_request(msg) from None


def check_identity(kind: api.Kind, tree: Obj) -> None:
    """An object says what it is, or nothing at all, and then it is what was asked for."""
    for field, wanted in (("apiVersion", kind.api_version), ("kind", kind.name)):
        stated = tree.get(field, wanted)
        if stated != wanted:
            msg = f"the {field} in the data ({stated}) does not match the expected one ({wanted})"
            raise refusals.bad_request(msg)


def check_says_kind(tree: Obj) -> None:
    """Only of its own kinds does a server know what they are when they do not say so."""
    for field in ("apiVersion", "kind"):
        if field not in tree:
            msg = f"the object provided is unrecognized: {field} is missing"
            raise refusals.bad_request(msg)


def _name_object(storage: ObjectStore, kind: api.Kind, tree: Obj, namespace: str) -> Ref:
    check_identity(kind, tree)
    metadata = part(tree, "metadata")
    stated = text(metadata, "namespace")
    place = (namespace or stated) if kind.is_namespaced else ""
    if stated and stated != place:
        msg = "the namespace of the provided object does not match the one sent on the request"
        raise refusals.bad_request(msg)
    if kind.is_namespaced and not place:
        msg = f"an empty namespace may not be set when a {kind.name} is created"
        raise refusals.bad_request(msg)
    name = text(metadata, "name")
    beginning = text(metadata, "generateName")
    if not name and beginning:
        name = storage.new_name(kind, beginning, place)
    if not name:
        why = f"{refusals.REQUIRED}: name or generateName is required"
        problem = api.FieldProblem("metadata.name", why)
        raise refusals.invalid(Ref(kind, "", place), [problem])
    return Ref(kind, name, place)


def _check_namespace(storage: ObjectStore, ref: Ref) -> None:
    if not ref.kind.is_namespaced:
        return
    home = storage.get(Ref(NAMESPACE, ref.namespace))
    if home.is_going:
        why = f"unable to create new content in namespace {ref.namespace} because it is being"
        raise refusals.forbidden_error(ref, f"{why} terminated")


def _prepare(storage: ObjectStore, ref: Ref, tree: Obj) -> None:
    traits = storage.traits(ref.kind)
    rest = {key: value for key, value in tree.items() if key not in ("apiVersion", "kind")}
    tree.clear()
    tree.update({"apiVersion": ref.kind.api_version, "kind": ref.kind.name, **rest})
    metadata = part(tree, "metadata")
    for field in _SERVER_OWNED:
        metadata.pop(field, None)
    metadata["name"] = ref.name
    if ref.namespace:
        metadata["namespace"] = ref.namespace
    if traits.has_status and not traits.keeps_status_when_created:
        tree.pop("status", None)
    complete(ref, tree)
    count_templates(ref, None, tree)
    admit(storage, ref, tree)
    tidy(tree, traits)


def tidy(tree: Obj, traits: Traits) -> None:
    """Take out what is empty, where the server never writes it."""
    _drop(tree, "metadata", _EMPTY)
    if traits.is_custom:
        return
    if tree.get("data") == {}:
        del tree["data"]
    for field in ("spec", "status"):
        _drop(tree, field, ([],))
    _tidy_status(tree, traits)
    if mapping(tree.get("spec")).get("unschedulable") is False:
        del part(tree, "spec")["unschedulable"]


def _tidy_status(tree: Obj, traits: Traits) -> None:
    """Zeros that are not written, and the one field that is written although it is empty."""
    status = mapping(tree.get("status"))
    for field in traits.unwritten_zeros:
        if status.get(field) == 0:
            del status[field]
    if tree.get("kind") == "Pod":
        for condition in items(status.get("conditions")):
            mapping(condition).setdefault("lastProbeTime", None)


def _drop(tree: Obj, field: str, empty: tuple[Json, ...]) -> None:
    part = mapping(tree.get(field))
    for key in [key for key, value in part.items() if value in empty]:
        del part[key]
