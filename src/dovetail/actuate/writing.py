"""Writes objects to the API by the smallest patch, and deletes claims, Nodes and instances.

Metadata and spec go in one patch, the status in another, through its subresource. Lists are
replaced as a whole, so a patch that has one names the version that was read: ConflictError means
that somebody else has written meanwhile, and that the caller is to look again. Nothing is written
where nothing differs. Each function returns what the API answered, the latest last.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from dovetail import api
from dovetail.cloud.errors import NodeClaimNotFoundError
from dovetail.cloud.provider import CloudProvider
from dovetail.decide.lifecycle.conditions import rfc3339
from dovetail.decide.lifecycle.pool import PoolView
from dovetail.decide.lifecycle.step import (
    ClaimPatch,
    DeleteClaim,
    DeleteInstance,
    DeleteNode,
    NodePatch,
    claim_patches,
    node_patches,
)
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.seam import Deletion, Json, Kube, Patch, Ref, Writer
from dovetail.model.claim import ClaimObject, InstanceState, NodeObject
from dovetail.model.node import Condition
from dovetail.model.taints import Taint
from dovetail.state.objects import claim_object, node_object, pool_view
from dovetail.units import quantity

NODE: Final = api.KINDS["", "Node"]
NODE_CLAIM: Final = api.KINDS["karpenter.sh", "NodeClaim"]
NODE_POOL: Final = api.KINDS["karpenter.sh", "NodePool"]
STATUS: Final = "status"
_TRIES: Final = 5  # at changing what others change as well

_Part = dict[str, Json]
Answers = tuple[msgspec.Raw, ...]
ObjectT = TypeVar("ObjectT", bound=api.Object)


async def write_claim(kube: Writer, claim: api.NodeClaim, after: ClaimObject) -> Answers:
    """Make a NodeClaim what it is to be. Raises ConflictError, NotFoundError."""
    before = claim_object(claim)
    patch = next(iter(claim_patches(before, after)), ClaimPatch(before.name))
    metadata = _metadata(patch)
    status = _claim_status(before, patch)
    if before.conditions != after.conditions:
        status["conditions"] = condition_list(after.conditions)
    # The last finalizer takes the object with it: what is to be said must be said before that.
    is_last_word = len(after.finalizers) < len(before.finalizers)
    writing = _Writing(kube, Ref(NODE_CLAIM, before.name), claim.metadata.resource_version)
    if is_last_word:
        await writing.write({STATUS: status} if status else {}, STATUS)
    await writing.write({"metadata": metadata} if metadata else {})
    if not is_last_word:
        await writing.write({STATUS: status} if status else {}, STATUS)
    return tuple(writing.answers)


async def write_node(
    kube: Writer, node: api.Node, after: NodeObject, owners: Iterable[ClaimObject] = ()
) -> Answers:
    """Make a Node what it is to be; `owners` are the claims that may come to own it. Raises
    ConflictError, NotFoundError.
    """
    before = node_object(node)
    patch = next(iter(node_patches(before, after)), NodePatch(before.name))
    metadata = _metadata(patch)
    if patch.owner_uids is not None:
        metadata["ownerReferences"] = _owners(node, patch.owner_uids, owners)
    body: _Part = {"metadata": metadata} if metadata else {}
    if patch.taints is not None:
        body["spec"] = {"taints": _taints(node, patch.taints)}
    writing = _Writing(kube, Ref(NODE, before.name), node.metadata.resource_version)
    await writing.write(body)
    return tuple(writing.answers)


async def change(
    kube: Kube, ref: Ref, wire: ObjectT, write: Callable[[ObjectT], Awaitable[Answers]]
) -> Answers:
    """Change this very object; where somebody else has written meanwhile, it is read again and the
    same change made to that. Raises ApiError.
    """
    for _ in range(_TRIES - 1):
        try:
            return await write(wire)
        except ConflictError:
            fresh = api.decode(type(wire), await kube.get(ref))
            if fresh.metadata.uid != wire.metadata.uid:
                raise
            wire = fresh
    return await write(wire)


async def write_pool(kube: Writer, pool: api.NodePool, after: PoolView) -> Answers:
    """Make a NodePool what it is to be. Raises ConflictError, NotFoundError."""
    before = pool_view(pool)
    added = {
        key: value
        for key, value in after.annotations.items()
        if before.annotations.get(key) != value
    }
    status: _Part = {}
    if before.resources != after.resources:
        status["resources"] = _amounts(before.resources, after.resources)
    if before.n_nodes != after.n_nodes:
        status["nodes"] = after.n_nodes
    if before.node_class_observed_generation != after.node_class_observed_generation:
        status["nodeClassObservedGeneration"] = after.node_class_observed_generation
    if before.conditions != after.conditions:
        status["conditions"] = condition_list(after.conditions)
    writing = _Writing(kube, Ref(NODE_POOL, before.pool.name), pool.metadata.resource_version)
    await writing.write({"metadata": {"annotations": {**added}}} if added else {})
    await writing.write({STATUS: status} if status else {}, STATUS)
    return tuple(writing.answers)


class _Writing:
    """Patches to one object, each upon what the one before it left."""

    def __init__(self, kube: Writer, ref: Ref, version: str) -> None:
        self._kube = kube
        self._ref = ref
        self._version = version
        self.answers: list[msgspec.Raw] = []

    async def write(self, body: _Part, subresource: str = "") -> None:
        """Send a patch, if there is anything in it."""
        if not body:
            return
        metadata = body.get("metadata")
        if self._version and _replaces_lists(body):
            known: _Part = {"resourceVersion": self._version}
            body = {
                **body,
                "metadata": {**(metadata if isinstance(metadata, dict) else {}), **known},
            }
        answer = await self._kube.patch(self._ref, Patch(body, subresource=subresource))
        self._version = api.decode(api.Object, answer).metadata.resource_version
        self.answers.append(answer)


def _replaces_lists(body: _Part) -> bool:
    return any(
        isinstance(value, list)
        for part in body.values()
        if isinstance(part, dict)
        for value in part.values()
    )


def _metadata(patch: ClaimPatch | NodePatch) -> _Part:
    metadata: _Part = {}
    if patch.labels:
        metadata["labels"] = {**patch.labels}
    if patch.annotations:
        metadata["annotations"] = {**patch.annotations}
    if patch.finalizers is not None:
        metadata["finalizers"] = list(patch.finalizers)
    return metadata


def _claim_status(before: ClaimObject, patch: ClaimPatch) -> _Part:
    status: _Part = {}
    texts = {
        "providerID": patch.provider_id,
        "nodeName": patch.node_name,
        "imageID": patch.image_id,
    }
    for name, text in texts.items():
        if text is not None:
            status[name] = text
    if patch.capacity is not None:
        status["capacity"] = _amounts(before.capacity, patch.capacity)
    if patch.allocatable is not None:
        status["allocatable"] = _amounts(before.allocatable, patch.allocatable)
    if patch.last_pod_event_at is not None:
        status["lastPodEventTime"] = rfc3339(patch.last_pod_event_at)
    return status


def _amounts(before: Mapping[str, int], after: Mapping[str, int]) -> _Part:
    """Quantities; what is no longer there is taken out, which a merge must be told."""
    gone: _Part = dict.fromkeys(sorted(before.keys() - after.keys()))
    return gone | {name: quantity.render(name, after[name]) for name in sorted(after)}


def condition_list(conditions: Iterable[Condition]) -> list[Json]:
    """Conditions as the API has them."""
    return [_condition(condition) for condition in conditions]


def _condition(condition: Condition) -> _Part:
    result: _Part = {
        "type": condition.type,
        "status": str(condition.status),
        "reason": condition.reason,
        "message": condition.message,
        "observedGeneration": condition.observed_generation,
    }
    if condition.changed_at is not None:
        result["lastTransitionTime"] = rfc3339(condition.changed_at)
    return result


def _taints(node: api.Node, taints: Iterable[Taint]) -> list[Json]:
    """All of them; those that were there keep the moment at which they were put on."""
    added_at = {
        Taint(item.key, item.value, item.effect): item.time_added for item in node.spec.taints
    }  # fmt: skip
    result: list[Json] = []
    for taint in taints:
        line: _Part = {"key": taint.key, "effect": str(taint.effect)}
        if taint.value:
            line["value"] = taint.value
        since = added_at.get(taint)
        if since is not None:
            line["timeAdded"] = rfc3339(since)
        result.append(line)
    return result


def _owners(node: api.Node, uids: Iterable[str], claims: Iterable[ClaimObject]) -> list[Json]:
    """References to all of these: to those that are there already as they are."""
    kind = NODE_CLAIM
    known = {
        claim.uid: api.OwnerReference(
            kind.api_version, kind.name, claim.name, claim.uid, block_owner_deletion=True
        )
        for claim in claims
    }
    known |= {owner.uid: owner for owner in node.metadata.owner_references}
    return [msgspec.to_builtins(known[uid]) for uid in uids if uid in known]


async def delete_claim(kube: Kube, action: DeleteClaim) -> bool:
    """Delete this very claim; whether it was there. Raises ApiError."""
    return await _delete(kube, Ref(NODE_CLAIM, action.claim), action.uid)


async def delete_node(kube: Kube, action: DeleteNode) -> bool:
    """Delete this very Node; whether it was there. Raises ApiError."""
    return await _delete(kube, Ref(NODE, action.node), action.uid)


async def delete_instance(cloud: CloudProvider, action: DeleteInstance) -> InstanceState:
    """Have the instance terminated; whether it is gone by now. Raises CloudError."""
    try:
        await cloud.delete(action.provider_id)
    except NodeClaimNotFoundError:
        return InstanceState.GONE
    return InstanceState.TERMINATING


async def _delete(kube: Kube, ref: Ref, uid: str) -> bool:
    try:
        await kube.delete(ref, Deletion(uid=uid))
    except NotFoundError:
        return False
    except ConflictError:
        if await _is_there(kube, ref, uid):
            raise  # it has changed meanwhile: whoever wants it gone tries again
        return False
    return True


async def _is_there(kube: Kube, ref: Ref, uid: str) -> bool:
    """Whether it is still that very one."""
    try:
        return api.decode(api.Object, await kube.get(ref)).metadata.uid == uid
    except NotFoundError:
        return False
