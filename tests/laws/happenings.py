"""Random histories of small clusters, as an API would tell them: objects come, change and go.

Few names and few values, so that objects meet: a claim finds its node, a class is named by a pod
before it exists, the same name comes back with another uid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from dovetail import api
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirements
from dovetail.state.changes import Catalogued, Change, Observed, Vanished
from tests.laws.market import one_in

Tree = dict[str, api.Tree]
NAMESPACES: Final = ("default", "shop", "shop-2")
POOLS: Final = ("p", "q")
NODES: Final = ("n1", "n2", "n3")
TIMES: Final = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z")
NODE_CLASS: Final[Tree] = {"group": "g", "kind": "K", "name": "n"}


def history(chance: Random, n_changes: int) -> Iterator[Change]:
    """One random history."""
    versions: dict[tuple[api.Kind, str, str], int] = {}
    for number in range(n_changes):
        if one_in(chance, 12):
            yield Catalogued(chance.choice(POOLS), chance.choice(CATALOGUES))
            continue
        kind, tree = _object(chance)
        name, namespace = str(_meta(tree)["name"]), str(_meta(tree).get("namespace", ""))
        if one_in(chance, 4):
            yield Vanished(kind, name, namespace)
            continue
        if one_in(chance, 10) and (kind, name, namespace) in versions:
            continue  # nothing is said, as when a watch was cut
        versions[kind, name, namespace] = number
        _meta(tree)["resourceVersion"] = str(number + 1)
        yield Observed(api.read(kind, tree))


def _meta(tree: Tree) -> Tree:
    held = tree["metadata"]
    assert isinstance(held, dict)
    return held


def _object(chance: Random) -> tuple[api.Kind, Tree]:
    make = chance.choice(MAKERS)
    name, tree = make(chance)
    kind = next(one for one in api.KINDS.values() if one.name == name)
    names = _NAMES.get(name, ("x", "y"))
    meta: Tree = {"name": chance.choice(names), "uid": chance.choice(("u1", "u2"))}
    if kind.is_namespaced:
        meta["namespace"] = chance.choice(NAMESPACES)
    meta["uid"] = f"{name}-{meta.get('namespace', '')}-{meta['name']}-{meta['uid']}"
    if one_in(chance, 8):
        meta["deletionTimestamp"] = chance.choice(TIMES)
    if one_in(chance, 2):
        meta["creationTimestamp"] = chance.choice(TIMES)
    own = tree.pop("metadata", {})
    assert isinstance(own, dict)
    return kind, {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": meta | own,
        **tree,
    }


_NAMES: Final = {
    "Pod": ("a", "b", "c", "d"),
    "Node": NODES,
    "CSINode": NODES,
    "NodeClaim": ("c1", "c2", "n1"),
    "NodePool": POOLS,
    "Namespace": NAMESPACES,
    "StorageClass": ("fast", "slow"),
    "PriorityClass": ("high", "low"),
    "RuntimeClass": ("kata",),
    "PersistentVolumeClaim": ("data", "more"),
    "PersistentVolume": ("v1", "v2"),
}

# ------------------------------------------------------------------ pods and what shapes them


def _labels(chance: Random) -> Tree:
    return {"app": chance.choice(("a", "b"))} if one_in(chance, 2) else {}


def _pod_spec(chance: Random) -> Tree:
    requests: Tree = {"cpu": chance.choice(("1", "500m"))}
    spec: Tree = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    if one_in(chance, 3):
        spec["priorityClassName"] = chance.choice(("high", "low", "system-node-critical"))
    if one_in(chance, 4):
        spec["runtimeClassName"] = "kata"
    if one_in(chance, 4):
        spec["nodeSelector"] = {"zone": "a"}
    if one_in(chance, 5):
        spec["tolerations"] = [{"operator": chance.choice(("Exists", "Sideways"))}]
    if one_in(chance, 3):
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    return spec


def _pod(chance: Random) -> tuple[str, Tree]:
    spec = _pod_spec(chance)
    meta: Tree = {"labels": _labels(chance)}
    status: Tree = {"phase": chance.choice(("Pending", "Running", "Succeeded"))}
    reason = chance.choice(("Unschedulable", "Unschedulable", "SchedulingGated", ""))
    if reason:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": reason}]
    if one_in(chance, 2):
        spec["nodeName"] = chance.choice(NODES)
        given: Tree = {"cpu": "2"}
        status["containerStatuses"] = [{"name": "c", "allocatedResources": given}]
    if one_in(chance, 4):
        meta["annotations"] = {"karpenter.sh/do-not-disrupt": "true", "other": str(chance.random())}
    if one_in(chance, 4):
        kind = chance.choice(("DaemonSet", "ReplicaSet"))
        meta["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "o"}]
        spec["affinity"] = _own_node(chance)
    if one_in(chance, 6):
        status["nominatedNodeName"] = chance.choice(NODES)
    return "Pod", {"metadata": meta, "spec": spec, "status": status}


def _own_node(chance: Random) -> Tree:
    field: Tree = {"key": "metadata.name", "operator": "In", "values": [chance.choice(NODES)]}
    terms: Tree = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _priority_class(chance: Random) -> tuple[str, Tree]:
    return "PriorityClass", {"value": chance.choice((1, 7)), "globalDefault": one_in(chance, 3)}


def _runtime_class(chance: Random) -> tuple[str, Tree]:
    overhead: Tree = {"podFixed": {"cpu": chance.choice(("10m", "20m"))}}
    return "RuntimeClass", {"handler": "h", "overhead": overhead}


def _limit_range(chance: Random) -> tuple[str, Tree]:
    limit: Tree = {"type": "Container", "defaultRequest": {"memory": chance.choice(("1Gi", "2Gi"))}}
    return "LimitRange", {"spec": {"limits": [limit]}}


def _workload(chance: Random) -> tuple[str, Tree]:
    kind = chance.choice(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"))
    held: Tree = {"app": chance.choice(("a", "b"))}
    spec: Tree = {
        "selector": {"matchLabels": held},
        "template": {"metadata": {"labels": held}, "spec": _pod_spec(chance)},
    }
    if kind != "DaemonSet":
        spec["replicas"] = chance.randint(0, 2)
    return kind, {"spec": spec}


def _controller(chance: Random) -> tuple[str, Tree]:
    return "ReplicationController", {"spec": {"selector": {"app": chance.choice(("a", "b"))}}}


def _pod_template(chance: Random) -> tuple[str, Tree]:
    return "PodTemplate", {"template": {"spec": _pod_spec(chance)}}


def _buffer(chance: Random) -> tuple[str, Tree]:
    spec: Tree = {"replicas": chance.randint(0, 2)}
    if one_in(chance, 2):
        spec["podTemplateRef"] = {"name": "x"}
    else:
        kind = chance.choice(("Deployment", "StatefulSet", "ReplicaSet"))
        spec["scalableRef"] = {"apiGroup": "apps", "kind": kind, "name": "x"}
    return "CapacityBuffer", {"spec": spec}


# ------------------------------------------------------------------ nodes and pools


def _node(chance: Random) -> tuple[str, Tree]:
    held: Tree = {"karpenter.sh/nodepool": "p"} if one_in(chance, 2) else {}
    for label in ("karpenter.sh/registered", "karpenter.sh/initialized"):
        if one_in(chance, 2):
            held[label] = "true"
    spec: Tree = {"providerID": chance.choice(("i-1", "i-2"))} if one_in(chance, 2) else {}
    if one_in(chance, 4):
        spec["taints"] = [{"key": "t", "effect": "NoSchedule"}]
    room: Tree = {"cpu": chance.choice(("4", "8")), "pods": "10"} if one_in(chance, 2) else {}
    status: Tree = {"capacity": room, "allocatable": room}
    return "Node", {"metadata": {"labels": held}, "spec": spec, "status": status}


def _claim(chance: Random) -> tuple[str, Tree]:
    types: list[api.Tree] = [*chance.sample(("s", "l"), chance.randint(1, 2))]
    asked: list[api.Tree] = [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}
    ]
    status: Tree = {}
    if one_in(chance, 2):
        status["providerID"] = chance.choice(("i-1", "i-2"))
    if one_in(chance, 3):
        status["nodeName"] = chance.choice(NODES)
    if one_in(chance, 3):
        status["capacity"] = status["allocatable"] = {"cpu": "4"}
    if one_in(chance, 3):
        status["conditions"] = [{"type": "Initialized", "status": chance.choice(("True", "False"))}]
    return "NodeClaim", {
        "metadata": {"labels": {"karpenter.sh/nodepool": chance.choice(POOLS)}},
        "spec": {"nodeClassRef": NODE_CLASS, "requirements": asked},
        "status": status,
    }


def _csi_node(chance: Random) -> tuple[str, Tree]:
    driver: Tree = {"name": "d", "allocatable": {"count": chance.randint(1, 2)}}
    return "CSINode", {"spec": {"drivers": [driver]}}


def _pool(chance: Random) -> tuple[str, Tree]:
    limits: Tree = {"cpu": chance.choice(("10", "20", "plenty"))} if one_in(chance, 2) else {}
    template: Tree = {"spec": {"requirements": [], "nodeClassRef": NODE_CLASS}}
    return "NodePool", {"spec": {"template": template, "limits": limits, "weight": 1}}


# ------------------------------------------------------------------ storage and the rest


def _volume_claim(chance: Random) -> tuple[str, Tree]:
    spec: Tree = {"storageClassName": chance.choice(("fast", ""))} if one_in(chance, 2) else {}
    if one_in(chance, 3):
        spec["volumeName"] = "v1"
    return "PersistentVolumeClaim", {"spec": spec, "status": {"phase": "Bound"}}


def _volume(chance: Random) -> tuple[str, Tree]:
    return "PersistentVolume", {"spec": {"csi": {"driver": chance.choice(("d", "e"))}}}


def _storage_class(chance: Random) -> tuple[str, Tree]:
    default: Tree = {"storageclass.kubernetes.io/is-default-class": "true"}
    meta: Tree = {"annotations": default} if one_in(chance, 2) else {}
    return "StorageClass", {"metadata": meta, "provisioner": chance.choice(("d", "e"))}


def _service(chance: Random) -> tuple[str, Tree]:
    selector: Tree = {"app": chance.choice(("a", "b"))} if not one_in(chance, 3) else {}
    return "Service", {"spec": {"selector": selector}}


def _budget(chance: Random) -> tuple[str, Tree]:
    tree: Tree = {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}
    if one_in(chance, 2):
        tree["status"] = {"disruptionsAllowed": chance.randint(0, 2)}
    return "PodDisruptionBudget", tree


def _namespace(chance: Random) -> tuple[str, Tree]:
    return "Namespace", {"metadata": {"labels": _labels(chance)}}


def _type(name: str, cpu: int) -> InstanceType:
    room = {"cpu": cpu, "pods": 10}
    offering = Offering("a", "on-demand", cpu, Requirements())
    return InstanceType(name, Requirements(), room, room, (offering,))


CATALOGUES: Final = ((_type("s", 4000), _type("l", 8000)), (_type("s", 3000),), ())
MAKERS: Final[tuple[Callable[[Random], tuple[str, Tree]], ...]] = (
    *(_pod,) * 6,
    *(_node,) * 3,
    *(_claim,) * 3,
    _priority_class,
    _runtime_class,
    _limit_range,
    *(_workload,) * 2,
    _controller,
    _pod_template,
    _buffer,
    _csi_node,
    _pool,
    _volume_claim,
    _volume,
    _storage_class,
    _service,
    _budget,
    _namespace,
)
