"""Rejects changes to fields that may not change after creation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dovetail import api
from dovetail.api.facts import GROUP_STAYS, KIND_STAYS, SPEC_STAYS, STATIC_STAYS
from dovetail.apiserver.refusals import INVALID
from dovetail.apiserver.trees import Obj, at, canonical, items, mapping
from dovetail.kube.seam import Json

Path = tuple[str, ...]
_Judge = Callable[[Obj, Obj], Iterator[api.FieldProblem]]

# Left out they stay, named otherwise they are refused.
KEPT: Final = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_CLASS_REF: Final = ("spec", "template", "spec", "nodeClassRef")
_SELECTOR: Final[tuple[Path, ...]] = (("spec", "selector"),)
# Once these have a value, they keep it.
_SETTLED: Final[Mapping[tuple[str, str], tuple[Path, ...]]] = {
    ("", "PersistentVolumeClaim"): (
        ("spec", "accessModes"),
        ("spec", "storageClassName"),
        ("spec", "volumeName"),
        ("spec", "selector"),
    ),
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "ReplicaSet"): _SELECTOR,
    ("apps", "DaemonSet"): _SELECTOR,
    ("apps", "StatefulSet"): (
        *_SELECTOR,
        ("spec", "serviceName"),
        ("spec", "podManagementPolicy"),
        ("spec", "volumeClaimTemplates"),
    ),
    ("batch", "Job"): (*_SELECTOR, ("spec", "template")),
    ("scheduling.k8s.io", "PriorityClass"): (("value",), ("preemptionPolicy",)),
    ("storage.k8s.io", "StorageClass"): (
        ("provisioner",),
        ("parameters",),
        ("reclaimPolicy",),
        ("volumeBindingMode",),
    ),
    ("storage.k8s.io", "VolumeAttachment"): (("spec",),),
}
_MUTABLE_IN_PODS: Final = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_MUTABLE_WHILE_GATED: Final = ("nodeSelector", "affinity")


def change_problems(kind: api.Kind, old: Obj, new: Obj) -> list[api.FieldProblem]:
    """Everything that has changed and may not."""
    key = (kind.group, kind.name)
    settled = [
        api.FieldProblem(".".join(path), _unchangeable(at(new, *path)))
        for path in _SETTLED.get(key, ())
        if at(old, *path) is not None and _differ(old, new, path)
    ]
    judge = _JUDGES.get(key)
    further = judge(old, new) if judge is not None else ()
    return [*_metadata(old, new), *settled, *further]


def _unchangeable(value: Json) -> str:
    return f"{INVALID}{canonical(value).decode()}: field is immutable"


def _metadata(old: Obj, new: Obj) -> Iterator[api.FieldProblem]:
    for field in KEPT:
        if _differ(old, new, ("metadata", field)):
            yield api.FieldProblem(f"metadata.{field}", "is the server's; it may not be changed")
    if at(old, "metadata", "deletionTimestamp") is None:
        return
    before = items(at(old, "metadata", "finalizers"))
    added = [item for item in items(at(new, "metadata", "finalizers")) if item not in before]
    if added:
        message = f"{added[0]} is new; no finalizer may be added to an object that is being deleted"
        yield api.FieldProblem("metadata.finalizers", message)


def _pod(old: Obj, new: Obj) -> Iterator[api.FieldProblem]:
    before, after = mapping(old.get("spec")), mapping(new.get("spec"))
    if before is after:
        return  # a status was written, as most often
    is_gated = bool(before.get("schedulingGates"))
    if canonical(_immutable_spec(before, is_gated=is_gated)) != canonical(
        _immutable_spec(after, is_gated=is_gated)
    ):
        message = (
            "a pod's spec may not change but for images, activeDeadlineSeconds, more tolerations "
            "and fewer schedulingGates"
        )
        yield api.FieldProblem("spec", message)
    kept = [canonical(toleration) for toleration in items(after.get("tolerations"))]
    if any(canonical(toleration) not in kept for toleration in items(before.get("tolerations"))):
        yield api.FieldProblem("spec.tolerations", "may be added to, but none may be taken away")
    gates = [canonical(scheduling_gate) for scheduling_gate in items(before.get("schedulingGates"))]
    if any(canonical(item) not in gates for item in items(after.get("schedulingGates"))):
        yield api.FieldProblem("spec.schedulingGates", "may be taken away, but none may be added")


def _immutable_spec(spec: Obj, *, is_gated: bool) -> Obj:
    """What of a pod's spec stays as it is."""
    mutable = _MUTABLE_IN_PODS + (_MUTABLE_WHILE_GATED if is_gated else ())
    kept = {key: value for key, value in spec.items() if key not in mutable}
    for field in ("containers", "initContainers"):
        if field in kept:
            kept[field] = [_without_image(item) for item in items(kept[field])]
    return kept


def _without_image(container: Json) -> Json:
    return {key: value for key, value in mapping(container).items() if key != "image"}


def _node(old: Obj, new: Obj) -> Iterator[api.FieldProblem]:
    for field in ("providerID", "podCIDR"):
        path = ("spec", field)
        if at(old, *path) is not None and _differ(old, new, path):
            why = f'Forbidden: node updates may not change {field} except from "" to valid'
            yield api.FieldProblem(".".join(path), why)


def _node_claim(old: Obj, new: Obj) -> Iterator[api.FieldProblem]:
    if _differ(old, new, ("spec",)):
        yield api.FieldProblem("spec", SPEC_STAYS.message)


def _node_pool(old: Obj, new: Obj) -> Iterator[api.FieldProblem]:
    for field, rule in (("group", GROUP_STAYS), ("kind", KIND_STAYS)):
        if _differ(old, new, (*_CLASS_REF, field)):
            yield api.FieldProblem(".".join(_CLASS_REF), rule.message)
    replicas = ("spec", "replicas")
    if (at(old, *replicas) is None) != (at(new, *replicas) is None):
        yield api.FieldProblem("spec", STATIC_STAYS.message)


_JUDGES: Final[Mapping[tuple[str, str], _Judge]] = {
    ("", "Node"): _node,
    ("", "Pod"): _pod,
    ("karpenter.sh", "NodeClaim"): _node_claim,
    ("karpenter.sh", "NodePool"): _node_pool,
}


def _differ(old: Obj, new: Obj, path: Path) -> bool:
    return canonical(at(old, *path)) != canonical(at(new, *path))
