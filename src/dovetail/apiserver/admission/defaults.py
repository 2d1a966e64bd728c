"""Sets the default values of fields of the server's own kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dovetail.apiserver.admission.pod_defaults import fill, fill_pod_spec, fill_template
from dovetail.apiserver.trees import Obj, at, canonical, items, mapping, part, text
from dovetail.kube.seam import Ref

_Fill = Callable[[Obj], None]
_QUARTER: Final = "25%"
_GENERATION: Final = "deprecated.daemonset.template.generation"


def complete(ref: Ref, tree: Obj) -> None:
    """Fill in defaults, in place."""
    complete_kind = _BY_KIND.get((ref.kind.group, ref.kind.name))
    if complete_kind is not None:
        complete_kind(tree)


def count_templates(ref: Ref, old: Obj | None, new: Obj) -> None:
    """Note on a DaemonSet how often its template has changed."""
    if (ref.kind.group, ref.kind.name) != ("apps", "DaemonSet"):
        return
    if old is None:
        part(new, "metadata", "annotations")[_GENERATION] = "1"
        return
    path = ("spec", "template")
    before = text(old, "metadata", "annotations", _GENERATION)
    if canonical(at(old, *path)) != canonical(at(new, *path)) and before.isdigit():
        before = str(int(before) + 1)
    if before:
        part(new, "metadata", "annotations")[_GENERATION] = before


def _pod(tree: Obj) -> None:
    spec = part(tree, "spec")
    fill_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)


def _roll(strategy: Obj, standard: Obj) -> None:
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(part(strategy, "rollingUpdate"), standard)


def _deployment(tree: Obj) -> None:
    spec = part(tree, "spec")
    fill(spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    _roll(part(spec, "strategy"), {"maxUnavailable": _QUARTER, "maxSurge": _QUARTER})
    fill_template(spec, "template")


def _replica_set(tree: Obj) -> None:
    spec = part(tree, "spec")
    spec.setdefault("replicas", 1)
    fill_template(spec, "template")


def _stateful_set(tree: Obj) -> None:
    spec = part(tree, "spec")
    fill(spec, {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"})
    kept = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    fill(part(spec, "persistentVolumeClaimRetentionPolicy"), kept)
    _roll(part(spec, "updateStrategy"), {"partition": 0})
    fill_template(spec, "template")
    for claim in items(spec.get("volumeClaimTemplates")):
        body = mapping(claim)
        fill(body, {"apiVersion": "v1", "kind": "PersistentVolumeClaim"})
        part(body, "spec").setdefault("volumeMode", "Filesystem")
        part(body, "status").setdefault("phase", "Pending")


def _daemon_set(tree: Obj) -> None:
    spec = part(tree, "spec")
    spec.setdefault("revisionHistoryLimit", 10)
    _roll(part(spec, "updateStrategy"), {"maxUnavailable": 1, "maxSurge": 0})
    fill_template(spec, "template")


def _job(tree: Obj) -> None:
    spec = part(tree, "spec")
    spec.setdefault("manualSelector", False)
    _job_spec(spec)


def _job_spec(spec: Obj) -> None:
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    standard: Obj = {
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    if "podFailurePolicy" in spec:
        standard["podReplacementPolicy"] = "Failed"
    fill(spec, standard)
    fill_template(spec, "template")


def _cron_job(tree: Obj) -> None:
    spec = part(tree, "spec")
    standard: Obj = {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    fill(spec, standard)
    fill_template(spec, "jobTemplate", "spec", "template")


def _service(tree: Obj) -> None:
    spec = part(tree, "spec")
    fill(spec, {"sessionAffinity": "None", "type": "ClusterIP"})
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] in {"NodePort", "LoadBalancer"}:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    for item in items(spec.get("ports")):
        port = mapping(item)
        port.setdefault("protocol", "TCP")
        if "port" in port:
            port.setdefault("targetPort", port["port"])


def _role_binding(tree: Obj) -> None:
    reference = at(tree, "roleRef")
    if isinstance(reference, dict):
        reference.setdefault("apiGroup", "rbac.authorization.k8s.io")


_BY_KIND: Final[Mapping[tuple[str, str], _Fill]] = {
    ("", "Pod"): _pod,
    ("", "PodTemplate"): lambda tree: fill_template(tree, "template"),
    ("", "PersistentVolume"): lambda tree: fill(
        part(tree, "spec"), {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}
    ),
    ("", "PersistentVolumeClaim"): lambda tree: fill(
        part(tree, "spec"), {"volumeMode": "Filesystem"}
    ),
    ("", "ReplicationController"): _replica_set,
    ("", "Secret"): lambda tree: fill(tree, {"type": "Opaque"}),
    ("", "Service"): _service,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "CronJob"): _cron_job,
    ("batch", "Job"): _job,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _role_binding,
    ("rbac.authorization.k8s.io", "RoleBinding"): _role_binding,
    ("scheduling.k8s.io", "PriorityClass"): lambda tree: fill(
        tree, {"preemptionPolicy": "PreemptLowerPriority"}
    ),
    ("storage.k8s.io", "StorageClass"): lambda tree: fill(
        tree, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
    ),
}
