"""What does a patch make of an object? Each way of writing one, and its subresource."""

from __future__ import annotations

from dovetail.kube.memory import refusals
from dovetail.kube.memory.merging import merged
from dovetail.kube.memory.record import Stored
from dovetail.kube.memory.storage import Storage
from dovetail.kube.memory.trees import Obj, decoded, encoded
from dovetail.kube.memory.updating import STATUS, update
from dovetail.kube.seam import Patch, PatchType, Ref


def patch(storage: Storage, ref: Ref, asked: Patch) -> Stored:
    """Change an object. Raises NotFoundError, ConflictError, InvalidError."""
    if asked.subresource not in ("", STATUS):
        raise refusals.no_such_resource()
    held = storage.get(ref)
    return update(storage, ref, _patched(held.tree(), asked), asked.subresource)


def _patched(tree: Obj, asked: Patch) -> Obj:
    match asked.type:
        case PatchType.MERGE:
            made = merged(tree, _mapping(asked))
        case _:
            raise refusals.unsupported_patch(asked.type)
    if not isinstance(made, dict):
        msg = "the patch leaves no object"
        raise refusals.bad_request(msg)
    return made


def _mapping(asked: Patch) -> Obj:
    if isinstance(asked.body, list):
        msg = f"a patch of type {asked.type} is an object, not a list"
        raise refusals.bad_request(msg)
    return decoded(encoded(asked.body))
