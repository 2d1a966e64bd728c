"""How does a ReplicaSet learn which pods to give up first? From what each says that it costs.

The annotation is Kubernetes' own (`controller.kubernetes.io/pod-deletion-cost`); one of ours beside
it says whose word it is. Written by way of the pod's status, which needs no right to change pods.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.kube.seam import Json, Kube, Patch, Ref
from dovetail.model.pod import PodKey

_POD: Final = api.KINDS["", "Pod"]


class Word(msgspec.Struct, frozen=True):
    """What a pod is to say that it costs; None: nothing any more."""

    pod: PodKey
    uid: str
    cost: int | None


async def say(kube: Kube, word: Word) -> None:
    """Write it on this very pod. Raises ApiError."""
    annotations: dict[str, Json] = {
        labels.DELETION_COST: None if word.cost is None else str(word.cost),
        labels.YIELDS: None if word.cost is None else "true",
    }
    # A uid that differs is refused: the pod was made anew.
    body: dict[str, Json] = {"metadata": {"uid": word.uid, "annotations": annotations}}
    namespace, _, name = word.pod.partition("/")
    await kube.patch(Ref(_POD, name, namespace), Patch(body, subresource="status"))
