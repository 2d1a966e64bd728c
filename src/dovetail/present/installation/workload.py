"""What runs, how is it reached, and how much of it may be away? Deployment, Service and budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail.api.decoding import Tree
from dovetail.present.installation.choices import NAME, Choices, selector
from dovetail.present.installation.rights import LEASE

_USER: Final = 65532
_METRICS_PORT: Final = 8080
_HEALTH_PORT: Final = 8081
# Every setting by the name it has in the environment, at its default: to be seen and changed.
_ENVIRONMENT: Final = {
    "BATCH_IDLE_DURATION": "1s",
    "BATCH_MAX_DURATION": "10s",
    "DISABLE_CLUSTER_STATE_OBSERVABILITY": "false",
    "DISABLE_CONTROLLER_WARMUP": "true",
    "DISABLE_LEADER_ELECTION": "false",
    "DOVETAIL_DASHBOARD_HOST": "127.0.0.1",
    "DOVETAIL_DASHBOARD_PORT": "0",
    "DOVETAIL_DELETION_COSTS": "true",
    "DOVETAIL_DISCOURAGE_SCHEDULING": "true",
    "DOVETAIL_EVICTION_COST": "2h",
    "DOVETAIL_LEAST_SAVING_PER_EVICTION": "0",
    "DOVETAIL_MOST_EVICTIONS_PER_DAY": "-1",
    "DOVETAIL_NODE_PRICE": "0",
    "ENABLE_PROFILING": "false",
    "FEATURE_GATES": "CapacityBuffer=false,NodeOverlay=false,NodeRepair=false,"
    "ReservedCapacity=true,SpotToSpotConsolidation=false,StaticCapacity=false",
    "HEALTH_PROBE_PORT": str(_HEALTH_PORT),
    "IGNORE_DRA_REQUESTS": "true",
    "KARPENTER_SERVICE": NAME,
    "LEADER_ELECTION_NAME": LEASE,
    "LOG_ERROR_OUTPUT_PATHS": "stderr",
    "LOG_LEVEL": "info",
    "LOG_OUTPUT_PATHS": "stdout",
    "METRICS_PORT": str(_METRICS_PORT),
    "MIN_VALUES_POLICY": "Strict",
    "PREFERENCE_POLICY": "Respect",
}


def objects(choices: Choices) -> Iterator[Tree]:
    """What runs in the namespace."""
    metadata = choices.metadata(NAME, choices.namespace)
    ours: Tree = {"matchLabels": selector()}
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": {"maxUnavailable": 1, "selector": ours},
    }
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "type": "ClusterIP",
            "selector": selector(),
            "ports": [_port("http-metrics", _METRICS_PORT)],
        },
    }
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": choices.replicas,
            "revisionHistoryLimit": 10,
            "strategy": {"rollingUpdate": {"maxUnavailable": 1}},
            "selector": ours,
            "template": {"metadata": {"labels": selector()}, "spec": _pod(choices)},
        },
    }


def _pod(choices: Choices) -> Tree:
    return {
        "serviceAccountName": NAME,
        "securityContext": {"fsGroup": _USER},
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "affinity": _affinity(),
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector()},
            }
        ],
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        "containers": [_container(choices)],
    }


def _affinity() -> Tree:
    """Never on a node that the controller itself may remove, and one on each node."""
    foreign: Tree = {"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    apart: Tree = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": selector()},
    }
    return {
        "nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": [foreign]}]}},
        "podAntiAffinity": {required: [apart]},
    }


def _container(choices: Choices) -> Tree:
    kubelets = ["--kubelets"] if choices.kubelets else []
    shadow = ["--dry-run"] if choices.is_shadow else []
    return {
        "name": "controller",
        "image": choices.image,
        "imagePullPolicy": "IfNotPresent",
        "args": [f"--provider={choices.provider}", *kubelets, *shadow],
        "env": _environment(choices),
        "ports": [
            _container_port("http-metrics", _METRICS_PORT),
            _container_port("http", _HEALTH_PORT),
        ],
        "livenessProbe": _probe("/healthz", initial_delay_seconds=30),
        "readinessProbe": _probe("/readyz", initial_delay_seconds=5),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "runAsGroup": _USER,
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _environment(choices: Choices) -> list[Tree]:
    place: Tree = {"fieldRef": {"fieldPath": "metadata.namespace"}}
    where: Tree = {"name": "LEADER_ELECTION_NAMESPACE", "valueFrom": place}
    variables = {**_ENVIRONMENT, **dict(choices.environment)}
    settings: list[Tree] = [{"name": name, "value": variables[name]} for name in sorted(variables)]
    return [where, *settings]


def _port(name: str, port: int) -> Tree:
    return {"name": name, "port": port, "targetPort": name, "protocol": "TCP"}


def _container_port(name: str, port: int) -> Tree:
    return {"name": name, "containerPort": port, "protocol": "TCP"}


def _probe(path: str, *, initial_delay_seconds: int) -> Tree:
    return {
        "httpGet": {"path": path, "port": "http"},
        "initialDelaySeconds": initial_delay_seconds,
        "timeoutSeconds": 30,
    }
