"""What can a pod ask of its node? One case for each kind of constraint, with what must come of it.

A case says what is applied and what must hold of the pods and the nodes that they are bound to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dovetail.units import quantity
from tests.e2e.manifests import (
    CAPACITY_TYPE,
    HOSTNAME,
    INSTANCE_TYPE,
    POOL,
    ZONE,
    Tree,
    container,
    requirement,
    spread,
)
from tests.e2e.stage import Script

ARCH = "kubernetes.io/arch"
TEAM = "dovetail.test/team"
FAMILY, SIZE, CPU, MEMORY = (
    f"karpenter.kwok.sh/instance-{part}" for part in ("family", "size", "cpu", "memory")
)


@dataclass(frozen=True)
class Placed:
    """A pod and the node that it was bound to."""

    pod: Mapping[str, Any]
    node: Mapping[str, Any]

    def label(self, key: str) -> str | None:
        """A label of the node."""
        found: str | None = self.node["metadata"]["labels"].get(key)
        return found

    def has(self, resource: str) -> Fraction:
        """What the node has of a resource."""
        return quantity.parse(self.node["status"]["allocatable"][resource])


Check = Callable[[list[Placed]], None]
Written = Callable[[Script], tuple[list[Tree], Check]]

CASES: dict[str, Written] = {}


def case(written: Written) -> Written:
    """Enter a case under its function's name."""
    CASES[written.__name__.replace("_", "-")] = written
    return written


def all_have(key: str, *wanted: str | None) -> Check:
    """Every node has one of these values."""

    def check(placed: list[Placed]) -> None:
        assert {one.label(key) for one in placed} <= set(wanted), placed

    return check


def counts(key: str, *wanted: int) -> Check:
    """So many pods on each value of a label."""

    def check(placed: list[Placed]) -> None:
        found = Counter(one.label(key) for one in placed)
        assert sorted(found.values()) == sorted(wanted), found

    return check


def at_least(resource: str, amount: str) -> Check:
    """Every node has so much of a resource."""

    def check(placed: list[Placed]) -> None:
        assert all(one.has(resource) >= quantity.parse(amount) for one in placed), placed

    return check


def node_affinity(*expressions: Tree) -> Tree:
    """Terms of one expression each, of which one must hold."""
    terms = [{"matchExpressions": [one]} for one in expressions]
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }


def pod_terms(kind: str, key: str, app: str) -> Tree:
    """Affinity or anti-affinity to the pods of an app."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def affine(script: Script, n_pods: int, expression: Tree) -> list[Tree]:
    """A pool and pods with one required expression."""
    return [script.pool(), *script.pods(n_pods, affinity=node_affinity(expression))]


def two_teams(script: Script) -> list[Tree]:
    """A pool with teams and one without."""
    teams = requirement(TEAM, "In", "red", "blue")
    return [
        script.pool(f"{script.name}-teams", requirements=[teams], weight=20),
        script.pool(f"{script.name}-plain"),
    ]


# ------------------------------------------------------------------ selectors and node affinity


@case
def selector(script: Script) -> tuple[list[Tree], Check]:
    """A node selector."""
    made = [script.pool(), *script.pods(2, nodeSelector={ZONE: "test-zone-b"})]
    return made, all_have(ZONE, "test-zone-b")


@case
def affinity_in(script: Script) -> tuple[list[Tree], Check]:
    """In."""
    return affine(script, 2, requirement(FAMILY, "In", "m")), all_have(FAMILY, "m")


@case
def affinity_not_in(script: Script) -> tuple[list[Tree], Check]:
    """NotIn."""
    zones = ("test-zone-a", "test-zone-b", "test-zone-c")
    return affine(script, 2, requirement(ZONE, "NotIn", *zones)), all_have(ZONE, "test-zone-d")


@case
def affinity_exists(script: Script) -> tuple[list[Tree], Check]:
    """Exists: of two pools, only one has the label."""
    pods = script.pods(1, affinity=node_affinity(requirement(TEAM, "Exists")))
    return [*two_teams(script), *pods], all_have(TEAM, "red", "blue")


@case
def affinity_does_not_exist(script: Script) -> tuple[list[Tree], Check]:
    """DoesNotExist: the other of the two, although it weighs less."""
    pods = script.pods(1, affinity=node_affinity(requirement(TEAM, "DoesNotExist")))
    return [*two_teams(script), *pods], all_have(TEAM, None)


@case
def affinity_gt(script: Script) -> tuple[list[Tree], Check]:
    """Gt, as numbers: 16 is more than 8."""

    def check(placed: list[Placed]) -> None:
        assert all(int(one.label(CPU) or "0") > 8 for one in placed)

    return affine(script, 1, requirement(CPU, "Gt", "8")), check


@case
def affinity_lt(script: Script) -> tuple[list[Tree], Check]:
    """Lt: many small nodes where one large one would do."""

    def check(placed: list[Placed]) -> None:
        assert all(int(one.label(CPU) or "0") < 4 for one in placed)
        assert len({one.label(HOSTNAME) for one in placed}) > 1

    less = node_affinity(requirement(CPU, "Lt", "4"))
    pods = script.pods(3, affinity=less, containers=[container(cpu="1500m")])
    return [script.pool(), *pods], check


@case
def affinity_of_terms(script: Script) -> tuple[list[Tree], Check]:
    """Of several terms one that can be met is enough."""
    terms = node_affinity(requirement(ZONE, "In", "nowhere"), requirement(ARCH, "In", "arm64"))
    return [script.pool(), *script.pods(1, affinity=terms)], all_have(ARCH, "arm64")


@case
def architecture(script: Script) -> tuple[list[Tree], Check]:
    """Arm machines."""
    return [script.pool(), *script.pods(2, nodeSelector={ARCH: "arm64"})], all_have(ARCH, "arm64")


@case
def instance_type(script: Script) -> tuple[list[Tree], Check]:
    """One very type."""
    wanted = "s-4x-amd64-linux"
    made = [script.pool(), *script.pods(1, nodeSelector={INSTANCE_TYPE: wanted})]
    return made, all_have(INSTANCE_TYPE, wanted)


@case
def capacity_type(script: Script) -> tuple[list[Tree], Check]:
    """The dearer kind, because it was asked for."""
    made = [script.pool(), *script.pods(1, nodeSelector={CAPACITY_TYPE: "on-demand"})]
    return made, all_have(CAPACITY_TYPE, "on-demand")


@case
def provider_labels(script: Script) -> tuple[list[Tree], Check]:
    """All of kwok's own labels at once."""
    wanted = {FAMILY: "s", SIZE: "8", CPU: "8", MEMORY: "32Gi"}
    return [script.pool(), *script.pods(1, nodeSelector=wanted)], all_have(
        INSTANCE_TYPE, "s-8x-amd64-linux", "s-8x-arm64-linux"
    )


