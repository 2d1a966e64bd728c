"""How would a benchmark cluster look as a dump of manifests? For the command row and for peers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import yaml

from dovetail.model.pod import DaemonSet, Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Operator, Requirement
from dovetail.model.resources import Resources
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import HostPort, LabelSelector, NodePolicy, NodeTerm, PodTerm, Spread
from dovetail.units import quantity

Manifest = dict[str, object]
NODE_CLASS: Final = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


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
    if one.deleting_at is not None:
        metadata["deletionTimestamp"] = one.deleting_at.isoformat()
    if one.owner is not None:
        owner = {
            "apiVersion": one.owner.api_version,
            "kind": one.owner.kind,
            "name": one.owner.name,
            "uid": one.owner.uid,
            "controller": True,
        }
        metadata["ownerReferences"] = [owner]
    bound: Manifest = {"nodeName": one.node_name} if one.node_name else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": pod_spec(one.spec) | bound,
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
        "nodeClassRef": dict(NODE_CLASS),
        "requirements": expressions(one.requirements),
    }
    optional: Manifest = {"taints": taints(one.taints), "startupTaints": taints(one.startup_taints)}
    spec |= {name: value for name, value in optional.items() if value}
    template: Manifest = {"spec": spec}
    if one.labels:
        template["metadata"] = {"labels": dict(one.labels)}
    limited: Manifest = {"weight": one.weight, "limits": resources(one.limits)}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": one.name},
        "spec": {"template": template} | {name: value for name, value in limited.items() if value},
    }


def pod_spec(one: PodSpec) -> Manifest:
    """The scheduling part of a pod's spec, in one container."""
    requests = resources({name: held for name, held in one.requests.items() if name != "pods"})
    container: Manifest = {"name": "main", "resources": {"requests": requests}}
    if one.host_ports:
        container["ports"] = [_port(held) for held in one.host_ports]
    spec: Manifest = {"containers": [container]}
    optional: Manifest = {
        "priority": one.priority,
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
    parts: Manifest = {
        "matchExpressions": _kubernetes_expressions(term.expressions),
        "matchFields": _kubernetes_expressions(term.fields),
    }
    return {name: part for name, part in parts.items() if part}


def _kubernetes_expressions(requirements: Iterable[Requirement]) -> list[Manifest]:
    """Kubernetes itself knows no Gte and Lte, unlike pools."""
    return [_strict(one) for one in expressions(requirements)]


def _strict(one: Manifest) -> Manifest:
    match one:
        case {"operator": Operator.GTE, "values": [str(value)]}:
            return one | {"operator": "Gt", "values": [str(int(value) - 1)]}
        case {"operator": Operator.LTE, "values": [str(value)]}:
            return one | {"operator": "Lt", "values": [str(int(value) + 1)]}
        case _:
            return one


def _pod_term(term: PodTerm) -> Manifest:
    fields: Manifest = {
        "topologyKey": term.topology_key,
        "namespaces": list(term.namespaces),
        "matchLabelKeys": list(term.match_label_keys),
        "mismatchLabelKeys": list(term.mismatch_label_keys),
    }
    result = {name: value for name, value in fields.items() if value}
    if term.namespace_selector is not None:
        result["namespaceSelector"] = _selector(term.namespace_selector)
    return result | _selected(term.selector)


def _spread(one: Spread) -> Manifest:
    result: Manifest = {
        "topologyKey": one.topology_key,
        "maxSkew": one.max_skew,
        "whenUnsatisfiable": "DoNotSchedule" if one.is_hard else "ScheduleAnyway",
    }
    if one.min_domains != 1:
        result["minDomains"] = one.min_domains
    if one.node_affinity_policy != NodePolicy.HONOR:
        result["nodeAffinityPolicy"] = str(one.node_affinity_policy)
    if one.node_taints_policy != NodePolicy.IGNORE:
        result["nodeTaintsPolicy"] = str(one.node_taints_policy)
    if one.match_label_keys:
        result["matchLabelKeys"] = list(one.match_label_keys)
    return result | _selected(one.selector)


def _selected(one: LabelSelector) -> Manifest:
    """A selector that selects nothing is one that is not there."""
    return {} if one.nothing else {"labelSelector": _selector(one)}


def _selector(one: LabelSelector) -> Manifest:
    return {"matchExpressions": expressions(one.expressions)}


def expressions(requirements: Iterable[Requirement]) -> list[Manifest]:
    """Requirements as pools, claims and selectors list them."""
    return [
        {"key": key, "operator": str(operator), "values": values}
        | ({} if min_values is None else {"minValues": min_values})
        for one in requirements
        for key, operator, values, min_values in one.wire()
    ]


def resources(amounts: Resources) -> dict[str, str]:
    """Amounts as quantities."""
    return {name: quantity.render(name, amount) for name, amount in amounts.items()}


def taints(held: Iterable[Taint]) -> list[Manifest]:
    """Taints as nodes, pools and claims list them."""
    return [{"key": one.key, "value": one.value, "effect": str(one.effect)} for one in held]


def _port(one: HostPort) -> Manifest:
    return {
        "containerPort": one.port,
        "hostPort": one.port,
        "protocol": one.protocol,
        "hostIP": one.ip,
    }


def _toleration(one: Toleration) -> Manifest:
    fields = {
        "key": one.key,
        "operator": str(one.operator),
        "value": one.value,
        "effect": str(one.effect),
    }
    return {name: value for name, value in fields.items() if value}
