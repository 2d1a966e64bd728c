"""Small clusters in the words of scenarios, and changes to them that cannot make a plan dearer.

Every type is sold in every zone, pools weigh the same and nodes are all new: otherwise another type
may open a zone that a spread must serve, and another pod may be bound to an existing node instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from enum import StrEnum
from random import Random
from typing import Final

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from tests.fuzz.tiny import built
from tests.fuzz.tiny_market import ZONES, Words, one_in
from tests.laws.strategies import NOW

MOST_APPS: Final = 20
MOST_PODS: Final = 60
FEW_PODS: Final = 12  # everything is tried for so many (`solve/exact`)
SHAPES: Final = tuple((cpu, ratio) for cpu in (1, 2, 4, 8, 16, 32) for ratio in (2, 4, 8))
CPU: Final = (100, 250, 300, 500, 700, 1000, 1500, 2000, 3000)  # millis
MEMORY: Final = (128, 256, 500, 1024, 1500, 2048, 4096, 7168)  # mebibytes
Change = Callable[[Words, Random], Words | None]


def cluster_of(seed: int, *, most_pods: int = MOST_PODS) -> Words:
    """The cluster of this number: one to twenty Deployments, half of them without constraints."""
    chance = Random(seed)
    zones = ZONES[: chance.randint(1, len(ZONES))]
    pools: Words = {"default": {}}
    if one_in(chance, 4):
        pools["second"] = {"requirements": ["capacity-type In on-demand"]}
    if one_in(chance, 6):
        pools["default"]["limits"] = {"cpu": chance.choice((16, 48, 96))}
    words: Words = {
        "types": _types(chance, zones),
        "pools": pools,
        "pods": _apps(chance, zones, most_pods),
    }
    if one_in(chance, 4):
        words["daemon_sets"] = [{"name": "agent", "cpu": "50m", "memory": "100Mi"}]
    return words


def _types(chance: Random, zones: tuple[str, ...]) -> Words:
    has_spot, types = one_in(chance, 2), dict[str, Words]()
    for cpu, ratio in sorted(chance.sample(SHAPES, chance.randint(3, 10))):
        kind = _type(chance, cpu, ratio, zones)
        if has_spot and not one_in(chance, 3):
            kind["spot"] = round(kind["price"] * chance.randint(30, 80) / 100, 4)
        types[_type_name(cpu, ratio)] = kind
    return types


def _type(chance: Random, cpu: int, ratio: int, zones: Sequence[str]) -> Words:
    """A type at a price that about fits its size."""
    price = (cpu * 0.04 + cpu * ratio * 0.005) * chance.randint(85, 115) / 100
    return {
        "cpu": cpu,
        "memory": f"{cpu * ratio}Gi",
        "price": round(price, 4),
        "zones": list(zones),
    }


def _type_name(cpu: int, ratio: int) -> str:
    return f"{'cmr'[(2, 4, 8).index(ratio)]}{cpu}"


def _apps(chance: Random, zones: tuple[str, ...], most_pods: int) -> list[Words]:
    left, apps = chance.randint(2, most_pods), list[Words]()
    for number in range(chance.choice((1, 2, 3, 5, 8, 12, MOST_APPS))):
        replicas = min(left, chance.choice((1, 2, 3, 5, 8, 20)))
        if not replicas:
            break
        left -= replicas
        name = f"app-{number:02}"
        app: Words = {
            "name": name,
            "labels": {"app": name},
            "replicas": replicas,
            "cpu": f"{chance.choice(CPU)}m",
            "memory": f"{chance.choice(MEMORY)}Mi",
        }
        others = [one["name"] for one in apps]
        apps.append(app | _constraint(chance, name, others, zones))
    return apps


def _constraint(chance: Random, name: str, others: list[str], zones: tuple[str, ...]) -> Words:
    """None, or one of the constraints that people write."""
    other = chance.choice(others) if others else name
    skew = chance.choice((1, 1, 2))
    options: tuple[Words, ...] = (
        {"spread": [{"topology_key": "zone", "max_skew": skew}]},
        {"spread": [{"topology_key": "hostname", "max_skew": skew}]},
        {"anti_affinity": [_term("hostname", name)]},
        {"anti_affinity": [_term(chance.choice(("hostname", "zone")), other)]},
        {"affinity": [_term(chance.choice(("hostname", "zone")), other)]},
        {"node_selector": {"zone": chance.choice(zones)}},
        {"node_selector": {"capacity-type": "on-demand"}},
        {"host_ports": [8080]},
    )
    return {} if one_in(chance, 2) else dict(chance.choice(options))


def _term(key: str, app: str) -> Words:
    return {"topology_key": key, "selector": {"app": app}}


# ------------------------------------------------------------------ changes


def with_more_types(words: Words, chance: Random) -> Words | None:
    """The catalogue with one more type of a random size and price."""
    missing = [
        (cpu, ratio) for cpu, ratio in SHAPES if _type_name(cpu, ratio) not in words["types"]
    ]
    cpu, ratio = chance.choice(missing)
    zones = words["types"][min(words["types"])]["zones"]
    changed = deepcopy(words)
    changed["types"][_type_name(cpu, ratio)] = _type(chance, cpu, ratio, zones)
    return changed


def with_smaller_pods(words: Words, chance: Random) -> Words | None:
    """One Deployment asks for less CPU, less memory, or both."""
    changed = deepcopy(words)
    app = chance.choice(changed["pods"])
    keys = chance.choice((("cpu",), ("memory",), ("cpu", "memory")))
    for key, unit in (("cpu", "m"), ("memory", "Mi")):
        if key in keys:
            app[key] = f"{int(app[key].removesuffix(unit)) * chance.randint(30, 95) // 100}{unit}"
    return changed


def with_one_pod_less(words: Words, chance: Random) -> Words | None:
    """One replica less of a Deployment that no other wants near; None if there is none such.

    Without one of two pods whose company others want, all of those must share one node.
    """
    changed = deepcopy(words)
    wanted = {
        term["selector"]["app"]
        for app in words["pods"]
        for term in app.get("affinity", ())
        if term["selector"]["app"] != app["name"]
    }
    free = [app for app in changed["pods"] if app["name"] not in wanted]
    if not free or sum(app["replicas"] for app in words["pods"]) == 1:
        return None
    app = chance.choice(free)
    app["replicas"] -= 1
    if not app["replicas"]:
        changed["pods"].remove(app)
    return changed


def with_a_looser_constraint(words: Words, chance: Random) -> Words | None:
    """One constraint is dropped, or a spread may be less even; None if there is no constraint."""
    keys = ("anti_affinity", "affinity", "spread", "node_selector", "host_ports")
    changed = deepcopy(words)
    bound = [(app, key) for app in changed["pods"] for key in keys if key in app]
    if not bound:
        return None
    app, key = chance.choice(bound)
    if key == "spread" and one_in(chance, 2):
        app[key][0]["max_skew"] += 1
    else:
        del app[key]
    return changed


CHANGES: Final[dict[str, Change]] = {
    "more types": with_more_types,
    "smaller pods": with_smaller_pods,
    "one pod less": with_one_pod_less,
    "a looser constraint": with_a_looser_constraint,
}


# ------------------------------------------------------------------ kinds of clusters


class Kind(StrEnum):
    """How hard a cluster is: by its size, and by what is decided before nodes are chosen."""

    FEW = "at most twelve pods"  # everything is tried
    ALIKE = "pods all alike"  # a dynamic programme
    PLAIN = "several sorts of pods"  # patterns
    TIED = "limits, or pods that are given a zone or a node first"


def kind_of(words: Words) -> Kind:
    """The kind of a cluster."""
    if sum(app["replicas"] for app in words["pods"]) <= FEW_PODS:
        return Kind.FEW
    has_limits = any("limits" in pool for pool in words["pools"].values())
    if has_limits or any(_is_tied(app) for app in words["pods"]):
        return Kind.TIED
    return Kind.ALIKE if len(words["pods"]) == 1 else Kind.PLAIN


def _is_tied(app: Words) -> bool:
    """Whether pods are given a zone, a node with company, or a share of every node first."""
    is_apart_in_zones = any(term["topology_key"] == "zone" for term in app.get("anti_affinity", ()))
    return "spread" in app or "affinity" in app or is_apart_in_zones


# ------------------------------------------------------------------ plans


def planned(words: Words, effort: int) -> Plan:
    """The plan for these words, with so much effort."""
    return decide(cluster_with(words, effort), NOW)


def cluster_with(words: Words, effort: int) -> Snapshot:
    """The cluster of these words, to be planned with so much effort."""
    return built({**words, "policy": {"effort": effort}})


def rise(before: Plan, after: Plan) -> float:
    """By which part the second plan is dearer; 0 if it is not, or if either leaves pods out."""
    if before.unschedulable or after.unschedulable or not before.cost.new_nanousd:
        return 0.0
    return max(0.0, after.cost.new_nanousd / before.cost.new_nanousd - 1.0)