@case
def custom_label(script: Script) -> tuple[list[Tree], Check]:
    """A label that the pool's requirements allow two values of."""
    pods = script.pods(1, nodeSelector={TEAM: "blue"})
    return [*two_teams(script), *pods], all_have(TEAM, "blue")


# ------------------------------------------------------------------ taints and weights


@case
def taints(script: Script) -> tuple[list[Tree], Check]:
    """Who puts up with the taint goes to the heavier pool, who does not to the other."""
    taint = {"key": "dovetail.test/own", "value": "yes", "effect": "NoSchedule"}
    toleration = {"key": taint["key"], "operator": "Equal", "value": "yes"}
    large_one = container(cpu="800m")
    made = [
        script.pool(f"{script.name}-own", template={"taints": [taint]}, weight=50),
        script.pool(f"{script.name}-all"),
        # Too large to share a node: the scheduler would put one where the other is first.
        *script.pods(1, name="tolerant", tolerations=[toleration], containers=[large_one]),
        *script.pods(1, name="intolerant", containers=[large_one]),
    ]

    def check(placed: list[Placed]) -> None:
        found = {one.pod["metadata"]["name"]: one.label(POOL) for one in placed}
        assert found["intolerant-0"] == f"{script.name}-all"
        assert found["tolerant-0"] == f"{script.name}-own"

    return made, check


@case
def weights(script: Script) -> tuple[list[Tree], Check]:
    """The heavier pool, although the lighter one is cheaper."""
    dear = requirement(CAPACITY_TYPE, "In", "on-demand")
    heavy = script.pool(f"{script.name}-heavy", weight=50, requirements=[dear])
    light = script.pool(f"{script.name}-light", weight=10)
    return [heavy, light, *script.pods(2)], all_have(POOL, f"{script.name}-heavy")


# ------------------------------------------------------------------ topology


@case
def zone_spread(script: Script) -> tuple[list[Tree], Check]:
    """Two in each of four zones."""
    pods = script.pods(8, topologySpreadConstraints=[spread(ZONE, script.name)])
    return [script.pool(), *pods], counts(ZONE, 2, 2, 2, 2)


@case
def zone_spread_with_min_domains(script: Script) -> tuple[list[Tree], Check]:
    """In at least three zones, though all would fit one node."""
    rule = spread(ZONE, script.name) | {"minDomains": 3}
    pods = script.pods(3, topologySpreadConstraints=[rule])
    return [script.pool(), *pods], counts(ZONE, 1, 1, 1)


@case
def hostname_spread(script: Script) -> tuple[list[Tree], Check]:
    """One on each node."""
    pods = script.pods(3, topologySpreadConstraints=[spread(HOSTNAME, script.name)])
    return [script.pool(), *pods], counts(HOSTNAME, 1, 1, 1)


@case
def affinity_by_hostname(script: Script) -> tuple[list[Tree], Check]:
    """All on one node."""
    together = pod_terms("podAffinity", HOSTNAME, script.name)
    pods = script.pods(4, affinity=together, containers=[container(cpu="900m")])
    return [script.pool(), *pods], counts(HOSTNAME, 4)


