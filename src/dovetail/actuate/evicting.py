"""Evicts pods, deletes them when time is up, and writes their deletion cost.

All name the pod's uid, so that whoever took its name meanwhile is left alone. By its deletion cost
(`controller.kubernetes.io/pod-deletion-cost`) a ReplicaSet chooses which pod to delete first. An
annotation of ours beside it repeats the cost, and so says whose word it is: where the two differ,
an owner has spoken since. It is written by way of the pod's status, which needs no right to change
pods.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.decide.lifecycle.eviction import EvictionAnswer
from dovetail.decide.lifecycle.step import DeletePod, EvictPod
from dovetail.kube.errors import (
    DISRUPTION_BUDGET,
    ApiError,
    ConflictError,
    NotFoundError,
    TooManyRequestsError,
)
from dovetail.kube.seam import Deletion, Json, Kube, Patch, Ref, Writer
from dovetail.model.pod import PodKey

_POD: Final = api.KINDS["", "Pod"]
_EVICTED: Final = 200
_SERVER_ERROR: Final = 500
_BUDGET_KIND: Final = "PodDisruptionBudget"


class Answered(msgspec.Struct, frozen=True, gc=False):
    """What the API said to an eviction: what that means, in its own words, and its HTTP status.

    `retry_after` is how long a busy server asks to be left alone.
    """

    answer: EvictionAnswer
    code: int = _EVICTED
    message: str = ""
    retry_after: timedelta = timedelta(0)


async def evict(kube: Writer, action: EvictPod) -> Answered:
    """Ask the API to take the pod away. Whatever it says is an answer."""
    try:
        await kube.evict(pod_ref(action.pod), Deletion(uid=action.uid))
    except TooManyRequestsError as error:
        return _not_now(error)
    except ApiError as error:
        return Answered(_answer_of(error), error.status, str(error))
    return Answered(EvictionAnswer.EVICTED)


async def delete_pod(kube: Writer, action: DeletePod) -> None:
    """Delete the pod, whatever protects it. One that is gone, or another by now, is fine."""
    how = Deletion(uid=action.uid, grace_seconds=action.grace_seconds)
    try:
        await kube.delete(pod_ref(action.pod), how)
    except (NotFoundError, ConflictError):
        return


def pod_ref(pod: PodKey) -> Ref:
    """The pod as the API names it."""
    namespace, _, name = pod.partition("/")
    return Ref(_POD, name, namespace)


def _not_now(error: TooManyRequestsError) -> Answered:
    """A budget that forbids it, or a server that is busy and knows nothing of budgets."""
    if error.cause == DISRUPTION_BUDGET:
        return Answered(EvictionAnswer.BLOCKED, error.status, str(error))
    after = error.retry_after or timedelta(0)
    return Answered(EvictionAnswer.FAILED, error.status, str(error), after)


def _answer_of(error: ApiError) -> EvictionAnswer:
    match error:
        case NotFoundError():
            return EvictionAnswer.GONE
        case ConflictError():
            return EvictionAnswer.REPLACED
        case ApiError(status=status) if status == _SERVER_ERROR and _BUDGET_KIND in str(error):
            return EvictionAnswer.AMBIGUOUS
        case _:
            return EvictionAnswer.FAILED


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
    cost = None if word.cost is None else str(word.cost)
    annotations: dict[str, Json] = {labels.YIELDS: cost}
    if not word.is_owners:
        annotations[labels.DELETION_COST] = cost
    # A uid that differs is refused: the pod was made anew.
    body: dict[str, Json] = {"metadata": {"uid": word.uid, "annotations": annotations}}
    return await kube.patch(pod_ref(word.pod), Patch(body, subresource="status"))
