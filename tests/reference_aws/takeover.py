"""The cluster that Dovetail takes over from the reference, and what must stay as it is."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.controlplane.plane import ControlPlane
from tests.e2e.ec2_world import CLUSTER, ROLE, Ec2World
from tests.e2e.live import condition, objects, until
from tests.e2e.manifests import (
    CAPACITY_TYPE,
    POOL,
    budget,
    company,
    container,
    deployment,
    listed,
    requirement,
)

Tree = dict[str, Any]

NAMESPACE: Final = "takeover"
GENERAL, BOTTLED = "general", "bottled"
SPOT, ON_DEMAND = "spot", "on-demand"
APART: Final = (
    ("web", GENERAL, SPOT, 20),
    ("api", GENERAL, ON_DEMAND, 15),
    ("db", BOTTLED, "", 20),
)
N_NODES: Final = sum(count for *_, count in APART)
N_GUESTS: Final = 40
_ANTI: Final = "podAntiAffinity"
_DISCOVERED: Final = [{"tags": {"karpenter.sh/discovery": CLUSTER}}]
_SHELL: Final = "#!/bin/bash\necho vm.max_map_count=262144 > /etc/sysctl.d/90-search.conf\n"
_TOML: Final = '[settings.kubernetes]\n"cpu-manager-policy" = "static"\n'
_COMMON: Final = (
    requirement("kubernetes.io/arch", "In", "amd64"),
    requirement("kubernetes.io/os", "In", "linux"),
    requirement("karpenter.k8s.aws/instance-category", "In", "c", "m", "r"),
    requirement("karpenter.k8s.aws/instance-generation", "Gt", "4"),
)


def manifests() -> list[Tree]:
    """Two classes with user data of their own, two pools, and pods that need a node each, and
    guests that fill them.
    """
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        _node_class(GENERAL, "al2023@latest", _SHELL),
        _node_class(BOTTLED, "bottlerocket@latest", _TOML),
        _pool(GENERAL, requirement(CAPACITY_TYPE, "In", SPOT, ON_DEMAND)),
        _pool(BOTTLED, requirement(CAPACITY_TYPE, "In", ON_DEMAND)),
        *(_apart(*row) for row in APART),
        _inside(budget("guests", maxUnavailable=0)),
        _inside(deployment("guests", N_GUESTS, {"containers": [container()]})),
    ]


def _inside(tree: Tree) -> Tree:
    return {**tree, "metadata": {**tree["metadata"], "namespace": NAMESPACE}}


def _apart(name: str, pool: str, capacity_type: str, count: int) -> Tree:
    chosen = {POOL: pool} | ({CAPACITY_TYPE: capacity_type} if capacity_type else {})
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = [company(_ANTI, other)[_ANTI][required][0] for other, *_ in APART]
    affinity = {_ANTI: {required: terms}}
    spec = {"containers": [container()], "nodeSelector": chosen, "affinity": affinity}
    return _inside(deployment(name, count, spec))


def _node_class(name: str, alias: str, user_data: str) -> Tree:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": name},
        "spec": {
            "role": ROLE,
            "amiSelectorTerms": [{"alias": alias}],
            "subnetSelectorTerms": _DISCOVERED,
            "securityGroupSelectorTerms": _DISCOVERED,
            "userData": user_data,
            "tags": {"team": name},
        },
    }


def _pool(name: str, capacity_types: Tree) -> Tree:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": name}
    spec = {"nodeClassRef": reference, "requirements": [*_COMMON, capacity_types]}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {"metadata": {"labels": {"team": name}}, "spec": spec},
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"},
        },
    }


def create(plane: ControlPlane) -> None:
    """Create all of it, and wait until every pod runs on a node that is initialized."""
    text = json.dumps(listed(manifests()))
    plane.kubectl("apply", "--server-side", "-f", "-", given=text)
    wait_for_pods(plane, N_NODES + N_GUESTS)


def wait_for_pods(plane: ControlPlane, count: int) -> None:
    """Wait until so many pods run, and every claim is initialized and its instance tagged."""
    until(lambda: len(running_pods(plane)) == count, f"{count} pods run", seconds=480)
    until(lambda: not _unready_claims(plane), "every claim is initialized and tagged")


def running_pods(plane: ControlPlane) -> dict[str, str]:
    """The node of every pod that runs and stays, by the pod's uid."""
    return {
        pod["metadata"]["uid"]: pod["spec"]["nodeName"]
        for pod in objects(plane, "pods", "-n", NAMESPACE)
        if condition(pod, "Ready").get("status") == "True"
        and "deletionTimestamp" not in pod["metadata"]
    }


def _unready_claims(plane: ControlPlane) -> list[str]:
    return [
        claim["metadata"]["name"]
        for claim in objects(plane, "nodeclaims")
        if condition(claim, "Initialized").get("status") != "True"
        or claim["metadata"]["annotations"].get("karpenter.k8s.aws/tagged") != "true"
    ]


def facts(plane: ControlPlane, world: Ec2World) -> Tree:
    """What a controller that takes over must leave as it is."""
    return {
        "pods": running_pods(plane),
        "claims": {_uid(claim): _claim(claim) for claim in objects(plane, "nodeclaims")},
        "nodes": {_uid(node): _node(node) for node in objects(plane, "nodes")},
        "pools": {_uid(pool): _annotated(pool) for pool in objects(plane, "nodepools")},
        "classes": {_uid(each): _annotated(each) for each in objects(plane, "ec2nodeclasses")},
        "instances": {each["InstanceId"]: _tags(each) for each in world.instances()},
        "templates": sorted(world.templates()),
        "profiles": sorted(world.profiles()),
    }


def _uid(tree: Tree) -> str:
    uid: str = tree["metadata"]["uid"]
    return uid


def _annotated(tree: Tree) -> Tree:
    meta = tree["metadata"]
    return {part: meta.get(part, {}) for part in ("name", "labels", "annotations", "finalizers")}


def _claim(claim: Tree) -> Tree:
    status = claim["status"]
    is_drifted = condition(claim, "Drifted").get("status") == "True"
    kept = {key: status[key] for key in ("providerID", "imageID", "nodeName", "capacity")}
    return _annotated(claim) | {"spec": claim["spec"], "status": kept, "is drifted": is_drifted}


def _node(node: Tree) -> Tree:
    meta, spec = node["metadata"], node["spec"]
    return {"labels": meta["labels"], "taints": spec.get("taints", []), "id": spec["providerID"]}


def _tags(instance: Tree) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