@case
def affinity_by_zone(script: Script) -> tuple[list[Tree], Check]:
    """All in one zone, that of the pod that they follow."""
    near = pod_terms("podAffinity", ZONE, f"{script.name}-first")
    first = script.pods(
        1,
        name="first",
        labels={"app": f"{script.name}-first"},
        nodeSelector={ZONE: "test-zone-c"},
    )
    return [script.pool(), *first, *script.pods(3, affinity=near)], all_have(ZONE, "test-zone-c")


@case
def anti_affinity_by_hostname(script: Script) -> tuple[list[Tree], Check]:
    """No two on one node."""
    apart = pod_terms("podAntiAffinity", HOSTNAME, script.name)
    return [script.pool(), *script.pods(3, affinity=apart)], counts(HOSTNAME, 1, 1, 1)


@case
def anti_affinity_by_zone(script: Script) -> tuple[list[Tree], Check]:
    """No two in one zone."""
    apart = pod_terms("podAntiAffinity", ZONE, script.name)
    return [script.pool(), *script.pods(4, affinity=apart)], counts(ZONE, 1, 1, 1, 1)


@case
def host_ports(script: Script) -> tuple[list[Tree], Check]:
    """Two pods that want the same port of their node."""
    port = {"containerPort": 8080, "hostPort": 8080, "protocol": "TCP"}
    pods = script.pods(3, containers=[container() | {"ports": [port]}])
    return [script.pool(), *pods], counts(HOSTNAME, 1, 1, 1)


# ------------------------------------------------------------------ sizes


@case
def large(script: Script) -> tuple[list[Tree], Check]:
    """A pod that needs a large machine."""
    made = [script.pool(), *script.pods(1, containers=[container(cpu="20", memory="100Gi")])]
    return made, at_least("memory", "100Gi")


@case
def disks(script: Script) -> tuple[list[Tree], Check]:
    """Two pods whose files do not fit on one disk."""
    pods = script.pods(2, containers=[container(ephemeral_storage="15Gi")])
    return [script.pool(), *pods], counts(HOSTNAME, 1, 1)


@case
def init_containers(script: Script) -> tuple[list[Tree], Check]:
    """What comes first needs most."""
    pods = script.pods(1, initContainers=[container("first", cpu="7")])
    return [script.pool(), *pods], at_least("cpu", "7")


@case
def sidecars(script: Script) -> tuple[list[Tree], Check]:
    """What begins first and stays is added."""
    beside = container("beside", cpu="3500m") | {"restartPolicy": "Always"}
    pods = script.pods(1, initContainers=[beside], containers=[container(cpu="3500m")])
    return [script.pool(), *pods], at_least("cpu", "7")


@case
def pod_level_resources(script: Script) -> tuple[list[Tree], Check]:
    """What is asked for the pod as a whole counts, not what its containers ask."""
    whole = {"requests": {"cpu": "6", "memory": "1Gi"}, "limits": {"cpu": "6", "memory": "1Gi"}}
    return [script.pool(), *script.pods(1, resources=whole)], at_least("cpu", "6")


@case
def overhead(script: Script) -> tuple[list[Tree], Check]:
    """What the runtime itself needs is added."""
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": script.name, "labels": script.labels},
        "handler": "heavy",
        "overhead": {"podFixed": {"cpu": "3", "memory": "64Mi"}},
    }
    pods = script.pods(1, runtimeClassName=script.name, containers=[container(cpu="2")])
    return [runtime, script.pool(), *pods], at_least("cpu", "5")


@case
def priority(script: Script) -> tuple[list[Tree], Check]:
    """Where only one node may be had, it is the important pod's."""
    important = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": script.name, "labels": script.labels},
        "value": 1000,
        "preemptionPolicy": "Never",
    }
    other = {"app": f"{script.name}-other"}
    half = [container(cpu="800m")]
    made = [
        important,
        script.pool(limits={"cpu": "1"}),
        *script.pods(2, name="aaa", containers=half, labels=other),
        *script.pods(1, priorityClassName=script.name, containers=half),
    ]
    return made, counts(HOSTNAME, 1)


@case
def min_values(script: Script) -> tuple[list[Tree], Check]:
    """As many kinds of machine to choose from as the pool asks for."""
    many = requirement(FAMILY, "Exists", minValues=3)
    return [script.pool(requirements=[many]), *script.pods(1)], counts(HOSTNAME, 1)


@case
def default_spread(script: Script) -> tuple[list[Tree], Check]:
    """Pods that say nothing are spread as the scheduler is configured to: by their Service."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": script.name},
        "spec": {"selector": {"app": script.name}, "ports": [{"port": 80}]},
    }
    return [service, script.pool(), *script.pods(8)], counts(ZONE, 2, 2, 2, 2)
