"""What does a tiny batch look like? A few deployments, all constraints, always solvable."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from benchmarks.catalogues import CATEGORY, GIB, MIB, ZONES
from benchmarks.workloads import NAMESPACE
from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.requirements import Requirements
from dovetail.model.resources import fits
from dovetail.model.topology import PodTerm, Spread, equality

_FEWEST, _MOST = 6, 25
_MOST_REPLICAS: Final = 6
_MOST_DEPLOYMENTS: Final = 8
_CPU_MILLIS: Final = (100, 250, 500, 1000, 2000, 3000)
_TIERS: Final = ("front", "back")

_BETWEEN_PODS: Final = (
    "",
    "",
    "zone spread",
    "zone spread",
    "host spread",
    "host anti-affinity",
    "tier anti-affinity",
    "zone affinity",
    "zone affinity to the first",
)
_SELECTORS: Final[tuple[Mapping[str, str], ...]] = (
    {},
    {},
    {},
    {},
    {labels.ARCH: "amd64"},
    {labels.ARCH: "arm64"},
    {labels.CAPACITY_TYPE: labels.ON_DEMAND},
    {labels.ZONE: ZONES[0]},
    {labels.ZONE: ZONES[2]},
    {CATEGORY: "m"},
    {CATEGORY: "r"},
)


def tiny_pods(types: Sequence[InstanceType], chance: random.Random) -> tuple[Pod, ...]:
    """6 to 25 pods in at most eight deployments; each fits some type on its own."""
    left = chance.randint(_FEWEST, _MOST)
    pods: list[Pod] = []
    for ordinal in range(_MOST_DEPLOYMENTS):
        if not left:
            break
        is_last = ordinal == _MOST_DEPLOYMENTS - 1
        replicas = left if is_last else min(left, chance.randint(1, _MOST_REPLICAS))
        app = f"tiny-{ordinal}"
        spec = _spec(app, chance.choice(_TIERS), types, chance)
        pods.extend(_pods(app, spec, replicas))
        left -= replicas
    return tuple(pods)


def _pods(app: str, drawn: tuple[dict[str, str], PodSpec], replicas: int) -> list[Pod]:
    labels_by_key, spec = drawn
    return [
        Pod(f"{app}-{ordinal}", NAMESPACE, spec, uid=f"{app}-{ordinal}", labels=labels_by_key)
        for ordinal in range(replicas)
    ]


def _spec(
    app: str, tier: str, types: Sequence[InstanceType], chance: random.Random
) -> tuple[dict[str, str], PodSpec]:
    labels_by_key = {"app": app, "tier": tier}
    cpu_millis = chance.choice(_CPU_MILLIS)
    memory = round(cpu_millis * 2 ** chance.uniform(0, 2) / 250) * 256 * MIB
    spec = PodSpec(
        requests={"cpu": cpu_millis, "memory": min(max(128 * MIB, memory), 12 * GIB), "pods": 1}
    )
    spec = _between_pods(spec, labels_by_key, chance)
    selector = chance.choice(_SELECTORS)
    selecting = msgspec.structs.replace(spec, node_selector=selector)
    # Pinned to one zone and bound to pods that may be pinned to another: that has no solution.
    is_torn = bool(spec.affinity) and labels.ZONE in selector
    return labels_by_key, spec if is_torn or not _has_a_home(selecting, types) else selecting


def _between_pods(
    spec: PodSpec, labels_by_key: Mapping[str, str], chance: random.Random
) -> PodSpec:
    own = equality({"app": labels_by_key["app"]})
    match chance.choice(_BETWEEN_PODS):
        case "zone spread":
            skew = chance.choice((1, 1, 2))
            spread = Spread(labels.ZONE, own, max_skew=skew)
            return msgspec.structs.replace(spec, spread=(spread,))
        case "host spread":
            spread = Spread(labels.HOSTNAME, own, max_skew=chance.choice((1, 2)))
            return msgspec.structs.replace(spec, spread=(spread,))
        case "host anti-affinity":
            return msgspec.structs.replace(spec, anti_affinity=(PodTerm(labels.HOSTNAME, own),))
        case "tier anti-affinity":
            tier = equality({"tier": labels_by_key["tier"]})
            return msgspec.structs.replace(spec, anti_affinity=(PodTerm(labels.HOSTNAME, tier),))
        case "zone affinity":
            return msgspec.structs.replace(spec, affinity=(PodTerm(labels.ZONE, own),))
        case "zone affinity to the first":
            first = equality({"app": "tiny-0"})
            return msgspec.structs.replace(spec, affinity=(PodTerm(labels.ZONE, first),))
        case _:
            return spec


def _has_a_home(spec: PodSpec, types: Sequence[InstanceType]) -> bool:
    wanted = Requirements.of_labels(spec.node_selector)
    return any(
        fits(spec.requests, one.allocatable) and one.requirements.compatible(wanted)
        for one in types
    )
