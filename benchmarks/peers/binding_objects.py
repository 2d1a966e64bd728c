"""What is made on a real API so that kube-scheduler can judge a plan?

Namespaces and the ReplicaSets by which the scheduler spreads pods that say nothing themselves; the
planned nodes, with the daemon pods that plans leave room for; and the pods, held by a gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from benchmarks import manifests
from benchmarks.manifests import Manifest
from dovetail import labels
from dovetail.decide.apply import apply
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import DaemonSet, Owner, Pod, PodKey
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import tolerates
from dovetail.sim.filters import wants

GATE: Final = "dovetail.sh/judge"
_REPLICA_SET: Final = "ReplicaSet"
_THERE: Final = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


def new_nodes(snapshot: Snapshot, plan: Plan) -> tuple[Node, ...]:
    """The nodes that a plan launches, once they have started. Nothing is disrupted here."""
    grown = apply(snapshot, msgspec.structs.replace(plan, disruptions=()))
    return grown.nodes[len(snapshot.nodes) :]


def pods_by_node(plan: Plan) -> dict[str, tuple[PodKey, ...]]:
    """The nodes that a plan gives pods to, new or not, and those pods."""
    there = {one.node: one.pods for one in plan.nominations}
    return there | {one.name: one.pods for one in plan.launches}


def place_by_pod(plan: Plan) -> dict[PodKey, str]:
    """The node that each pod is planned for."""
    return {pod: node for node, pods in pods_by_node(plan).items() for pod in pods}


def daemon_pods(nodes: Iterable[Node], daemon_sets: Iterable[DaemonSet]) -> Iterator[Pod]:
    """The daemon pods that these nodes run."""
    sets = tuple(daemon_sets)
    for node in nodes:
        for one in sets:
            if wants(one.spec, node) and tolerates(node.taints, one.spec.tolerations):
                name = f"{one.name}-{node.name}"
                yield Pod(
                    name=name,
                    namespace=one.namespace,
                    spec=one.spec,
                    uid=name,
                    labels=one.labels,
                    node_name=node.name,
                    phase="Running",
                    owner=Owner("DaemonSet", one.name, uid=one.name),
                )


def as_it_came(
    snapshot: Snapshot, nodes: tuple[Node, ...], node_by_pod: Mapping[PodKey, str]
) -> Snapshot:
    """The cluster with these new nodes and their daemon pods, and pods bound where they really are,
    for the next decision.
    """
    pods = tuple(
        msgspec.structs.replace(pod, node_name=node_by_pod[pod.key], phase="Running")
        if pod.key in node_by_pod
        else pod
        for pod in snapshot.pods
    )
    return msgspec.structs.replace(
        snapshot,
        nodes=(*snapshot.nodes, *nodes),
        pods=(*pods, *daemon_pods(nodes, snapshot.daemon_sets)),
        revision=snapshot.revision + 1,
    )


def namespaces(snapshot: Snapshot) -> Iterator[Manifest]:
    """Those that a new control plane does not have."""
    for name, held in snapshot.namespaces.items():
        if name not in _THERE:
            metadata = {"name": name, "labels": dict(held)}
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def replica_sets(pods: Iterable[Pod]) -> Iterator[Manifest]:
    """Whose pods these are, with the pods' labels as selector."""
    firsts: dict[tuple[str, str], Pod] = {}
    n_pods: Counter[tuple[str, str]] = Counter()
    for pod in pods:
        if pod.owner is not None and pod.owner.kind == _REPLICA_SET:
            firsts.setdefault((pod.namespace, pod.owner.name), pod)
            n_pods[pod.namespace, pod.owner.name] += 1
    for (namespace, name), pod in firsts.items():
        template = {
            "metadata": {"labels": dict(pod.labels)},
            "spec": _with_image(manifests.pod_spec(pod.spec)),
        }
        yield {
            "apiVersion": "apps/v1",
            "kind": _REPLICA_SET,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "replicas": n_pods[namespace, name],
                "selector": {"matchLabels": dict(pod.labels)},
                "template": template,
            },
        }


def pod_manifest(pod: Pod) -> Manifest:
    """A pod as it is made: bound if it has a node, and otherwise held by the gate."""
    found = manifests.pod(pod)
    spec = _with_image(manifests.pod_spec(pod.spec))
    held: Manifest = (
        {"nodeName": pod.node_name} if pod.node_name else {"schedulingGates": [{"name": GATE}]}
    )
    return found | {"spec": spec | held}


def node_manifest(node: Node) -> Manifest:
    """A node that is ready. The API taints it as not ready, whatever it says itself, until it
    is opened.
    """
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": {labels.HOSTNAME: node.name, **node.labels}},
        "spec": {"providerID": f"judge://{node.name}", "taints": manifests.taints(node.taints)},
        "status": {
            "capacity": manifests.resources(node.capacity),
            "allocatable": manifests.resources(node.allocatable),
            "conditions": [{"type": "Ready", "status": "True", "reason": "Judged"}],
        },
    }


def _with_image(spec: Manifest) -> Manifest:
    match spec:
        case {"containers": [dict(container)]}:
            return spec | {"containers": [container | {"image": "none"}]}
        case _:
            msg = f"expected one container, not {spec.get('containers')}"
            raise ValueError(msg)
