"""What does the server add to a new object of its own kinds? Defaults, priorities, taints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dovetail import api
from dovetail.kube.memory import refusals
from dovetail.kube.memory.storage import Storage
from dovetail.kube.memory.trees import Obj, at, items, mapping, number, part, text
from dovetail.kube.seam import Ref

_Admit = Callable[[Storage, Ref, Obj], None]

PRIORITY_CLASS: Final = api.KINDS["scheduling.k8s.io", "PriorityClass"]
_SYSTEM_PRIORITIES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_POD_DEFAULTS: Final[Obj] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}


def admit(storage: Storage, ref: Ref, tree: Obj) -> None:
    """Complete a new object, in place. Raises ForbiddenError."""
    complete = _ADMIT.get((ref.kind.group, ref.kind.name))
    if complete is not None:
        complete(storage, ref, tree)


def _pod(storage: Storage, ref: Ref, tree: Obj) -> None:
    spec = part(tree, "spec")
    for key, value in _POD_DEFAULTS.items():
        spec.setdefault(key, value)
    for field in ("containers", "initContainers"):
        for one in items(spec.get(field)):
            _requests(mapping(one))
    _priority(storage, ref, spec)
    _tolerations(spec)
    tree["status"] = {"phase": "Pending"}


def _requests(container: Obj) -> None:
    """Whoever limits a resource and does not ask for it asks for as much as the limit."""
    limits = mapping(at(container, "resources", "limits"))
    if limits:
        requests = part(container, "resources", "requests")
        for name, amount in limits.items():
            requests.setdefault(name, amount)


def _priority(storage: Storage, ref: Ref, spec: Obj) -> None:
    name = text(spec, "priorityClassName")
    said = spec.pop("priority", None)
    if name in _SYSTEM_PRIORITIES:
        spec["priority"] = _SYSTEM_PRIORITIES[name]
    elif name:
        found = storage.find(Ref(PRIORITY_CLASS, name))
        if found is None:
            raise refusals.forbidden(ref, f"no PriorityClass with name {name} was found")
        _take_priority(spec, found.tree())
    else:
        classes = [one.tree() for _, one in storage.table(PRIORITY_CLASS).items()]
        general = [one for one in classes if one.get("globalDefault") is True]
        general.sort(key=lambda one: number(one, "value"))
        spec.setdefault("priority", 0)
        if general:
            spec["priorityClassName"] = text(general[0], "metadata", "name")
            _take_priority(spec, general[0])
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    if said is not None and said != spec["priority"]:
        why = f"the priority ({said}) must not be provided; the class gives {spec['priority']}"
        raise refusals.forbidden(ref, why)


def _take_priority(spec: Obj, found: Obj) -> None:
    spec["priority"] = number(found, "value")
    if text(found, "preemptionPolicy"):
        spec["preemptionPolicy"] = text(found, "preemptionPolicy")


def _tolerations(spec: Obj) -> None:
    """Every pod stays five minutes on a node that is not ready, unless it says otherwise."""
    own = items(spec.get("tolerations"))
    for key in (_NOT_READY, _UNREACHABLE):
        is_said = any(
            text(one, "key") in {"", key} and text(one, "effect") in {"", "NoExecute"}
            for one in own
        )
        if not is_said:
            entry: Obj = {
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            own = [*own, entry]
    spec["tolerations"] = own


def _node(_storage: Storage, _ref: Ref, tree: Obj) -> None:
    """A new node is not ready until its kubelet has said so."""
    spec = part(tree, "spec")
    taints = items(spec.get("taints"))
    entry: Obj = {"key": _NOT_READY, "effect": "NoSchedule"}
    if not any((text(one, "key"), text(one, "effect")) == tuple(entry.values()) for one in taints):
        spec["taints"] = [*taints, entry]


def _namespace(_storage: Storage, ref: Ref, tree: Obj) -> None:
    part(tree, "metadata", "labels")["kubernetes.io/metadata.name"] = ref.name
    part(tree, "spec").setdefault("finalizers", ["kubernetes"])
    tree["status"] = {"phase": "Active"}


def _pending(_storage: Storage, _ref: Ref, tree: Obj) -> None:
    tree["status"] = {"phase": "Pending"}


def _one_replica(_storage: Storage, _ref: Ref, tree: Obj) -> None:
    part(tree, "spec").setdefault("replicas", 1)


def _job(_storage: Storage, _ref: Ref, tree: Obj) -> None:
    spec = part(tree, "spec")
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)


def _storage_class(_storage: Storage, _ref: Ref, tree: Obj) -> None:
    tree.setdefault("reclaimPolicy", "Delete")
    tree.setdefault("volumeBindingMode", "Immediate")


_ADMIT: Final[Mapping[tuple[str, str], _Admit]] = {
    ("", "Pod"): _pod,
    ("", "Node"): _node,
    ("", "Namespace"): _namespace,
    ("", "PersistentVolumeClaim"): _pending,
    ("", "PersistentVolume"): _pending,
    ("", "ReplicationController"): _one_replica,
    ("apps", "Deployment"): _one_replica,
    ("apps", "ReplicaSet"): _one_replica,
    ("apps", "StatefulSet"): _one_replica,
    ("batch", "Job"): _job,
    ("storage.k8s.io", "StorageClass"): _storage_class,
}
