"""How is an order for the world carried out? Each here, once; done already counts as done."""

from __future__ import annotations

from dovetail import api
from dovetail.actuate.writing import NODE, NODE_CLAIM
from dovetail.cloud.errors import NodeClaimNotFoundError
from dovetail.cloud.provider import CloudProvider
from dovetail.decide.lifecycle.step import DeleteClaim, DeleteInstance, DeleteNode
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.seam import Deletion, Kube, Ref
from dovetail.model.claim import InstanceState


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
