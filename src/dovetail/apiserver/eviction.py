"""Binds a pod to its node, once, and evicts pods as the status of their budgets allows."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail import api
from dovetail.apiserver import refusals
from dovetail.apiserver.deletion import check_preconditions, delete
from dovetail.apiserver.selectors import selects
from dovetail.apiserver.storage import ObjectStore, ref_of
from dovetail.apiserver.table import Stored
from dovetail.apiserver.trees import (
    Obj,
    at,
    condition,
    encode,
    mapping,
    number,
    part,
    set_condition,
    text,
)
from dovetail.kube.seam import Deletion, Ref

POD: Final = api.KINDS["", "Pod"]
_SUCCESS: Final[Obj] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


def bind(storage: ObjectStore, binding: Obj, namespace: str) -> msgspec.Raw:
    """Give a pod its node. Raises NotFoundError, ConflictError, InvalidError."""
    ref = Ref(POD, text(binding, "metadata", "name"), namespace)
    node = text(binding, "target", "name")
    if not node or text(binding, "target", "kind") not in ("", "Node"):
        problem = api.FieldProblem("target", "expected the kind Node and a name")
        raise refusals.invalid(ref, [problem])
    stored = storage.get(ref)
    metadata = at(binding, "metadata")
    version = text(metadata, "resourceVersion")
    wanted = Deletion(uid=text(metadata, "uid"), resource_version=version)
    check_preconditions(ref, stored, wanted)
    tree = stored.tree()
    why = _obstacle(ref, tree)
    if why:
        raise refusals.conflict(ref, why)
    part(tree, "spec")["nodeName"] = node
    part(tree, "status").pop("nominatedNodeName", None)
    for field in ("annotations", "labels"):
        added = at(metadata, field)
        if isinstance(added, dict) and added:
            part(tree, "metadata", field).update(added)
    set_condition(tree, {"type": "PodScheduled", "status": "True"}, storage.now())
    storage.write(ref, tree)
    return encode(_SUCCESS)


def _obstacle(ref: Ref, pod: Obj) -> str:
    """Why a pod cannot be bound, if so."""
    if at(pod, "metadata", "deletionTimestamp") is not None:
        return f"pod {ref.name} is being deleted, cannot be assigned to a host"
    if text(pod, "spec", "nodeName"):
        return f'pod {ref.name} is already assigned to node "{text(pod, "spec", "nodeName")}"'
    if at(pod, "spec", "schedulingGates"):
        return f"pod {ref.name} has non-empty .spec.schedulingGates"
    return ""


BUDGET: Final = api.KINDS["policy", "PodDisruptionBudget"]
_UNPROTECTED: Final = ("Pending", "Succeeded", "Failed")
_MOST_DISRUPTED: Final = 2000  # pods that a budget remembers to have let go
_REFUSAL: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


def evict(storage: ObjectStore, ref: Ref, how: Deletion) -> None:
    """Delete a pod if its budget allows it.

    Raises TooManyRequestsError, NotFoundError, ConflictError, and ApiError 500 for two budgets.
    """
    if ref.kind != POD:
        raise refusals.no_such_resource()
    stored = storage.get(ref)
    pod = stored.tree()
    if text(pod, "status", "phase") not in _UNPROTECTED and not stored.is_going:
        _ask_budget(storage, ref, stored, pod)
    # A real server asks the budget first, too: whoever names another uid has still used it up.
    check_preconditions(ref, stored, how)
    disrupted: Obj = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    if condition(pod, "DisruptionTarget").get("status") != "True":
        set_condition(pod, disrupted, storage.now())
        storage.write(ref, pod)
    delete(storage, ref, msgspec.structs.replace(how, resource_version=""))


def _ask_budget(storage: ObjectStore, ref: Ref, stored: Stored, pod: Obj) -> None:
    budgets = [
        (ref_of(BUDGET, key), tree)
        for key, item in storage.table(BUDGET).items(f"{ref.namespace}/")
        if selects(at(tree := item.tree(), "spec", "selector"), stored.labels)
    ]
    if len(budgets) > 1:
        raise refusals.server_error(_SEVERAL)
    for budget_ref, budget in budgets:
        if condition(pod, "Ready").get("status") == "True" or not _lets_unready_go(budget):
            _count_down(storage, budget_ref, budget, ref.name)


def _lets_unready_go(budget: Obj) -> bool:
    """Whether a pod that is not ready may go without being counted."""
    if text(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired = number(budget, "status", "desiredHealthy")
    return desired > 0 and number(budget, "status", "currentHealthy") >= desired


def _count_down(storage: ObjectStore, ref: Ref, budget: Obj, pod_name: str) -> None:
    status = part(budget, "status")
    allowed = number(status, "disruptionsAllowed")
    if number(status, "observedGeneration") < number(budget, "metadata", "generation"):
        message = f"The disruption budget {ref.name} is still being processed by the server."
        raise refusals.over_budget(_REFUSAL, message, 10)
    if allowed < 0:
        raise refusals.forbidden_error(ref, "pdb disruptions allowed is negative")
    if len(mapping(status.get("disruptedPods"))) > _MOST_DISRUPTED:
        raise refusals.forbidden_error(ref, "DisruptedPods map too big")
    if allowed == 0:
        raise refusals.over_budget(_REFUSAL, _why_none(ref, budget))
    status["disruptionsAllowed"] = allowed - 1
    if allowed == 1:
        none_left: Obj = {
            "type": "DisruptionAllowed",
            "status": "False",
            "reason": "InsufficientPods",
            "message": "",
            "observedGeneration": number(status, "observedGeneration"),
        }
        set_condition(budget, none_left, storage.now())
    part(status, "disruptedPods")[pod_name] = storage.now()
    storage.write(ref, budget)


def _why_none(ref: Ref, budget: Obj) -> str:
    desired = number(budget, "status", "desiredHealthy")
    healthy = number(budget, "status", "currentHealthy")
    if healthy <= desired:
        return (
            f"The disruption budget {ref.name} needs {desired} healthy pods and has {healthy} "
            "currently"
        )
    return f"The disruption budget {ref.name} does not allow evicting pods currently"
