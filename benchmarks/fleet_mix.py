"""Which constraints does a realistic fleet carry? Drawn for each deployment, in shares."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from benchmarks.catalogues import CATEGORY, CPUS, MIB
from benchmarks.quotas import Quotas
from benchmarks.workloads import Deployment, Requests, everyday_requests, size
from dovetail import labels
from dovetail.model.pod import DaemonSet, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Operator, Requirement, requirement
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import LabelSelector, NodeTerm, PodTerm, Spread, equality

BATCH_TAINT: Final = Taint("dedicated", "batch")
_BATCH_TOLERATION: Final = Toleration("dedicated", value="batch")

# In percent of the pods. The rest are placed where it is cheapest.
_BETWEEN_PODS: Final = {
    "zone spread": 25,
    "host anti-affinity": 10,
    "zone affinity": 4,
    "host spread": 3,
}
_ON_NODES: Final = {"arch": 5, "on demand": 5, "category": 5}
_PREFERENCES: Final = {"category": 2, "host anti-affinity": 2, "zone spread": 2}
_TAINTS: Final = {"tolerating": 5}

# One pod a node: nobody runs thousands of those, so such a deployment is kept to this share.
_ONE_PER_NODE_SHARE: Final = 200
_ONE_PER_NODE: Final = frozenset({"host anti-affinity", "host spread"})


def pools(*machines: Requirement) -> tuple[NodePool, ...]:
    """Two pools of equal weight, of such machines; the second is tainted."""
    kinds = requirement(labels.CAPACITY_TYPE, Operator.IN, (labels.SPOT, labels.ON_DEMAND))
    wanted = (kinds, *machines)
    return (
        NodePool("default", requirements=wanted),
        NodePool("batch", requirements=wanted, taints=(BATCH_TAINT,)),
    )


def steady_machines() -> Requirement:
    """General, compute and memory types, as production pools ask for: no burstable ones."""
    return requirement(CATEGORY, Operator.IN, ("c", "m", "r"))


def no_giants() -> Requirement:
    """Machines with at most 64 cpus."""
    return requirement(CPUS, Operator.LT, ("65",))


def daemon_sets() -> tuple[DaemonSet, ...]:
    """A network agent that runs everywhere, and a log agent that the taint keeps away."""
    everywhere = PodSpec(
        requests={"cpu": 50, "memory": 128 * MIB, "pods": 1},
        tolerations=(Toleration(operator="Exists"),),
    )
    untainted = PodSpec(requests={"cpu": 100, "memory": 256 * MIB, "pods": 1})
    return (
        DaemonSet("network-agent", "kube-system", everywhere, {"app": "network-agent"}),
        DaemonSet("log-agent", "kube-system", untainted, {"app": "log-agent"}),
    )


def deployments(
    n_pods: int,
    chance: random.Random,
    *,
    largest: int | None = None,
    requests: Requests = everyday_requests,
) -> Iterator[Deployment]:
    """Deployments of `n_pods` pods in all, each with the constraints it happens to draw; none with
    more pods than the largest, if that is given.
    """
    mix = _Mix(n_pods)
    left = n_pods
    ordinal = 0
    while left:
        drawn = mix.draw(min(size(n_pods, chance), left, largest or left), chance)
        name = f"fleet-{ordinal}"
        yield Deployment(name, drawn.size, _spec(name, drawn, requests(chance), chance))
        left -= drawn.size
        ordinal += 1


class _Drawn(NamedTuple):
    size: int
    between_pods: str
    on_nodes: str
    preference: str
    is_tolerating: bool


class _Mix:
    """Keeps the shares of all four kinds of constraint while deployments are drawn."""

    def __init__(self, n_pods: int) -> None:
        self._between_pods = Quotas(_BETWEEN_PODS)
        self._on_nodes = Quotas(_ON_NODES)
        self._preferences = Quotas(_PREFERENCES)
        self._taints = Quotas(_TAINTS)
        self._most_one_per_node = max(1, n_pods // _ONE_PER_NODE_SHARE)

    def draw(self, size_at_most: int, chance: random.Random) -> _Drawn:
        """The constraints of the next deployment, and its size, which they may cut."""
        kind = self._between_pods.draw(size_at_most, chance)
        n_replicas = size_at_most
        if kind in _ONE_PER_NODE:
            n_replicas = min(n_replicas, self._most_one_per_node)
        self._between_pods.count(kind, n_replicas)
        return _Drawn(
            size=n_replicas,
            between_pods=kind,
            on_nodes=_drawn_and_counted(self._on_nodes, n_replicas, chance),
            preference=_drawn_and_counted(self._preferences, n_replicas, chance),
            is_tolerating=bool(_drawn_and_counted(self._taints, n_replicas, chance)),
        )


def _drawn_and_counted(quotas: Quotas, n_replicas: int, chance: random.Random) -> str:
    kind = quotas.draw(n_replicas, chance)
    quotas.count(kind, n_replicas)
    return kind


def _spec(name: str, drawn: _Drawn, requests: Mapping[str, int], chance: random.Random) -> PodSpec:
    own = equality({"app": name})
    spec = PodSpec(
        requests=requests,
        tolerations=(_BATCH_TOLERATION,) if drawn.is_tolerating else (),
    )
    spec = _between_pods(spec, own, drawn.between_pods)
    spec = _on_nodes(spec, drawn.on_nodes, chance)
    return _preferring(spec, own, drawn.preference)


def _between_pods(spec: PodSpec, own: LabelSelector, kind: str) -> PodSpec:
    match kind:
        case "zone spread":
            return msgspec.structs.replace(spec, spread=(Spread(labels.ZONE, own),))
        case "host anti-affinity":
            return msgspec.structs.replace(spec, anti_affinity=(PodTerm(labels.HOSTNAME, own),))
        case "zone affinity":
            return msgspec.structs.replace(spec, affinity=(PodTerm(labels.ZONE, own),))
        case "host spread":
            spread = Spread(labels.HOSTNAME, own, max_skew=2)
            return msgspec.structs.replace(spec, spread=(spread,))
        case _:
            return spec


def _on_nodes(spec: PodSpec, kind: str, chance: random.Random) -> PodSpec:
    match kind:
        case "arch":
            arch = chance.choice(("amd64", "amd64", "arm64"))
            return msgspec.structs.replace(spec, node_selector={labels.ARCH: arch})
        case "on demand":
            selector = {labels.CAPACITY_TYPE: labels.ON_DEMAND}
            return msgspec.structs.replace(spec, node_selector=selector)
        case "category":
            categories = chance.choice((("c",), ("m",), ("r",), ("c", "m"), ("m", "r")))
            return msgspec.structs.replace(spec, required_terms=(_category_term(categories),))
        case _:
            return spec


def wishing(name: str, requests: Mapping[str, int], chance: random.Random) -> PodSpec:
    """A pod that would rather have this or that, and takes whatever there is."""
    own = equality({"app": name})
    spec = PodSpec(requests=requests)
    for kind in chance.sample(tuple(_PREFERENCES), k=chance.choice((1, 1, 2, 3))):
        spec = _preferring(spec, own, kind)
    return spec


def _preferring(spec: PodSpec, own: LabelSelector, kind: str) -> PodSpec:
    match kind:
        case "category":
            wish = (10, _category_term(("c",)))
            return msgspec.structs.replace(spec, preferred_terms=(wish,))
        case "host anti-affinity":
            term = PodTerm(labels.HOSTNAME, own)
            return msgspec.structs.replace(spec, preferred_anti_affinity=((50, term),))
        case "zone spread":
            soft = Spread(labels.ZONE, own, is_hard=False)
            # Who spreads already has no second wish; on the same key it would even be invalid.
            return msgspec.structs.replace(spec, spread=spec.spread or (soft,))
        case _:
            return spec


def _category_term(categories: tuple[str, ...]) -> NodeTerm:
    return NodeTerm((Requirement(CATEGORY, values=frozenset(categories)),))
