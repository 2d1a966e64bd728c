"""Keeps one pod of a DaemonSet on every node that it selects.

Pods of an earlier template are replaced one at a time, each once all others are ready.
"""

from __future__ import annotations

from typing import Final

from dovetail import api, labels
from dovetail.kube.seam import Json
from dovetail.model.node import Node
from dovetail.model.pod import DaemonSet
from dovetail.model.taints import Effect, Toleration, tolerates
from dovetail.sim import wire
from dovetail.sim.controller_manager.pod_control import (
    TEMPLATE,
    Obj,
    PodControl,
    WorkloadObject,
    as_list,
    is_active,
    is_outdated,
    is_ready,
    mapping,
    replaces_pods,
    template_hash,
)
from dovetail.sim.filters import wants
from dovetail.state.nodes import node_of
from dovetail.state.shelf import Inventory
from dovetail.state.specs import Templates
from dovetail.state.workloads import daemon_sets

DAEMON_SET: Final = api.KINDS["apps", "DaemonSet"]
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


async def keep_daemon_set(control: PodControl, workload: WorkloadObject) -> None:
    """Make the pods that nodes lack, delete those that a node will have no more."""
    daemon_set = api.read(DAEMON_SET, await control.kube.get(workload.ref))
    sets = daemon_sets(Inventory([daemon_set]), Templates())
    if not sets:
        return
    daemon = sets[0]
    wires = await control.wires(wire.NODE)
    nodes = {item.metadata.name: node_of(item) for item in wires if isinstance(item, api.Node)}
    by_node = _by_node(await control.owned_pods(workload))
    for name, pods in by_node.items():
        await _thin_out(control, pods, stays=name in nodes and _may_stay(daemon, nodes[name]))
    belonging = [name for name in sorted(nodes) if _belongs(daemon, nodes[name])]
    there = {name for name, pods in by_node.items() if any(map(is_active, pods))}
    for name in belonging:
        if name not in there:
            await _make(control, workload, daemon, name)
    n_ready = sum(any(map(is_ready, by_node[name])) for name in there)
    digest = template_hash(workload.template)
    outdated = [
        pod
        for name in belonging
        for pod in by_node.get(name, ())
        if is_active(pod) and is_outdated(pod, digest)
    ]
    if outdated and replaces_pods(workload) and n_ready >= len(belonging):
        await control.delete_pod(outdated[0])
    status: Obj = {
        "desiredNumberScheduled": len(belonging),
        "currentNumberScheduled": len(there.intersection(belonging)),
        "updatedNumberScheduled": len(there.intersection(belonging)) - len(outdated),
        "numberReady": n_ready,
        "numberAvailable": n_ready,
        "numberMisscheduled": 0,
    }
    await control.report(workload, status)


def _by_node(pods: list[api.Pod]) -> dict[str, list[api.Pod]]:
    result: dict[str, list[api.Pod]] = {}
    for pod in pods:
        result.setdefault(_place(pod), []).append(pod)
    return result


async def _thin_out(control: PodControl, pods: list[api.Pod], *, stays: bool) -> None:
    """Delete pods that have ended, and of the others all but one, or all."""
    active = [item for item in pods if is_active(item)]
    over = [pod for pod in pods if pod not in active and pod.metadata.deletion_timestamp is None]
    for pod in (*over, *active[int(stays) :]):
        await control.delete_pod(pod)


def _belongs(daemon: DaemonSet, node: Node) -> bool:
    return wants(daemon.spec, node) and tolerates(node.taints, daemon.spec.tolerations)


def _may_stay(daemon: DaemonSet, node: Node) -> bool:
    """Whoever is there stays until a taint drives it out, or the node is no longer meant."""
    driving = [taint for taint in node.taints if taint.effect == Effect.NO_EXECUTE]
    return wants(daemon.spec, node) and tolerates(driving, daemon.spec.tolerations)


def _place(pod: api.Pod) -> str:
    """The node that a daemon pod is on, or was made for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.parts().affinity
    asked = affinity.node_affinity if affinity is not None else None
    required = asked.required_during_scheduling_ignored_during_execution if asked else None
    for term in required.node_selector_terms if required else ():
        for field in term.match_fields:
            if field.key == labels.NODE_NAME_FIELD and field.values:
                return field.values[0]
    return ""


async def _make(
    control: PodControl, workload: WorkloadObject, daemon: DaemonSet, node_name: str
) -> None:
    template = mapping(workload.template.get("spec"))
    affinity = mapping(template.get("affinity"))
    field: Json = {"key": labels.NODE_NAME_FIELD, "operator": "In", "values": [node_name]}
    here: Json = {_REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    own = [str(item) for item in map(_toleration_tree, daemon.spec.tolerations)]
    texts = {str(_bare(mapping(item))) for item in as_list(template.get("tolerations"))}
    more = [
        _toleration_tree(toleration)
        for toleration, text in zip(daemon.spec.tolerations, own, strict=True)
        if text not in texts
    ]
    spec: Obj = {
        "affinity": {**affinity, "nodeAffinity": here},
        "tolerations": [*as_list(template.get("tolerations")), *more],
    }
    marked: Obj = {TEMPLATE: template_hash(workload.template)}
    meta: Obj = {"generateName": f"{workload.meta.name}-", "labels": marked}
    await control.make_pod(workload, meta, spec)


def _toleration_tree(toleration: Toleration) -> Obj:
    tree: Obj = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    return _bare(tree)


def _bare(tree: Obj) -> Obj:
    fields = ("key", "operator", "value", "effect")
    return {key: str(tree[key]) for key in fields if tree.get(key)}
