"""Deletes objects whose owner is gone: one pass of what kube-controller-manager does.

An object whose owners are all gone is deleted. An owner that is deleted in the foreground waits for
the dependents that block it; one that leaves orphans waits until they have forgotten it. A
namespace that is going takes along all it holds.
"""

from __future__ import annotations

import msgspec

from dovetail.apiserver.creation import NAMESPACE
from dovetail.apiserver.deletion import FOREGROUND, ORPHAN, delete, may_go
from dovetail.apiserver.storage import ObjectStore, ref_of
from dovetail.apiserver.table import Stored
from dovetail.apiserver.trees import Obj, at, items, part, put, text, texts
from dovetail.apiserver.updating import update
from dovetail.kube.seam import Deletion, Json, Propagation, Ref


class _Kin(msgspec.Struct, frozen=True):
    """Every object that is owned or goes, and everything that is there, by uid."""

    refs: dict[str, Ref]
    dependents: dict[str, list[tuple[Ref, Stored]]]  # by the uid of the owner
    going: list[tuple[Ref, Stored]]
    owned: list[tuple[Ref, Stored]]


def collect(storage: ObjectStore) -> int:
    """Do what is to be done now, and return how many changes it took; 0 means all is tidy."""
    before = storage.version
    kin = _kin_of(storage)
    for ref, stored in kin.going:
        _finish(storage, kin, ref, stored)
    for ref, stored in kin.owned:
        _check_owners(storage, kin, ref, stored)
    for ref, stored in kin.going:
        if ref.kind == NAMESPACE:
            _empty(storage, ref, stored)
    return storage.version - before


def _kin_of(storage: ObjectStore) -> _Kin:
    kin = _Kin({}, {}, [], [])
    for kind, table in storage.tables():
        for key, stored in table.items():
            ref = ref_of(kind, key)
            kin.refs[stored.uid] = ref
            if stored.is_going:
                kin.going.append((ref, stored))
            if stored.owners:
                kin.owned.append((ref, stored))
            for uid in stored.owners:
                kin.dependents.setdefault(uid, []).append((ref, stored))
    return kin


def _finish(storage: ObjectStore, kin: _Kin, ref: Ref, stored: Stored) -> None:
    """Let an owner go whose dependents have gone, or have forgotten it."""
    finalizers = texts(stored.tree(), "metadata", "finalizers")
    dependents = kin.dependents.get(stored.uid, [])
    if ORPHAN in finalizers:
        for other, _ in dependents:
            _forget_owners(storage, other, {stored.uid})
        _take_finalizer(storage, ref, ORPHAN)
    elif FOREGROUND in finalizers:
        blocking = [(other, item) for other, item in dependents if _blocks(item, stored.uid)]
        for other, item in blocking:
            if not item.is_going and storage.find(other) is not None:
                has_dependents = bool(kin.dependents.get(item.uid))
                delete(storage, other, Deletion(propagation=_way(has_dependents=has_dependents)))
        if not any(storage.find(other) for other, _ in blocking):
            _take_finalizer(storage, ref, FOREGROUND)


def _way(*, has_dependents: bool) -> Propagation:
    return Propagation.FOREGROUND if has_dependents else Propagation.BACKGROUND


def _blocks(stored: Stored, owner: str) -> bool:
    references = items(at(stored.tree(), "metadata", "ownerReferences"))
    return any(
        text(reference, "uid") == owner and at(reference, "blockOwnerDeletion") is True
        for reference in references
    )


def _check_owners(storage: ObjectStore, kin: _Kin, ref: Ref, stored: Stored) -> None:
    """Delete an object whose owners are all gone; drop the references to those that are."""
    absent = {uid for uid in stored.owners if not _is_there(storage, kin, ref, uid)}
    if not absent or stored.is_going or storage.find(ref) is not stored:
        return
    if absent == set(stored.owners):
        delete(storage, ref, Deletion(uid=stored.uid, propagation=_own_way(stored)))
    else:
        _forget_owners(storage, ref, absent)


def _is_there(storage: ObjectStore, kin: _Kin, ref: Ref, uid: str) -> bool:
    """Whether an owner is still there; one in another namespace never is."""
    owner = kin.refs.get(uid)
    if owner is None or owner.namespace not in ("", ref.namespace):
        return False
    stored = storage.find(owner)
    return stored is not None and stored.uid == uid


def _own_way(stored: Stored) -> Propagation:
    """How an object wants to go by its own finalizers."""
    finalizers = texts(stored.tree(), "metadata", "finalizers")
    if ORPHAN in finalizers:
        return Propagation.ORPHAN
    return Propagation.FOREGROUND if FOREGROUND in finalizers else Propagation.BACKGROUND


def _forget_owners(storage: ObjectStore, ref: Ref, uids: set[str]) -> None:
    stored = storage.find(ref)
    if stored is None:
        return
    tree = stored.tree()
    references = items(at(tree, "metadata", "ownerReferences"))
    kept: list[Json] = [reference for reference in references if text(reference, "uid") not in uids]
    put(part(tree, "metadata"), "ownerReferences", kept or None)
    update(storage, ref, tree)


def _take_finalizer(storage: ObjectStore, ref: Ref, name: str) -> None:
    stored = storage.find(ref)
    if stored is None:
        return
    tree = stored.tree()
    kept: list[Json] = [item for item in texts(tree, "metadata", "finalizers") if item != name]
    put(part(tree, "metadata"), "finalizers", kept or None)
    update(storage, ref, tree)


def _empty(storage: ObjectStore, ref: Ref, stored: Stored) -> None:
    """Delete everything in a namespace, then the namespace."""
    prefix = f"{ref.name}/"
    contents = [
        ref_of(kind, key)
        for kind, table in storage.tables()
        if kind.is_namespaced
        for key, item in table.items(prefix)
        if not item.is_going
    ]
    for content in contents:
        delete(storage, content, Deletion())
    is_empty = not any(
        kind.is_namespaced and any(True for _ in table.items(prefix))
        for kind, table in storage.tables()
    )
    if is_empty:
        tree: Obj = stored.tree()
        part(tree, "spec").pop("finalizers", None)
        if may_go(ref, tree):
            storage.remove(ref)
