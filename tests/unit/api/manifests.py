"""Sound manifests, and how to spoil them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from dovetail import api
from dovetail.providers.kwok.plugin import PLUGIN

Tree = dict[str, Any]

REFERENCE: Final = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}

POOL: Final[Tree] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "template": {
            "metadata": {"labels": {"team": "a"}, "annotations": {"note": "any text"}},
            "spec": {
                "nodeClassRef": REFERENCE,
                "requirements": [
                    {
                        "key": "karpenter.sh/capacity-type",
                        "operator": "In",
                        "values": ["spot", "on-demand"],
                        "minValues": 2,
                    },
                    {"key": "karpenter.kwok.sh/instance-cpu", "operator": "Gt", "values": ["3"]},
                    {"key": "kubernetes.io/arch", "operator": "Exists"},
                ],
                "taints": [{"key": "example.com/gpu", "value": "yes", "effect": "NoSchedule"}],
                "startupTaints": [{"key": "example.com/gpu", "effect": "NoExecute"}],
                "terminationGracePeriod": "1h",
                "expireAfter": "Never",
            },
        },
        "disruption": {
            "consolidateAfter": "30s",
            "consolidationPolicy": "Balanced",
            "budgets": [
                {"nodes": "0", "schedule": "@daily", "duration": "8h", "reasons": ["Drifted"]},
                {"nodes": "100%"},
            ],
        },
        "limits": {"cpu": "1k", "memory": "1000Gi", "nodes": 10},
        "weight": 100,
    },
}
CLAIM: Final[Tree] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {"name": "default-1"},
    "spec": {
        "nodeClassRef": REFERENCE,
        "requirements": [{"key": "karpenter.sh/nodepool", "operator": "In", "values": ["default"]}],
        "resources": {"requests": {"cpu": "100m"}},
    },
}
OVERLAY: Final[Tree] = {
    "apiVersion": "karpenter.sh/v1alpha1",
    "kind": "NodeOverlay",
    "metadata": {"name": "dearer"},
    "spec": {
        "requirements": [{"key": "karpenter.sh/nodepool", "operator": "In", "values": ["a"]}],
        "priceAdjustment": "+10%",
        "capacity": {"smarter-devices/fuse": 1},
        "weight": 10000,
    },
}
BUFFER: Final[Tree] = {
    "apiVersion": "autoscaling.x-k8s.io/v1beta1",
    "kind": "CapacityBuffer",
    "metadata": {"name": "spare", "namespace": "web"},
    "spec": {"podTemplateRef": {"name": "spare"}, "replicas": 3},
}
KWOK: Final[Tree] = {
    "apiVersion": "karpenter.kwok.sh/v1alpha1",
    "kind": "KWOKNodeClass",
    "metadata": {"name": "default"},
    "spec": {"nodeRegistrationDelay": "30s"},
}
POD: Final[Tree] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "web"},
    "spec": {
        "containers": [
            {
                "name": "app",
                "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
                "ports": [{"containerPort": 80, "hostPort": 80}],
            }
        ],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}, {"key": "a", "operator": "Gt", "value": "5"}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "minDomains": 2,
                "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            }
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "cpus", "operator": "Gt", "values": ["4"]}
                            ],
                            "matchFields": [
                                {"key": "metadata.name", "operator": "In", "values": ["n1"]}
                            ],
                        }
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 100,
                        "preference": {
                            "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]
                        },
                    }
                ],
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {"app": "web"}},
                    }
                ],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
                ],
            },
        },
    },
}


def spoiled(tree: Mapping[str, Any], path: str, value: object) -> Tree:
    """A copy with another value at `path`, such as "spec.list.0.key"; `...` takes it away."""
    result = copy.deepcopy(dict(tree))
    *way, last = path.split(".")
    held: Any = result
    for step in way:
        held = held[int(step)] if isinstance(held, list) else held.setdefault(step, {})
    if value is ...:
        del held[last]
    elif isinstance(held, list):
        held[int(last)] = value
    else:
        held[last.replace("~", ".")] = value
    return result


def read(tree: Mapping[str, Any]) -> api.Object:
    """The object of a manifest."""
    kind = api.find_extended(tree["apiVersion"], tree["kind"], (PLUGIN.extension,))
    assert kind is not None
    return api.read(kind, dict(tree))


def problems(tree: Mapping[str, Any]) -> list[api.FieldProblem]:
    """What is wrong with a manifest."""
    return api.problems(read(tree), (PLUGIN.extension,))
