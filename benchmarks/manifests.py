"""How would a benchmark cluster look as a dump of manifests? For the command row."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import yaml

from dovetail.model.pod import DaemonSet, Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import LabelSelector, NodeTerm, PodTerm, Spread
from dovetail.units import quantity

Manifest = dict[str, object]


def write(snapshot: Snapshot, path: Path) -> None:
    """Write pods, pools and daemon sets as one YAML stream, a document each."""
    documents = [
        *map(node_pool, snapshot.node_pools),
        *map(daemon_set, snapshot.daemon_sets),
        *map(pod, snapshot.pods),
    ]
    with path.open("w", encoding="utf-8") as file:
        yaml.dump_all(documents, file, Dumper=_NoAliases, sort_keys=False)


class _NoAliases(yaml.CSafeDumper):
    """Dumps shared parts in full each time, as a cluster does."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  the name is PyYAML's
        return True


def pod(one: Pod) -> Manifest:
    """A Pod as a cluster lists it."""
    metadata: Manifest = {"name": one.name, "namespace": one.namespace, "uid": one.uid}
    metadata["labels"] = dict(one.labels)
    if one.owner is not None:
        owner = {
            "apiVersion": one.owner.api_version,
            "kind": one.owner.kind,
            "name": one.owner.name,
            "uid": one.owner.uid,
            "controller": True,
        }
        metadata["ownerReferences"] = [owner]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": pod_spec(one.spec),
        "status": {"phase": one.phase},
    }


def daemon_set(one: DaemonSet) -> Manifest:
    """A DaemonSet of apps/v1."""
    template = {"metadata": {"labels": dict(one.labels)}, "spec": pod_spec(one.spec)}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": one.name, "namespace": one.namespace},
        "spec": {"selector": {"matchLabels": dict(one.labels)}, "template": template},
    }


def node_pool(one: NodePool) -> Manifest:
    """A NodePool of karpenter.sh/v1 that launches on AWS."""
    spec: Manifest = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        "requirements": _expressions(one.requirements),
    }
    if one.taints:
        spec["taints"] = [_taint(taint) for taint in one.taints]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": one.name},
        "spec": {"template": {"spec": spec}},
    }


def pod_spec(one: PodSpec) -> Manifest:
    """The scheduling part of a pod's spec, in one container."""
    requests = {
        name: quantity.render(name, amount)
        for name, amount in one.requests.items()
        if name != "pods"
    }
    spec: Manifest = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
    optional: Manifest = {
        "nodeSelector": dict(one.node_selector),
        "tolerations": [_toleration(held) for held in one.tolerations],
        "topologySpreadConstraints": [_spread(held) for held in one.spread],
        "affinity": _affinity(one),
    }
    return spec | {name: value for name, value in optional.items() if value}


def _affinity(one: PodSpec) -> Manifest:
    parts: dict[str, Manifest] = {
        "nodeAffinity": _node_affinity(one),
        "podAffinity": _pod_affinity(one.affinity, one.preferred_affinity),
        "podAntiAffinity": _pod_affinity(one.anti_affinity, one.preferred_anti_affinity),
    }
    return {name: part for name, part in parts.items() if part}


def _node_affinity(one: PodSpec) -> Manifest:
    result: Manifest = {}
    if one.required_terms:
        terms = [_node_term(term) for term in one.required_terms]
        result["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if one.preferred_terms:
        result["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "preference": _node_term(term)}
            for weight, term in one.preferred_terms
        ]
    return result


def _pod_affinity(
    required: tuple[PodTerm, ...], preferred: tuple[tuple[int, PodTerm], ...]
) -> Manifest:
    result: Manifest = {}
    if required:
        result["requiredDuringSchedulingIgnoredDuringExecution"] = [
            _pod_term(term) for term in required
        ]
    if preferred:
        result["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "podAffinityTerm": _pod_term(term)} for weight, term in preferred
        ]
    return result


def _node_term(term: NodeTerm) -> Manifest:
    return {"matchExpressions": _expressions(term.expressions)}


def _pod_term(term: PodTerm) -> Manifest:
    return {"topologyKey": term.topology_key, "labelSelector": _selector(term.selector)}


def _spread(one: Spread) -> Manifest:
    return {
        "topologyKey": one.topology_key,
        "maxSkew": one.max_skew,
        "whenUnsatisfiable": "DoNotSchedule" if one.is_hard else "ScheduleAnyway",
        "labelSelector": _selector(one.selector),
    }


def _selector(one: LabelSelector) -> Manifest:
    return {"matchExpressions": _expressions(one.expressions)}


def _expressions(requirements: Iterable[Requirement]) -> list[Manifest]:
    return [
        {"key": key, "operator": str(operator), "values": values}
        for one in requirements
        for key, operator, values, _ in one.wire()
    ]


def _taint(one: Taint) -> Manifest:
    return {"key": one.key, "value": one.value, "effect": str(one.effect)}


def _toleration(one: Toleration) -> Manifest:
    fields = {"key": one.key, "operator": str(one.operator), "value": one.value}
    return {name: value for name, value in fields.items() if value}
