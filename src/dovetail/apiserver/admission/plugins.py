"""Completes new objects as the plugins of a real server do: priorities, tolerations, taints."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Final

from dovetail import api
from dovetail.apiserver import refusals
from dovetail.apiserver.admission.pod_defaults import quality_of_service
from dovetail.apiserver.storage import ObjectStore
from dovetail.apiserver.trees import Obj, at, decode, encode, items, mapping, number, part, text
from dovetail.kube.seam import Ref

_Admit = Callable[[ObjectStore, Ref, Obj], None]

PRIORITY_CLASS: Final = api.KINDS["scheduling.k8s.io", "PriorityClass"]
_SYSTEM_PRIORITIES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"


def admit(storage: ObjectStore, ref: Ref, tree: Obj) -> None:
    """Complete a new object, in place. Raises ForbiddenError."""
    key = (ref.kind.group, ref.kind.name)
    status = _STATUSES.get(key)
    if status is not None:
        tree["status"] = decode(encode(status))
    further = _ADMIT.get(key)
    if further is not None:
        further(storage, ref, tree)


def _pod(storage: ObjectStore, ref: Ref, tree: Obj) -> None:
    spec = part(tree, "spec")
    for field in ("containers", "initContainers"):
        for item in items(spec.get(field)):
            _requests(mapping(item))
    _priority(storage, ref, spec)
    _tolerations(spec)
    tree["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}


def _requests(container: Obj) -> None:
    """Whoever limits a resource and does not ask for it asks for as much as the limit."""
    limits = mapping(at(container, "resources", "limits"))
    if limits:
        requests = part(container, "resources", "requests")
        for name, amount in limits.items():
            requests.setdefault(name, amount)


def _priority(storage: ObjectStore, ref: Ref, spec: Obj) -> None:
    name = text(spec, "priorityClassName")
    priority = spec.pop("priority", None)
    if name in _SYSTEM_PRIORITIES:
        spec["priority"] = _SYSTEM_PRIORITIES[name]
    elif name:
        stored = storage.find(Ref(PRIORITY_CLASS, name))
        if stored is None:
            raise refusals.forbidden_error(ref, f"no PriorityClass with name {name} was found")
        _take_priority(spec, stored.tree())
    else:
        classes = [item.tree() for _, item in storage.table(PRIORITY_CLASS).items()]
        general = [class_ for class_ in classes if class_.get("globalDefault") is True]
        general.sort(key=lambda tree: number(tree, "value"))
        spec.setdefault("priority", 0)
        if general:
            spec["priorityClassName"] = text(general[0], "metadata", "name")
            _take_priority(spec, general[0])
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    if priority is not None and priority != spec["priority"]:
        why = f"the priority ({priority}) must not be provided; the class gives {spec['priority']}"
        raise refusals.forbidden_error(ref, why)


def _take_priority(spec: Obj, class_tree: Obj) -> None:
    spec["priority"] = number(class_tree, "value")
    if text(class_tree, "preemptionPolicy"):
        spec["preemptionPolicy"] = text(class_tree, "preemptionPolicy")


def _tolerations(spec: Obj) -> None:
    """Every pod stays five minutes on a node that is not ready, unless it says otherwise."""
    own = items(spec.get("tolerations"))
    for key in (_NOT_READY, _UNREACHABLE):
        is_said = any(
            text(item, "key") in {"", key} and text(item, "effect") in {"", "NoExecute"}
            for item in own
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


def _node(_storage: ObjectStore, _ref: Ref, tree: Obj) -> None:
    """A new node is not ready until its kubelet has said so."""
    spec = part(tree, "spec")
    taints = items(spec.get("taints"))
    entry: Obj = {"key": _NOT_READY, "effect": "NoSchedule"}
    if not any(
        (text(taint, "key"), text(taint, "effect")) == tuple(entry.values()) for taint in taints
    ):
        spec["taints"] = [*taints, entry]
    status = part(tree, "status")
    part(status, "daemonEndpoints", "kubeletEndpoint").setdefault("Port", 0)
    info = part(status, "nodeInfo")
    for field in _NODE_INFO:
        info.setdefault(field, "")


def _namespace(_storage: ObjectStore, ref: Ref, tree: Obj) -> None:
    part(tree, "metadata", "labels")["kubernetes.io/metadata.name"] = ref.name
    part(tree, "spec").setdefault("finalizers", ["kubernetes"])
    tree["status"] = {"phase": "Active"}


def _service(storage: ObjectStore, ref: Ref, tree: Obj) -> None:
    """A service gets an address of its own, unless it wants none."""
    spec = part(tree, "spec")
    if spec["type"] == "ExternalName":
        return
    if not text(spec, "clusterIP"):
        taken = {
            text(item.tree(), "spec", "clusterIP") for _, item in storage.table(ref.kind).items()
        }
        free = (f"{_NETWORK}{number}" for number in range(2, _MOST_ADDRESSES))
        spec["clusterIP"] = next((item for item in free if item not in taken), "None")
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _secret(_storage: ObjectStore, _ref: Ref, tree: Obj) -> None:
    """What was given as plain text is kept as all data is."""
    plain = mapping(tree.pop("stringData", None))
    for key, value in plain.items():
        part(tree, "data")[key] = base64.b64encode(str(value).encode()).decode()


def identify(ref: Ref, tree: Obj) -> None:
    """Complete what follows from an object's uid: a job's pods are known by it."""
    if (ref.kind.group, ref.kind.name) != ("batch", "Job"):
        return
    spec = part(tree, "spec")
    if spec.get("manualSelector") is True:
        return
    uid = text(tree, "metadata", "uid")
    own: Obj = {f"{_BATCH}controller-uid": uid, f"{_BATCH}job-name": ref.name}
    older: Obj = {"controller-uid": uid, "job-name": ref.name}
    part(spec, "template", "metadata", "labels").update({**own, **older})
    part(spec, "selector", "matchLabels")[f"{_BATCH}controller-uid"] = uid
    if not at(tree, "metadata", "labels"):
        part(tree, "metadata")["labels"] = dict(part(spec, "template", "metadata", "labels"))


_NODE_INFO: Final = (
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
)
_BATCH: Final = "batch.kubernetes.io/"
_NETWORK: Final = "10.0.0."
_MOST_ADDRESSES: Final = 255
# What a status says before anybody has looked.
_STATUSES: Final[Mapping[tuple[str, str], Obj]] = {
    ("", "PersistentVolumeClaim"): {"phase": "Pending"},
    ("", "PersistentVolume"): {"phase": "Pending"},
    ("", "ReplicationController"): {"replicas": 0},
    ("", "Service"): {"loadBalancer": {}},
    ("apps", "Deployment"): {},
    ("apps", "ReplicaSet"): {"replicas": 0},
    ("apps", "StatefulSet"): {"availableReplicas": 0, "replicas": 0},
    ("apps", "DaemonSet"): {
        "currentNumberScheduled": 0,
        "desiredNumberScheduled": 0,
        "numberMisscheduled": 0,
        "numberReady": 0,
    },
    ("batch", "CronJob"): {},
    ("batch", "Job"): {},
    ("policy", "PodDisruptionBudget"): {
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "disruptionsAllowed": 0,
        "expectedPods": 0,
    },
}
_ADMIT: Final[Mapping[tuple[str, str], _Admit]] = {
    ("", "Pod"): _pod,
    ("", "Node"): _node,
    ("", "Namespace"): _namespace,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
}
