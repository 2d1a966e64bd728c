"""What does a user write down? The objects that the end-to-end tests apply, as plain trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Tree = dict[str, Any]

STAGE = "dovetail.test/stage"  # on pools, nodes, claims and pods: whose they are
HOME = "dovetail.test/home"  # on the same: the namespace that they go with
NODE_CLASS = "default"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
POOL = "karpenter.sh/nodepool"


def requirement(key: str, operator: str, *values: str, **more: object) -> Tree:
    """One requirement of a pool or a node affinity."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {}) | more


LINUX = requirement("kubernetes.io/os", "In", "linux")
ANY_CAPACITY = requirement(CAPACITY_TYPE, "In", "spot", "on-demand")


def node_class(name: str = NODE_CLASS) -> Tree:
    """A class of pretended machines."""
    return {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": name},
        "spec": {},
    }


def node_pool(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    requirements: Iterable[Tree] = (),
    template: Mapping[str, object] | None = None,
    **spec: object,
) -> Tree:
    """A pool whose empty nodes go soon. `template` is more of `spec.template.spec`."""
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": NODE_CLASS}
    inner = {"nodeClassRef": reference, "requirements": [LINUX, ANY_CAPACITY, *requirements]}
    outer = {"metadata": {"labels": dict(labels or {})}, "spec": inner | dict(template or {})}
    disruption = {
        "consolidationPolicy": "WhenEmpty",
        "consolidateAfter": "0s",
        "budgets": [{"nodes": "100%"}],
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"template": outer, "disruption": disruption} | spec,
    }


def container(
    name: str = "main", *, limits: Mapping[str, str] | None = None, **requests: str
) -> Tree:
    """A container that asks for this much; `_` stands for `-` in names of resources."""
    asked = {key.replace("_", "-"): value for key, value in requests.items()}
    resources: Tree = {"requests": {"cpu": "100m", "memory": "64Mi"} | asked}
    if limits:
        resources["limits"] = dict(limits)
    return {"name": name, "image": "registry.example/main:1", "resources": resources}


def pod_spec(**more: object) -> Tree:
    """A small pod that ends at once, or what `more` makes of it."""
    return {"containers": [container()], "terminationGracePeriodSeconds": 0} | more


def pod(
    name: str,
    spec: Mapping[str, object],
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Tree:
    """A pod that nobody replaces."""
    meta = {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": dict(spec)}


def deployment(
    name: str,
    replicas: int,
    spec: Mapping[str, object],
    *,
    annotations: Mapping[str, str] | None = None,
    kind: str = "Deployment",
) -> Tree:
    """Pods that are replaced; their label `app` is the name."""
    chosen = {"app": name}
    meta = {"labels": chosen, "annotations": dict(annotations or {})}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": chosen},
            "template": {"metadata": meta, "spec": dict(spec)},
        },
    }


def spread(key: str, app: str, *, max_skew: int = 1, when: str = "DoNotSchedule") -> Tree:
    """Pods of an app stand evenly over the values of a label."""
    return {
        "maxSkew": max_skew,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": app}},
    }


def budget(name: str, **rule: object) -> Tree:
    """How many pods of an app must stay, or may go."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}} | rule,
    }


def company(kind: str, app: str) -> Tree:
    """Apart from each other, or on one node."""
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def listed(trees: Iterable[Tree]) -> Tree:
    """Many objects as one."""
    return {"apiVersion": "v1", "kind": "List", "items": list(trees)}
