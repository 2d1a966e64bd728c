"""Updates objects: one field or many, the status or all but the status."""

from __future__ import annotations

from typing import Final

from dovetail.apiserver import refusals
from dovetail.apiserver.admission.defaults import complete, count_templates
from dovetail.apiserver.admission.immutable import KEPT, change_problems
from dovetail.apiserver.admission.validation import object_problems
from dovetail.apiserver.creation import check_identity, tidy
from dovetail.apiserver.deletion import may_go
from dovetail.apiserver.patches.applying import track
from dovetail.apiserver.patches.ownership import UPDATE, Stamp
from dovetail.apiserver.storage import ObjectStore
from dovetail.apiserver.table import Stored
from dovetail.apiserver.traits import Traits
from dovetail.apiserver.trees import Obj, at, canonical, number, part, put, text
from dovetail.kube.seam import Ref

STATUS: Final = "status"
# Whatever a patch says of them is passed over.
_SERVERS: Final = ("creationTimestamp", "generation", "name", "namespace", "resourceVersion")


def update(
    storage: ObjectStore, ref: Ref, changed: Obj, subresource: str = "", manager: str = ""
) -> Stored:
    """Put a changed object in the place of the one that is there; the same again changes nothing.

    A `manager` owns what it changes, where owners are noted. Raises ConflictError, InvalidError.
    """
    stored = storage.get(ref)
    old = stored.tree()
    traits = storage.traits(ref.kind)
    if subresource == STATUS and not traits.has_status:
        raise refusals.no_such_resource()
    _check_same(ref, stored, changed)
    new = _allowed_change(old, changed, traits, subresource)
    if subresource != STATUS:
        complete(ref, new)
        count_templates(ref, old, new)
    tidy(new, traits)
    problems = object_problems(ref.kind, traits, new) + change_problems(ref.kind, old, new)
    if problems:
        raise refusals.invalid(ref, problems)
    if manager:
        stamp = Stamp(storage.now(), ref.kind.api_version)
        track(old, new, (manager, UPDATE, subresource), storage.lists(ref.kind), stamp)
    if canonical(new) == canonical(old):
        return stored
    if may_go(ref, new):
        storage.remove(ref)
        return stored
    if traits.has_generation and (_asks_for_more(old, new) or _is_told_more(ref, old, new)):
        part(new, "metadata")["generation"] = number(old, "metadata", "generation") + 1
    return storage.write(ref, new)


def _check_same(ref: Ref, stored: Stored, changed: Obj) -> None:
    """A patch cannot turn an object into another one, nor change one that it does not know."""
    check_identity(ref.kind, changed)
    metadata = part(changed, "metadata")
    for field, wanted in (("name", ref.name), ("namespace", ref.namespace)):
        stated = text(metadata, field) or wanted
        if stated != wanted:
            msg = (
                f"the {field} of the object ({stated}) does not match the one on the URL ({wanted})"
            )
            raise refusals.bad_request(msg)
    version = text(metadata, "resourceVersion")
    if version and version != str(stored.version):
        raise refusals.modified_error(ref)


def _allowed_change(old: Obj, changed: Obj, traits: Traits, subresource: str) -> Obj:
    """What may change this way: the status through its subresource, the rest without it."""
    if subresource == STATUS:
        new = {**old, "metadata": _status_metadata(old, changed, traits)}
        put(new, "status", changed.get("status"))
    else:
        new = {**changed, "metadata": dict(part(changed, "metadata"))}
        if traits.has_status:
            put(new, "status", old.get("status"))
    before, after = part(old, "metadata"), part(new, "metadata")
    for field in KEPT:
        if field in before:
            after.setdefault(field, before[field])
    for field in _SERVERS:
        put(after, field, before.get(field))
    put(after, "managedFields", part(changed, "metadata").get("managedFields"))
    return {"apiVersion": old["apiVersion"], "kind": old["kind"], **_rest(new)}


def _status_metadata(old: Obj, changed: Obj, traits: Traits) -> Obj:
    """Kubelets write labels and annotations along with a status; custom resources have no such way.

    Workloads keep their labels, and everything its owners.
    """
    if traits.is_custom:
        return dict(part(old, "metadata"))
    metadata = dict(part(changed, "metadata"))
    is_workload = text(old, "apiVersion").startswith("apps/")
    for field in ("ownerReferences", *(("labels",) if is_workload else ())):
        put(metadata, field, at(old, "metadata", field))
    return metadata


def _rest(tree: Obj) -> Obj:
    return {key: value for key, value in tree.items() if key not in ("apiVersion", "kind")}


def _is_told_more(ref: Ref, old: Obj, new: Obj) -> bool:
    """A Deployment's annotations count as part of what is wanted."""
    path = ("metadata", "annotations")
    return ref.kind.name == "Deployment" and canonical(at(old, *path)) != canonical(at(new, *path))


def _asks_for_more(old: Obj, new: Obj) -> bool:
    """Whether more than metadata and status has changed."""
    aside = ("metadata", "status")
    before = {key: value for key, value in old.items() if key not in aside}
    after = {key: value for key, value in new.items() if key not in aside}
    return canonical(before) != canonical(after)
