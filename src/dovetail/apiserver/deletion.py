"""Deletes objects: at once, after a grace period, or when the last finalizer is removed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dovetail.apiserver import refusals
from dovetail.apiserver.storage import ObjectStore
from dovetail.apiserver.table import Stored
from dovetail.apiserver.trees import Obj, at, number, part, put, stamp, text, texts
from dovetail.kube.seam import Deletion, Json, Propagation, Ref

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_BY_PROPAGATION: Final = {Propagation.FOREGROUND: FOREGROUND, Propagation.ORPHAN: ORPHAN}
_ENDED: Final = ("Succeeded", "Failed")
_POD: Final = ("", "Pod")
_NAMESPACE: Final = ("", "Namespace")


def delete(storage: ObjectStore, ref: Ref, how: Deletion) -> None:
    """Delete an object, or mark it as going. Raises NotFoundError, ConflictError."""
    stored = storage.get(ref)
    check_preconditions(ref, stored, how)
    tree = stored.tree()
    is_pod = (ref.kind.group, ref.kind.name) == _POD
    if is_pod and stored.is_going and not _shortens(tree, how):
        return
    grace = _pod_grace(tree, how) if is_pod else 0
    finalizers = _finalizers(tree, how.propagation)
    if not grace and not finalizers and not _has_contents(ref, tree):
        storage.remove(ref)
        return
    before = text(tree, "metadata", "deletionTimestamp"), texts(tree, "metadata", "finalizers")
    _mark(storage, tree, grace)
    put(part(tree, "metadata"), "finalizers", finalizers or None)
    if (ref.kind.group, ref.kind.name) == _NAMESPACE:
        part(tree, "status")["phase"] = "Terminating"
    if before != (text(tree, "metadata", "deletionTimestamp"), finalizers):
        storage.write(ref, tree)


def check_preconditions(ref: Ref, stored: Stored, how: Deletion) -> None:
    """Whether it is that very object. Raises ConflictError."""
    if how.uid and how.uid != stored.uid:
        why = f"Precondition failed: UID in precondition: {how.uid}, in object meta: {stored.uid}"
        raise refusals.conflict(ref, why)
    if how.resource_version and how.resource_version != str(stored.version):
        why = (
            f"Precondition failed: ResourceVersion in precondition: {how.resource_version}, "
            f"in object meta: {stored.version}"
        )
        raise refusals.conflict(ref, why)


def may_go(ref: Ref, tree: Obj) -> bool:
    """Whether nothing holds an object any more that was marked as going."""
    metadata = part(tree, "metadata")
    return (
        "deletionTimestamp" in metadata
        and not texts(metadata, "finalizers")
        and not number(metadata, "deletionGracePeriodSeconds")
        and not _has_contents(ref, tree)
    )


def _has_contents(ref: Ref, tree: Obj) -> bool:
    """Whether it is a namespace that nobody has emptied yet."""
    is_namespace = (ref.kind.group, ref.kind.name) == _NAMESPACE
    return is_namespace and bool(texts(tree, "spec", "finalizers"))


def _pod_grace(tree: Obj, how: Deletion) -> int:
    """How many seconds a pod has to end: none if it never began, or has ended."""
    if not text(tree, "spec", "nodeName") or text(tree, "status", "phase") in _ENDED:
        return 0
    seconds = how.grace_seconds
    if seconds is None:
        seconds = number(tree, "spec", "terminationGracePeriodSeconds")
    return seconds if seconds >= 0 else 1


def _shortens(tree: Obj, how: Deletion) -> bool:
    """A grace period under way may only become shorter."""
    current = number(tree, "metadata", "deletionGracePeriodSeconds")
    return how.grace_seconds is not None and how.grace_seconds < current


def _finalizers(tree: Obj, propagation: Propagation) -> list[Json]:
    kept: list[Json] = [
        item for item in texts(tree, "metadata", "finalizers") if item not in (FOREGROUND, ORPHAN)
    ]
    own = _BY_PROPAGATION.get(propagation)
    return [*kept, own] if own else kept


def _mark(storage: ObjectStore, tree: Obj, grace: int) -> None:
    metadata = part(tree, "metadata")
    began = storage.now()
    going_at = text(metadata, "deletionTimestamp")
    if going_at:
        spent = timedelta(seconds=number(metadata, "deletionGracePeriodSeconds"))
        began = stamp(datetime.fromisoformat(going_at) - spent)
    elif at(metadata, "generation") is not None:
        metadata["generation"] = number(metadata, "generation") + 1
    metadata["deletionTimestamp"] = stamp(datetime.fromisoformat(began) + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
