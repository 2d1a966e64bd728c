"""Writes the deletion cost of pods, by which a ReplicaSet chooses which to delete first.

The annotation is Kubernetes' own (`controller.kubernetes.io/pod-deletion-cost`). One of ours beside
it repeats the cost, and so says whose word it is: where the two differ, an owner has spoken since.
Written by way of the pod's status, which needs no right to change pods.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.kube.seam import Json, Kube, Patch, Ref
from dovetail.model.pod import PodKey

_POD: Final = api.KINDS["", "Pod"]


class CostAnnotation(msgspec.Struct, frozen=True):
    """The deletion cost that a pod is to have. Without a cost the annotation is removed, unless its
    owner set it (`is_owners`).
    """

    pod: PodKey
    uid: str
    cost: int | None = None
    is_owners: bool = False


async def annotate(kube: Kube, word: CostAnnotation) -> msgspec.Raw:
    """Write it on this very pod. Raises ApiError."""
    said = None if word.cost is None else str(word.cost)
    annotations: dict[str, Json] = {labels.YIELDS: said}
    if not word.is_owners:
        annotations[labels.DELETION_COST] = said
    # A uid that differs is refused: the pod was made anew.
    body: dict[str, Json] = {"metadata": {"uid": word.uid, "annotations": annotations}}
    namespace, _, name = word.pod.partition("/")
    return await kube.patch(Ref(_POD, name, namespace), Patch(body, subresource="status"))
