"""What is to be written of an object, and what does the object look like then?

A patch has only what differs, so that a law may say what it wants each time it is asked, and
nothing is written once it is so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

import msgspec

from dovetail.model.claim import ClaimObject, NodeObject
from dovetail.model.taints import Taint


class ClaimPatch(msgspec.Struct, frozen=True, gc=False):
    """Changes to a NodeClaim. Labels and annotations are added; None leaves a field as it is."""

    name: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] | None = None
    provider_id: str | None = None
    node_name: str | None = None
    image_id: str | None = None
    capacity: Mapping[str, int] | None = None
    allocatable: Mapping[str, int] | None = None
    last_pod_event_at: datetime | None = None


class NodePatch(msgspec.Struct, frozen=True, gc=False):
    """Changes to a Node. Labels and annotations are added; `owner_uids` are claims that own it, as
    owner references that block the owner's deletion. Taints are replaced as a whole, so that the
    patch must name the version that was read.
    """

    name: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] | None = None
    finalizers: tuple[str, ...] | None = None
    owner_uids: tuple[str, ...] | None = None


class PoolPatch(msgspec.Struct, frozen=True, gc=False):
    """Changes to a NodePool. Annotations are added; None leaves a field as it is."""

    name: str
    annotations: Mapping[str, str] = {}
    resources: Mapping[str, int] | None = None
    n_nodes: int | None = None
    node_class_observed_generation: int | None = None


_Patch = TypeVar("_Patch", ClaimPatch, NodePatch, PoolPatch)
_MERGED = ("labels", "annotations")


def claim_patches(before: ClaimObject, after: ClaimObject) -> tuple[ClaimPatch, ...]:
    """What it takes to get there: one patch, or none."""
    patch = ClaimPatch(
        before.name,
        labels=_added(before.labels, after.labels),
        annotations=_added(before.annotations, after.annotations),
        finalizers=_changed(before.finalizers, after.finalizers),
        provider_id=_changed(before.provider_id, after.provider_id),
        node_name=_changed(before.node_name, after.node_name),
        image_id=_changed(before.image_id, after.image_id),
        capacity=_changed(before.capacity, after.capacity),
        allocatable=_changed(before.allocatable, after.allocatable),
        last_pod_event_at=_changed(before.last_pod_event_at, after.last_pod_event_at),
    )
    return () if patch == ClaimPatch(before.name) else (patch,)


def node_patches(before: NodeObject, after: NodeObject) -> tuple[NodePatch, ...]:
    """What it takes to get there: one patch, or none."""
    patch = NodePatch(
        before.name,
        labels=_added(before.labels, after.labels),
        annotations=_added(before.annotations, after.annotations),
        taints=_changed(before.taints, after.taints),
        finalizers=_changed(before.finalizers, after.finalizers),
        owner_uids=_changed(before.owner_uids, after.owner_uids),
    )
    return () if patch == NodePatch(before.name) else (patch,)


_Value = TypeVar("_Value")


def _changed(before: _Value, after: _Value) -> _Value | None:
    return None if before == after else after


def _added(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, str]:
    return {key: value for key, value in after.items() if before.get(key) != value}


def claim_after(claim: ClaimObject, patches: Iterable[ClaimPatch]) -> ClaimObject:
    """The claim with the patches that are its own."""
    for patch in patches:
        if patch.name == claim.name:
            claim = _patched(claim, patch)
    return claim


def node_after(node: NodeObject, patches: Iterable[NodePatch]) -> NodeObject:
    """The Node with the patches that are its own."""
    for patch in patches:
        if patch.name == node.name:
            node = _patched(node, patch)
    return node


def joined(patches: Iterable[_Patch]) -> tuple[_Patch, ...]:
    """One patch for each object, the later word on top."""
    by_name: dict[str, _Patch] = {}
    for patch in patches:
        held = by_name.get(patch.name)
        by_name[patch.name] = patch if held is None else _patched(held, patch)
    return tuple(by_name.values())


_Patched = TypeVar("_Patched", ClaimObject, NodeObject, ClaimPatch, NodePatch, PoolPatch)


def _patched(held: _Patched, patch: ClaimPatch | NodePatch | PoolPatch) -> _Patched:
    """What is held with everything that the patch says; labels and annotations are added."""
    said = {
        name: value for name, value in msgspec.structs.asdict(patch).items() if value is not None
    }
    for name in _MERGED:
        if name in said:
            said[name] = {**getattr(held, name), **said[name]}
    return msgspec.structs.replace(held, **said)
