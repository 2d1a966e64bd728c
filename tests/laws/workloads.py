"""Random things to run: deployments whose pods ask for a mix of everything kube-scheduler knows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from random import Random
from typing import Final

from dovetail import labels
from dovetail.model.pod import DaemonSet, Owner, Pod, PodSpec
from dovetail.model.requirements import Requirement, requirement
from dovetail.model.taints import Toleration
from dovetail.model.topology import (
    HostPort,
    LabelSelector,
    NodePolicy,
    NodeTerm,
    PodTerm,
    Spread,
    equality,
)
from dovetail.model.verdict import Problem, Reason
from tests.laws.market import (
    CPU_LABEL,
    GPU,
    MEBI,
    RACK,
    RACKS,
    TEAM,
    TEAMS,
    ZONES,
    Scale,
    one_in,
)

NAMESPACES: Final = {"default": {"env": "prod"}, "other": {"env": "dev"}}
DOMAINS: Final = (labels.ZONE, labels.HOSTNAME)


@dataclass(frozen=True)
class App:
    """A deployment: one spec, one set of labels, some replicas, some of them already bound."""

    name: str
    namespace: str
    labels: dict[str, str]
    spec: PodSpec
    replicas: int
    volume: str = ""  # "", "own", "shared" or "missing"


def apps(chance: Random, scale: Scale) -> tuple[App, ...]:
    """A few deployments."""
    names = [f"app-{letter}" for letter in "abcdefgh"[: chance.randint(1, scale.most_apps)]]
    left = scale.most_pods
    found = []
    for name in names:
        replicas = min(left, chance.choice((1, 1, 2, 2, 3, 4, 6)))
        if replicas == 0:
            break
        left -= replicas
        found.append(_app(chance, name, names, replicas, scale))
    return tuple(found)


def _app(chance: Random, name: str, names: list[str], replicas: int, scale: Scale) -> App:
    maybe = _Maybe(chance, scale.spice)
    carried = {"app": name, "tier": chance.choice(("front", "back"))}
    if one_in(chance, 3):
        carried["rev"] = chance.choice(("1", "2"))
    return App(
        name=name,
        namespace=chance.choice(("default", "default", "default", "other")),
        labels=carried,
        spec=_spec(maybe, name, names),
        replicas=replicas,
        volume=chance.choice(("own", "own", "shared", "missing")) if maybe(0.6) else "",
    )


@dataclass(frozen=True)
class _Maybe:
    """A coin whose side depends on how spicy the cluster is."""

    chance: Random
    spice: float

    def __call__(self, share: float = 1.0) -> bool:
        return self.chance.random() < self.spice * share


def _spec(maybe: _Maybe, name: str, names: list[str]) -> PodSpec:
    chance = maybe.chance
    return PodSpec(
        requests=_requests(chance),
        node_selector=_selector(chance) if maybe() else {},
        required_terms=_terms(chance) if maybe() else (),
        preferred_terms=((chance.randint(1, 100), _term(chance)),) if maybe(0.5) else (),
        tolerations=_tolerations(chance) if maybe(1.5) else (),
        spread=_spreads(chance, name) if maybe(1.5) else (),
        affinity=_pod_terms(chance, name, names) if maybe(0.7) else (),
        anti_affinity=_pod_terms(chance, name, names) if maybe() else (),
        preferred_affinity=_weighted(chance, name, names) if maybe(0.3) else (),
        preferred_anti_affinity=_weighted(chance, name, names) if maybe(0.3) else (),
        host_ports=_ports(chance) if maybe(0.5) else (),
        priority=chance.choice((0, 0, 0, 100)),
        scheduler_name="other-scheduler" if maybe(0.05) else "default-scheduler",
        is_gated=maybe(0.05),
        uses_dynamic_resources=maybe(0.05),
    )


def _requests(chance: Random) -> dict[str, int]:
    asked = {"pods": 1}
    cpu = chance.choice((0, 50, 100, 250, 500, 500, 800, 1000, 1500, 1900, 3000, 7000))
    memory = chance.choice((0, 64, 128, 512, 512, 1024, 1800, 3000, 6000, 15000)) * MEBI
    if cpu:
        asked["cpu"] = cpu
    if memory:
        asked["memory"] = memory
    if one_in(chance, 20):
        asked[GPU] = chance.choice((1, 1, 2))
    if one_in(chance, 80):
        asked["example.com/unheard-of"] = 1
    return asked


def _selector(chance: Random) -> dict[str, str]:
    return dict(
        [
            chance.choice(
                (
                    (labels.ZONE, chance.choice(ZONES)),
                    (labels.ARCH, chance.choice(("amd64", "arm64"))),
                    (labels.CAPACITY_TYPE, chance.choice(labels.CAPACITY_TYPES)),
                    (TEAM, chance.choice(TEAMS)),
                    (RACK, chance.choice(RACKS)),
                    (labels.NODE_POOL, chance.choice(("pool-1", "pool-2"))),
                    (labels.HOSTNAME, "node-1"),
                    (labels.OS, chance.choice(("linux", "windows"))),
                    ("karpenter.kwok.sh/kwoknodeclass", "default"),
                )
            )
        ]
    )


def _expression(chance: Random) -> Requirement:
    key, values = chance.choice(
        (
            (labels.ZONE, ZONES),
            (labels.CAPACITY_TYPE, labels.CAPACITY_TYPES),
            (TEAM, (*TEAMS, "green")),
            (RACK, RACKS),
            (CPU_LABEL, ("1", "2", "4", "8")),
        )
    )
    match chance.randrange(5):
        case 0:
            return requirement(key, "NotIn", chance.sample(values, 1))
        case 1:
            return requirement(key, chance.choice(("Exists", "DoesNotExist")))
        case 2:
            operator = chance.choice(("Gt", "Lt", "Gte", "Lte"))
            return requirement(CPU_LABEL, operator, [chance.choice(("1", "2", "4", "8"))])
        case _:
            return requirement(key, "In", chance.sample(values, chance.randint(1, 2)))


def _term(chance: Random) -> NodeTerm:
    if one_in(chance, 15):
        return NodeTerm(fields=(requirement(labels.NODE_NAME_FIELD, "In", ["node-1"]),))
    return NodeTerm(tuple(_expression(chance) for _ in range(chance.choice((1, 1, 2)))))


def _terms(chance: Random) -> tuple[NodeTerm, ...]:
    return tuple(_term(chance) for _ in range(chance.choice((1, 2, 2, 3))))


def _tolerations(chance: Random) -> tuple[Toleration, ...]:
    options = (
        Toleration(operator="Exists"),
        Toleration(key="dedicated", operator="Exists"),
        Toleration(key="dedicated", value="batch", effect="NoSchedule"),
        Toleration(key="dedicated", value="other"),
        Toleration(key="level", operator="Gt", value="4"),
        Toleration(key="level", operator="Lt", value="4"),
        Toleration(key="level", operator="Exists", effect="NoSchedule"),
        Toleration(key="node.kubernetes.io/unschedulable", operator="Exists"),
    )
    return tuple(chance.sample(options, chance.randint(1, 2)))


def _spreads(chance: Random, name: str) -> tuple[Spread, ...]:
    keys = (labels.ZONE, labels.ZONE, labels.HOSTNAME, labels.CAPACITY_TYPE, RACK)
    chosen = sorted(set(chance.sample(keys, chance.choice((1, 1, 2)))))
    return tuple(
        Spread(
            topology_key=key,
            selector=_pods_meant(chance, name, [name]),
            max_skew=chance.choice((1, 1, 2)),
            min_domains=chance.choice((2, 3)) if one_in(chance, 5) else 1,
            is_hard=not one_in(chance, 5),
            node_affinity_policy=chance.choice((NodePolicy.HONOR, NodePolicy.HONOR, "Ignore")),
            node_taints_policy=chance.choice((NodePolicy.IGNORE, NodePolicy.IGNORE, "Honor")),
            match_label_keys=("rev",) if one_in(chance, 5) else (),
        )
        for key in chosen
    )


def _pods_meant(chance: Random, name: str, names: list[str]) -> LabelSelector:
    match chance.randrange(8):
        case 0:
            return LabelSelector((requirement("tier", "In", ["front"]),))
        case 1:
            return LabelSelector((requirement("app", "NotIn", [name]),))
        case 2:
            return LabelSelector((requirement("rev", "Exists"),))
        case 3:
            return equality({"app": chance.choice(names)})
        case _:
            return equality({"app": name})


def _pod_term(chance: Random, name: str, names: list[str]) -> PodTerm:
    key = chance.choice((*DOMAINS, *DOMAINS, labels.CAPACITY_TYPE, RACK))
    namespaces: tuple[str, ...] = ()
    namespace_selector = None
    match chance.randrange(8):
        case 0:
            namespaces = ("other",)
        case 1:
            namespace_selector = LabelSelector((requirement("env", "In", ["prod"]),))
        case 2:
            namespace_selector = LabelSelector()
    return PodTerm(
        topology_key=key,
        selector=_pods_meant(chance, name, names),
        namespaces=namespaces,
        namespace_selector=namespace_selector,
        match_label_keys=("rev",) if one_in(chance, 8) else (),
        mismatch_label_keys=("tier",) if one_in(chance, 10) else (),
    )


def _pod_terms(chance: Random, name: str, names: list[str]) -> tuple[PodTerm, ...]:
    return tuple(_pod_term(chance, name, names) for _ in range(chance.choice((1, 1, 1, 2))))


def _weighted(chance: Random, name: str, names: list[str]) -> tuple[tuple[int, PodTerm], ...]:
    return ((chance.randint(1, 100), _pod_term(chance, name, names)),)


def _ports(chance: Random) -> tuple[HostPort, ...]:
    address = chance.choice(("0.0.0.0", "0.0.0.0", "10.0.0.1", "10.0.0.2"))  # noqa: S104  as in manifests
    protocol = chance.choice(("TCP", "TCP", "UDP"))
    return (HostPort(chance.choice((8080, 9100)), protocol, address),)


def replica(app: App, number: int, *, node_name: str = "", promised: str = "") -> Pod:
    """One pod of the deployment."""
    claims: tuple[str, ...] = ()
    if app.volume:
        claims = (f"{app.name}-shared" if app.volume == "shared" else f"{app.name}-{number}",)
    return Pod(
        name=f"{app.name}-{number}",
        namespace=app.namespace,
        spec=app.spec,
        uid=f"uid-{app.namespace}-{app.name}-{number}",
        labels=app.labels,
        claim_names=claims,
        node_name=node_name,
        nominated_node_name=promised,
        phase="Running" if node_name else "Pending",
        owner=Owner("ReplicaSet", app.name, f"uid-{app.name}"),
    )


def spoiled(pod_name: str) -> Pod:
    """A pod that the border has found something wrong with."""
    return Pod(
        name=pod_name,
        namespace="default",
        spec=PodSpec({"pods": 1}),
        uid=f"uid-{pod_name}",
        problems=(Problem(Reason.INVALID_POD, "Its selector is invalid."),),
    )


def _daemon_selector(chance: Random) -> dict[str, str]:
    match chance.randrange(10):
        case 0 | 1:
            return {labels.ARCH: "amd64"}
        case 2:
            return {labels.INITIALIZED: "true"}
        case _:
            return {}


def _avoided(chance: Random) -> tuple[PodTerm, ...]:
    """Whom a daemon set keeps away, mostly nobody."""
    if not one_in(chance, 8):
        return ()
    selector = equality({"tier": chance.choice(("front", "back"))})
    key = chance.choice((labels.HOSTNAME, labels.HOSTNAME, labels.ZONE))
    return (PodTerm(key, selector, namespace_selector=LabelSelector()),)


def daemon_sets(chance: Random) -> tuple[DaemonSet, ...]:
    """Up to two daemon sets, some of them only for some nodes."""
    found = []
    for number in range(chance.choice((0, 0, 1, 2))):
        tolerates_all = not one_in(chance, 3)
        aside = copy(chance)  # so that whoever is drawn next stays as they were
        found.append(
            DaemonSet(
                name=f"daemon-{number}",
                namespace="kube-system",
                spec=PodSpec(
                    requests={"pods": 1, "cpu": chance.choice((50, 200)), "memory": 64 * MEBI},
                    node_selector=_daemon_selector(chance),
                    required_terms=_terms(chance) if one_in(chance, 6) else (),
                    tolerations=(Toleration(operator="Exists"),) if tolerates_all else (),
                    host_ports=(HostPort(9100),) if one_in(chance, 4) else (),
                    anti_affinity=_avoided(aside),
                ),
                labels={"app": f"daemon-{number}"},
                uid=f"uid-daemon-{number}",
            )
        )
    return tuple(found)
